//! One network, planned by everybody in turn.

use std::path::Path;
use std::time::Duration;

use crate::page::Table;

use super::instance::Instance;
use super::ours::{self, Ours, Planned};
use super::peers::{self, Answer, Peer};

/// Runs of ontick at least, for a median.
const RUNS: usize = 5;
/// From so many streams on the list scheduler gets twice the time.
const PATIENCE_FROM: u32 = 400;

/// What an algorithm of tsnkit did, after the validator's look at it.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// A schedule that holds, after so many seconds.
    Holds(f64),
    /// One that does not, and why.
    Refused(f64, String),
    /// None, in its own word.
    Nothing(String),
    OutOfTime,
    BrokeOff(String),
}

/// Everybody's answers.
#[derive(Debug, Clone)]
pub struct Versus {
    pub instance: Instance,
    pub ours: Ours,
    pub theirs: Vec<(Peer, Judged)>,
}

impl Versus {
    /// The algorithm of tsnkit that was first with a schedule that holds.
    pub fn fastest(&self) -> Option<(Peer, f64)> {
        let valid = self.theirs.iter().filter_map(|(peer, judged)| match judged {
            Judged::Holds(seconds) => Some((*peer, *seconds)),
            _ => None,
        });
        valid.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// ontick before each of the others, so that what the machine does meets both.
pub fn measure(ontick: &Path, instance: Instance, limit: Duration) -> Result<Versus, String> {
    let outcome = ours::outcome(ontick, &instance)?;
    let mut seconds = Vec::new();
    let mut theirs = Vec::new();
    for &peer in peers::for_streams(instance.wanted.streams) {
        seconds.push(ours::run(ontick, &instance)?);
        let patient = peer == Peer::Ls && instance.wanted.streams >= PATIENCE_FROM;
        let judged = judge(ontick, peer, &instance, if patient { limit * 2 } else { limit })?;
        println!("      {peer}: {}", judged.cell());
        theirs.push((peer, judged));
    }
    while seconds.len() < RUNS {
        seconds.push(ours::run(ontick, &instance)?);
    }
    Ok(Versus { instance, ours: Ours { outcome, seconds }, theirs })
}

fn judge(ontick: &Path, peer: Peer, instance: &Instance, limit: Duration) -> Result<Judged, String> {
    Ok(match peers::run(peer, instance, limit) {
        Answer::Schedule(seconds) => match ours::refusal(ontick, instance, &instance.folder.join(peer.to_string()))? {
            None => Judged::Holds(seconds),
            Some(why) => Judged::Refused(seconds, why),
        },
        Answer::Nothing(flag) => Judged::Nothing(flag),
        Answer::OutOfTime => Judged::OutOfTime,
        Answer::BrokeOff(why) => Judged::BrokeOff(why),
    })
}

impl Judged {
    fn cell(&self) -> String {
        match self {
            Judged::Holds(seconds) => format!("{seconds:.3} s"),
            Judged::Refused(seconds, _) => format!("refused ({seconds:.3} s)"),
            Judged::Nothing(flag) => flag.clone(),
            Judged::OutOfTime => "out of time".into(),
            Judged::BrokeOff(_) => "broke off".into(),
        }
    }
}

/// A row for each network.
pub fn table(all: &[Versus]) -> Table {
    let mut table =
        Table::of_words(&["network", "ontick", "runs", "tsnkit's fastest that holds", "ratio", "all of tsnkit's"]);
    for one in all {
        let time = one.ours.spread().map_or("—".into(), |spread| {
            format!("{:.1} ms ({:.1}–{:.1})", spread.median * 1e3, spread.min * 1e3, spread.max * 1e3)
        });
        let ours = match &one.ours.outcome {
            Planned::Holds => time,
            Planned::Impossible(why) => format!("impossible, {time}: {why}"),
            Planned::Refused(why) => format!("REFUSED, {time}: {why}"),
            Planned::NotFound => format!("not found, {time}"),
        };
        let (fastest, ratio) = one.fastest().map_or(("—".into(), "—".into()), |(peer, seconds)| {
            // tsnkit tells whole milliseconds.
            let ratio =
                if seconds > 0.0 { crate::show::times(seconds / one.ours.median_s()) } else { "below ×1".into() };
            (format!("{peer}, {seconds:.3} s"), ratio)
        });
        let theirs: Vec<String> = one.theirs.iter().map(|(peer, judged)| format!("{peer} {}", judged.cell())).collect();
        table.row([one.instance.name(), ours, one.ours.seconds.len().to_string(), fastest, ratio, theirs.join(", ")]);
    }
    table
}

/// Schedules that were called a success and do not hold.
pub fn refused(all: &[Versus]) -> Table {
    let mut table = Table::of_words(&["algorithm", "called a success", "refused", "the first of them"]);
    let mut peers: Vec<Peer> = Vec::new();
    for (peer, _) in all.iter().flat_map(|one| &one.theirs) {
        if !peers.contains(peer) {
            peers.push(*peer);
        }
    }
    for peer in peers {
        let of_peer = all.iter().flat_map(|one| one.theirs.iter().map(move |(peer, judged)| (one, peer, judged)));
        let (mut called, mut refused) = (0, Vec::new());
        for (one, _, judged) in of_peer.filter(|(_, of, _)| **of == peer) {
            match judged {
                Judged::Holds(_) => called += 1,
                Judged::Refused(_, why) => {
                    called += 1;
                    refused.push(format!("{}: {why}", one.instance.name()));
                }
                _ => (),
            }
        }
        let first = refused.first().cloned().unwrap_or_default();
        table.row([peer.to_string(), called.to_string(), refused.len().to_string(), first]);
    }
    table
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn versus_of(streams: u32, seconds: f64, outcome: Planned, theirs: &[(Peer, Judged)]) -> Versus {
        let mut instance = Instance::shown();
        instance.wanted.streams = streams;
        Versus { instance, ours: Ours { outcome, seconds: vec![seconds] }, theirs: theirs.to_vec() }
    }

    #[test]
    fn only_what_holds_is_a_rival() {
        let theirs = [
            (Peer::LsTb, Judged::Refused(0.1, "late".into())),
            (Peer::Ls, Judged::Holds(2.0)),
            (Peer::Dt, Judged::Holds(1.0)),
        ];
        assert_eq!(versus_of(10, 1.0, Planned::Holds, &theirs).fastest(), Some((Peer::Dt, 1.0)));
        assert_eq!(versus_of(10, 1.0, Planned::Holds, &theirs[..1]).fastest(), None);
    }
}
