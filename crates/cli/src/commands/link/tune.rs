//! `ontick link tune`

use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use ontick_link::trial::{Extent, Trial};
use ontick_link::{Code, Method, Setting};
use ontick_measure::restrict_affinity::Cpus;
use ontick_units::{exact, show};
use serde::Serialize;

use super::bench::{BenchFlags, Row};
use super::{ends, eye, render};
use crate::commands::gpio;
use crate::failure::{Failure, Outcome};
use crate::{flags, stop, terminal};

/// Find the fastest setting that holds a wanted share of lost frames; both ends in this process.
///
/// Exit status: 0 a setting holds, 1 none does, 2 measuring was not possible.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick link tune\n  sudo ontick link tune --lost 1 --frames 300 --parity 25\n  sudo ontick link tune --output GPIO22 --input GPIO27 --method poll --json\n\nFor each code, the search halves the range between a width that holds and one that does not: by interrupt, and for short widths also by polling. With a return line lost frames are repeated, so --lost 20 finds the fastest setting there. A setting that lost no frame of N may still lose 3 of N (95 % sure)."
)]
pub struct Tune {
    /// Largest acceptable share of lost frames
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = percent)]
    lost: f64,
    /// Frames of each trial
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    frames: u32,
    /// Reed-Solomon parity in percent of the data
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = flags::whole_percent)]
    parity: u8,
    #[command(flatten)]
    bench: BenchFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("\"{text}\" is no share from 0 to below 100 percent")),
    }
}

#[derive(Serialize)]
struct Document {
    wanted_frame_error_rate: f64,
    tried: Vec<Row>,
    fastest: Option<Row>,
    eye: Vec<eye::Bin>,
}

/// Heads of [`columns`], after a name.
const HEAD: &str = "                    code   short   step   net rate  frames     lost";

impl Tune {
    pub fn run(self) -> Result<Outcome, Failure> {
        let search = Search { wanted: self.lost, parity: self.parity };
        search.setting(ALPHABETS[0], NOTIFIED_NS[0])?;
        let bench = self.bench.bench()?;
        let stop = stop::on_signal()?;
        ends::settle(bench.lines().into_iter().flatten())?;
        let note = render::note(&bench.lines());
        let (mut tried, json) = (Vec::new(), self.json);
        if !json {
            terminal::print(&format!("{HEAD}\n"))?;
        }
        let mut report = |row: &Row| {
            if !json {
                let held = if row.frame_error_rate <= search.wanted { "holds" } else { "loses" };
                let _ = terminal::print(&line(held, row, note));
            }
            tried.push(row.clone());
        };
        let mut fastest: Option<(Row, Trial)> = None;
        for method in bench.ways() {
            let extent = Extent::frames(self.frames);
            let trial = |setting| bench.run(method, setting, extent, Cpus::All, &stop);
            let found = search.fastest(method, &stop, trial, &mut report)?;
            fastest = faster(fastest, found);
        }
        let outcome = if fastest.is_some() { Outcome::Met } else { Outcome::NotMet };
        if json {
            let eye = fastest.as_ref().map(|(_, trial)| eye::bins(trial)).unwrap_or_default();
            let (wanted_frame_error_rate, fastest) = (self.lost, fastest.map(|(row, _)| row));
            gpio::document(&Document { wanted_frame_error_rate, tried, fastest, eye })?;
            return Ok(outcome);
        }
        terminal::print(&match &fastest {
            Some((row, trial)) => {
                let (short, step) = [row.short_ns, row.step_ns].map(exact).into();
                let (code, parity, rate) = (&row.alphabet, row.parity_percent, rate(row.net_bits_per_s));
                let setting = search.setting(code, (row.short_ns, row.step_ns))?;
                format!(
                    "fastest: --method {} --code {code} --short {short} --step {step} --parity {parity}, {rate}{note}\n",
                    row.method
                ) + &eye::drawn(trial, setting, note)
            }
            None => "none of these settings holds\n".into(),
        })?;
        if stop.load(Ordering::Relaxed) {
            ends::say("ended early: faster ones may hold, too");
        }
        Ok(outcome)
    }
}

/// Shortest widths and steps that are tried by interrupt, slowest first, in ns: each is as hard as those after it.
const NOTIFIED_NS: [(u64, u64); 12] = [
    (100_000, 100_000),
    (100_000, 50_000),
    (70_000, 35_000),
    (50_000, 25_000),
    (35_000, 18_000),
    (25_000, 12_000),
    (18_000, 9_000),
    (12_000, 6_000),
    (9_000, 4_500),
    (6_000, 3_000),
    (4_000, 2_000),
    (3_000, 1_500),
];
/// By polling, each of these is tried: a machine's stops spoil as many symbols of slow codes as of quick ones, so that
/// quick ones are no harder until their steps come near the jitter of edges.
const POLLED_NS: [(u64, u64); 8] =
    [(6_000, 3_000), (3_000, 1_500), (2_000, 1_000), (1_000, 700), (1_000, 500), (700, 400), (500, 400), (400, 400)];
/// Trials of a whole search, at most.
pub fn most_trials(method: Method) -> u64 {
    let of_alphabet = match method {
        // Halving ends between each two of them, and beyond either end.
        Method::Interrupt => (NOTIFIED_NS.len() + 1).next_power_of_two().trailing_zeros() as usize,
        Method::Poll => POLLED_NS.len(),
    };
    (of_alphabet * ALPHABETS.len()) as u64
}

const ALPHABETS: [&str; 5] = ["2x1", "2x2", "4x4", "8x8", "16x16"];

