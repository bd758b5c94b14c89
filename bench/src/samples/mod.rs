//! Samples for four clients at once, at several rates, and beside them a loop that only spins.

mod client;
mod goals;
mod missed;
mod rate;
mod spun;

use std::path::Path;

use missed::Missed;

use crate::page::{Page, Table};
use crate::show::percent_up;
use crate::side::Job;
use crate::unthrottled::Unthrottled;

pub use goals::goals;

/// The rates, in kHz.
const RATES_KHZ: [u64; 5] = [1, 10, 50, 100, 250];
/// A loop that only spins is measured before and after these.
const BESIDE_KHZ: [u64; 2] = [100, 250];

/// Everything that the goals are held against.
pub struct Samples {
    rates: Vec<rate::Figures>,
    /// With the rate, in kHz; two for each.
    spun: Vec<(u64, Missed)>,
}

/// Measures every rate for so long.
pub fn measure(job: &Job, seconds: u64, page: &mut Page) -> Result<Samples, String> {
    page.heading("Samples for four clients at once");
    let shown = crate::shown(job);
    let sampling = RATES_KHZ.map(|khz| rate::command(&shown, khz, seconds, Path::new("DIR")).join(" "));
    let spinning = BESIDE_KHZ.map(|khz| spun::command(&shown, khz, seconds / 2).join(" "));
    page.commands(&[&sampling[..], &spinning].concat());
    // As after `ontick tune apply`: else the timed thread rests by the clock, and the kernel stops one that spins.
    let _unthrottled = Unthrottled::begin(job.cpu)?;
    let mut samples = Samples { rates: Vec::new(), spun: Vec::new() };
    for khz in RATES_KHZ {
        let mut spin = || match BESIDE_KHZ.contains(&khz) {
            true => spun::measure(job, khz, u64::max(seconds / 2, 1)).map(|missed| samples.spun.push((khz, missed))),
            false => Ok(()),
        };
        spin()?;
        samples.rates.push(rate::measure(job, khz, seconds)?);
        spin()?;
    }
    page.table(&rate::table(&samples.rates));
    println!();
    page.table(&beyond(&samples));
    println!();
    page.table(&rate::causes(&samples.rates));
    page.words("The clients are threads of the bench, on the other CPUs; the file is read afterwards. Each counts numbers and gaps, and holds every deadline (time stamp less latency) against its number. Lost is what ontick's own record has more than the client. Slots that were never sampled stand as missed; < 3us counts them as late. The hypervisor was away where the cause is steal or outside the kernel: as many slots as fit into that time. The loop that only spins has no clients and never rests; it ran for half as long before and after.");
    Ok(samples)
}

/// What was missed beside what a loop that only spins misses.
fn beyond(samples: &Samples) -> Table {
    let mut table = Table::new(&[
        "slots missed while the hypervisor was there",
        "sampling",
        "a loop that only spins, before",
        "after",
    ]);
    let text = |missed: &Missed| missed.beyond().map_or("—".into(), percent_up);
    for khz in BESIDE_KHZ {
        let of_rate = samples.rates.iter().filter(|seen| seen.khz == khz).map(|seen| text(&seen.missed));
        let spun = samples.spun.iter().filter(|(of, _)| *of == khz).map(|(_, missed)| text(missed));
        table.row(std::iter::once(format!("{khz} kHz")).chain(of_rate).chain(spun));
    }
    table
}
