//! End points: how exactly a talker with many streams hands them over, and how much a listener takes in; and a planned
//! network with real frames, and in simulated time.

mod proof;
mod simulated;
mod station;

use ontick_units::show;

use crate::goals::Goal;
use crate::page::{Page, Table};
use crate::show::percent_down;
use crate::side::Job;
use crate::unthrottled::Unthrottled;

use station::{Base, LATE_NS, Sent};

/// Messages that must be handed over within [`LATE_NS`], as a share.
const SHARE: f64 = 0.99;
/// Frames that a listener must take in each second.
const RATE: f64 = 200_000.0;
/// How long the proof of the example may take.
const PROOF_S: f64 = 60.0;
/// Frames on links that a simulation must follow in each second.
const SIMULATED: f64 = 1e6;
/// Streams of the example at their listeners.
const STREAMS: usize = 22;

/// How much there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// How long a turn is.
    pub seconds: u64,
    /// Turns of talker and listener.
    pub turns: u32,
    /// Seconds that are simulated.
    pub simulated: u64,
}

/// What was seen.
pub struct Figures {
    alone: Vec<Sent>,
    heard: Vec<Sent>,
    /// Alone, from a base time by chance.
    by_chance: Vec<Sent>,
    proof: proof::Figures,
    simulated: simulated::Figures,
}

/// Everything, on the page.
pub fn measure(job: &Job, size: Size, page: &mut Page) -> Result<Figures, String> {
    let (mut alone, mut heard, mut by_chance) = (Vec::new(), Vec::new(), Vec::new());
    {
        let _unthrottled = Unthrottled::begin(job.cpu)?;
        for _ in 0..size.turns {
            alone.push(station::send(job, size.seconds, false, Base::Quiet)?);
            heard.push(station::send(job, size.seconds, true, Base::Quiet)?);
            by_chance.push(station::send(job, size.seconds, false, Base::Chance)?);
        }
    }
    page.heading("The network: a talker of 1 000 streams, and a listener");
    page.table(&table(&alone, &heard, &by_chance));
    page.words(&format!(
        "{} turns of {} s each. One thread (CPU {}, FIFO) sends 40 streams each millisecond, 120 every two, 240 every four and 600 every eight: 235 000 messages of 64 octets a second, {} apart, with a gap at the end of each millisecond. Late is the time just before the first octet is given to the kernel, beyond the plan. Virtual Ethernet does the receiving kernel's work within the talker's call; a listener on another CPU, an ordinary thread, takes the frames of the turns that are heard, nobody the others. Alone and heard begin at a base time of `network base-time`, from which the CPU's timer tick falls into the gap; the third turn begins at whatever time it is.",
        size.turns,
        size.seconds,
        job.cpu,
        show(station::SLOT_NS)
    ));
    page.heading("The network: the example of 4 switches and 20 streams with real frames");
    page.commands(&[proof::command(
        &Job { ontick: "ontick".into(), ..job.clone() },
        std::path::Path::new("four_switches.toml"),
    )
    .join(" ")]);
    let proof = proof::measure(job)?;
    page.table(&proof.table());
    page.heading("The network: 20 switches, 80 stations and 1 000 streams in simulated time");
    let simulated = simulated::measure(job, size.simulated)?;
    page.table(&simulated.table());
    page.words(
        "One thread, the code of the switches that serves real ports, and the plan made before. Each frame on a link counts once; all but those on a station's own link also passed a switch. What becomes of them is simulated; how long that took is not.",
    );
    Ok(Figures { alone, heard, by_chance, proof, simulated })
}

fn table(alone: &[Sent], heard: &[Sent], by_chance: &[Sent]) -> Table {
    let mut table =
        Table::new(&["turn", "sent/s", "<= 3us", "p50", "p99", "p99.9", "max", "left out", "received", "no room"]);
    let quantile = |of: &Sent, p: f64| of.lateness.quantile(p).map_or("—".into(), show);
    let row = |name: String, of: &Sent| {
        vec![
            name,
            format!("{:.0}", of.rate()),
            percent_down(of.in_time()),
            quantile(of, 0.5),
            quantile(of, 0.99),
            quantile(of, 0.999),
            of.lateness.max_ns.map_or("—".into(), show),
            of.left_out.to_string(),
            of.received.map_or("—".into(), |received| received.to_string()),
            of.received.map_or("—".into(), |_| of.overflowed.to_string()),
        ]
    };
    for (turn, ((alone, heard), by_chance)) in alone.iter().zip(heard).zip(by_chance).enumerate() {
        table.row(row(format!("{}, alone", turn + 1), alone));
        table.row(row(format!("{}, heard", turn + 1), heard));
        table.row(row(format!("{}, alone, base time by chance", turn + 1), by_chance));
    }
    table
}

/// What of all messages was handed over in time.
fn share<'s>(turns: impl IntoIterator<Item = &'s Sent>) -> Option<f64> {
    let (late, due) = turns.into_iter().fold((0, 0), |(late, due), of| (late + of.late(), due + of.due()));
    (due > 0).then(|| 1.0 - late as f64 / due as f64)
}