/// Lost frames that are no reason not to choose a setting: who polls always loses some, which are repeated.
pub fn bearable(method: Method) -> f64 {
    if method == Method::Poll { 0.2 } else { 0.0 }
}

/// What is looked for.
pub struct Search {
    /// Share of the frames that may be lost.
    pub wanted: f64,
    pub parity: u8,
}

impl Search {
    fn setting(&self, alphabet: &str, (short_ns, step_ns): (u64, u64)) -> Result<Setting, Failure> {
        // Long frames of slow codes would make each trial one of minutes.
        Ok(Setting::new(Code::new(alphabet, short_ns, step_ns)?, self.parity)?.brisk())
    }

    /// The fastest that holds, of all that `trial` tried.
    pub fn fastest(
        &self,
        method: Method,
        stop: &AtomicBool,
        mut trial: impl FnMut(Setting) -> Result<(Row, Trial), Failure>,
        mut report: impl FnMut(&Row),
    ) -> Result<Option<(Row, Trial)>, Failure> {
        let mut best: Option<(Row, Trial)> = None;
        let mut holds = |alphabet: &str, widths_ns| -> Result<bool, Failure> {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let tried = trial(self.setting(alphabet, widths_ns)?)?;
            // What Ctrl-C cut short tells nothing.
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            report(&tried.0);
            let holds = tried.0.frame_error_rate <= self.wanted;
            if holds {
                best = faster(best.take(), Some(tried));
            }
            Ok(holds)
        };
        for alphabet in ALPHABETS {
            match method {
                Method::Interrupt => {
                    bisect(NOTIFIED_NS.len(), |n| holds(alphabet, NOTIFIED_NS[n]))?;
                }
                Method::Poll => {
                    for widths_ns in POLLED_NS {
                        holds(alphabet, widths_ns)?;
                    }
                }
            }
        }
        Ok(best)
    }
}

/// The one that moved more.
fn faster(a: Option<(Row, Trial)>, b: Option<(Row, Trial)>) -> Option<(Row, Trial)> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.0.net_bits_per_s > a.0.net_bits_per_s { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Halves 0 to `count` between where `holds` is true and where it is not any more.
fn bisect<E>(count: usize, mut holds: impl FnMut(usize) -> Result<bool, E>) -> Result<Option<usize>, E> {
    let (mut good, mut bad) = (0, count);
    while good < bad {
        let middle = (good + bad) / 2;
        match holds(middle)? {
            true => good = middle + 1,
            false => bad = middle,
        }
    }
    Ok(good.checked_sub(1))
}

/// A row of the table.
fn line(held: &str, row: &Row, note: &str) -> String {
    let name = format!("{held}, by {}", row.method);
    format!("{name:<20}{}{note}\n", columns(row))
}

/// Code, rate and losses as a table has them, which has room for a note within 80 columns.
fn columns(row: &Row) -> String {
    format!(
        "{:<5}{:>7}{:>7}{:>11}{:>8}{:>9}",
        row.alphabet,
        show(row.short_ns),
        show(row.step_ns),
        rate(row.net_bits_per_s),
        row.frames,
        format!("{:.1} %", row.frame_error_rate * 100.0)
    )
}

/// Bits per second.
pub fn rate(bits_per_s: f64) -> String {
    match bits_per_s {
        fast if fast >= 999_500.0 => format!("{:.2} Mb/s", fast / 1e6),
        fast if fast >= 100_000.0 => format!("{:.0} kb/s", fast / 1e3),
        slow => format!("{:.1} kb/s", slow / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_takes_no_more_trials_than_are_stated() {
        let search = Search { wanted: 0.0, parity: 10 };
        for border in 0..=NOTIFIED_NS.len() {
            for method in [Method::Interrupt, Method::Poll] {
                let mut tried = 0;
                let trial = |setting: Setting| {
                    tried += 1;
                    let holds =
                        NOTIFIED_NS.iter().take(border).any(|(short_ns, _)| *short_ns == setting.code.shortest_ns);
                    let mut row = row(setting);
                    row.frame_error_rate = if holds { 0.0 } else { 1.0 };
                    Ok((row, Trial::default()))
                };
                search.fastest(method, &AtomicBool::new(false), trial, |_| {}).unwrap();
                assert!(tried <= most_trials(method), "{tried} {method}");
            }
        }
    }

    fn row(setting: Setting) -> Row {
        Row::of(&Trial::default(), Method::Interrupt, setting, Cpus::All, "simulated")
    }

    #[test]
    fn a_row_with_its_note_fits_into_80_columns() {
        let setting = Setting::new(Code::new("16x16", 100_000, 100_000).unwrap(), 10).unwrap();
        let row = Row { frames: 1_000_000, frame_error_rate: 1.0, net_bits_per_s: 999_000.0, ..row(setting) };
        let line = line("loses", &row, crate::commands::gpio::note("simulated"));
        assert!(line.trim_end().len() <= 80 && line.contains("1000000  100.0 %"), "{line}");
        let head: Vec<usize> = ["lost"].iter().map(|head| HEAD.find(head).unwrap() + head.len()).collect();
        assert!(line[..head[0]].ends_with('%'), "{line}");
    }

    #[test]
    fn the_last_that_holds_is_found() {
        for border in 0..=13 {
            let mut tried = 0;
            let found = bisect::<()>(13, |n| {
                tried += 1;
                Ok(n < border)
            });
            assert_eq!(found, Ok(border.checked_sub(1)));
            assert!(tried <= 4, "{tried}");
        }
    }
}