/// What must be reached.
pub fn goals(seen: &Figures) -> Vec<Goal> {
    let share = share(seen.alone.iter().chain(&seen.heard));
    let by_chance = self::share(&seen.by_chance).map_or("—".into(), percent_down);
    let talked = share.map(|share| (format!("{} ({by_chance} by chance, alone)", percent_down(share)), share >= SHARE));
    let lost: u64 = seen.heard.iter().filter_map(Sent::lost).sum();
    let slowest = seen.heard.iter().map(Sent::rate).fold(f64::INFINITY, f64::min);
    let heard = (!seen.heard.is_empty())
        .then(|| (format!("{lost} lost at {slowest:.0}/s in the slowest turn"), lost == 0 && slowest >= RATE));
    let simulated::Figures { kept, drifting } = &seen.simulated;
    let proof = &seen.proof;
    let in_time = proof.seconds <= PROOF_S && proof.streams == STREAMS && proof.accounted;
    let said = format!(
        "{:.1} s, {} streams at listeners, {} missing and {} counted",
        proof.seconds, proof.streams, proof.missing, proof.counted
    );
    vec![
        Goal::new(
            format!(
                "messages of 1 000 streams handed over within {} of their time, from a base time of `network base-time`, alone and heard, all turns together",
                show(LATE_NS)
            ),
            format!("≥ {} %", SHARE * 100.0),
            talked,
        ),
        Goal::new("frames that a listener takes in", format!("≥ {RATE:.0}/s, 0 lost"), heard),
        Goal::new(
            "proof of 4 switches and 20 streams with real frames",
            format!("≤ {PROOF_S:.0} s, every stream, every loss counted"),
            Some((said, in_time)),
        ),
        Goal::new(
            "frames on links of 20 switches and 1 000 streams in simulated time, each second of wall clock",
            format!("≥ {SIMULATED:.0}"),
            Some((format!("{:.0}", kept.rate()), kept.rate() >= SIMULATED)),
        ),
        Goal::new(
            "every frame within its promise in simulated time, and not with a clock that drifts away",
            "holds, does not hold",
            Some((
                format!(
                    "{} of {} frames on links lost or late, {}",
                    kept.lost + kept.late,
                    kept.hops,
                    drifting.late + drifting.lost
                ),
                kept.met && !drifting.met && drifting.late + drifting.lost > 0,
            )),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use ontick_record::{Bucket, Histogram};

    use super::*;

    fn sent(late_ns: u64, received: Option<u64>) -> Sent {
        let bucket = |low_ns, count| Bucket { low_ns, width_ns: 1, count };
        let lateness = Histogram::from_buckets([bucket(100, 990), bucket(late_ns, 10)]);
        Sent { lateness, left_out: 0, sent: 1_000, seconds: 0.004, received, overflowed: 0 }
    }

    fn reached(alone: Sent, heard: Sent, seconds: f64, accounted: bool) -> Vec<Option<bool>> {
        let proof =
            proof::Figures { seconds, streams: STREAMS, missing: 1, counted: 1, accounted, ..Default::default() };
        let simulated = simulated(1_000_000, true);
        reached_of(Figures { alone: vec![alone], heard: vec![heard], by_chance: Vec::new(), proof, simulated })[..3]
            .to_vec()
    }

    fn reached_of(figures: Figures) -> Vec<Option<bool>> {
        goals(&figures).into_iter().map(|goal| goal.reached).collect()
    }

    fn simulated(hops: u64, found: bool) -> simulated::Figures {
        let kept = simulated::One { seconds: 1.0, hops, met: true, ..Default::default() };
        simulated::Figures { kept, drifting: simulated::One { late: u64::from(found), ..Default::default() } }
    }

    #[test]
    fn each_goal_can_be_reached_and_missed() {
        let good = || sent(3_500, Some(1_000));
        assert_eq!(reached(good(), good(), 59.0, true), [Some(true); 3]);
        let late = || Sent { left_out: 1, ..good() };
        assert_eq!(reached(late(), good(), 59.0, true)[0], Some(false));
        assert_eq!(reached(good(), late(), 59.0, true)[0], Some(false));
        assert_eq!(reached(good(), sent(1, Some(999)), 59.0, true)[1], Some(false));
        assert_eq!(reached(good(), Sent { seconds: 0.0051, ..good() }, 59.0, true)[1], Some(false));
        assert_eq!(reached(good(), good(), 61.0, true)[2], Some(false));
        assert_eq!(reached(good(), good(), 59.0, false)[2], Some(false));
        let of = |simulated| {
            let (alone, heard, by_chance) = Default::default();
            reached_of(Figures { alone, heard, by_chance, proof: proof::Figures::default(), simulated })[3..].to_vec()
        };
        assert_eq!(of(simulated(1_000_000, true)), [Some(true), Some(true)]);
        assert_eq!(of(simulated(999_999, false)), [Some(false), Some(false)]);
    }
}
