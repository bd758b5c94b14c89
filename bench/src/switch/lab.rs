//! The kernel's data plane, on a kernel that has one: Debian's PREEMPT_RT 6.12 in an emulated machine.

use std::path::Path;

use ontick_record::store;
use ontick_record::switching::Trial;
use ontick_units::show;

use crate::child::{self, Words};
use crate::goals::Goal;
use crate::page::Table;

/// Until a frame passes again after a link event, in ms.
const RESTORED_MS: u64 = 1_000;

/// What was seen.
pub struct Figures {
    /// Cycles of 10 ms as they pass, and of 1 ms in virtual time.
    trials: Vec<(&'static str, Trial)>,
    flaps: u64,
    /// The longest time until a frame passed after one, in ms.
    longest_ms: u64,
}

/// Cycles of source 004's test, and how time passes for them. Frames come at such rates that they meet each phase of the
/// cycle. Where time passes as it does, the emulated kernel takes some 100 us for what takes 10 elsewhere, and its guard band
/// is longer. The last is there to show what a guard band is for.
const CASES: [(&str, &str, &str); 3] = [
    ("8/2ms, guard band 500us", "", "--cycle 10ms --duration 10s --rate 997 --guard-band 500us"),
    (
        "0.8/0.2ms, virtual time, guard band 20us",
        "--virtual-time ",
        "--cycle 1ms --duration 2s --rate 3990 --guard-band 20us",
    ),
    ("0.8/0.2ms, virtual time, no guard band", "--virtual-time ", "--cycle 1ms --duration 2s --rate 3990"),
];

pub fn commands(ontick: &Path, flaps: u64) -> Vec<Words> {
    let demo = |(_, time, length): &(&str, &str, &str)| {
        format!(
            "lab/run {time}--cpus 1 --limit 20m -- {} switch demo --plane kernel {length} --without-gates 0s --json",
            ontick.display()
        )
    };
    let flaps = format!("lab/run --virtual-time --cpus 1 --limit 90m -- lab/tests/guest/switch-flaps {flaps}");
    let lines = CASES.iter().map(demo).chain([flaps]);
    lines.map(|line| line.split(' ').map(String::from).collect()).collect()
}

/// Runs all of it; from the top of the sources.
pub fn measure(ontick: &Path, flaps: u64) -> Result<Figures, String> {
    let commands = commands(ontick, flaps);
    let mut trials = Vec::new();
    for ((name, ..), words) in CASES.iter().zip(&commands) {
        println!("    kernel's data plane, {name}");
        let run = store::parse(&child::run_whether_met(words)?.stdout).map_err(|e| format!("ontick's result: {e}"))?;
        let trial = run.switch.as_ref().and_then(|switch| switch.judged()).ok_or("ontick's result has no gates")?;
        trials.push((*name, trial.clone()));
    }
    println!("    kernel's data plane, {flaps} link events, virtual time");
    let said = child::run(&commands[CASES.len()])?.stdout;
    let (flaps, longest_ms) = flapped(&said).ok_or("lab/tests/guest/switch-flaps did not say how it went")?;
    Ok(Figures { trials, flaps, longest_ms })
}

/// Of `20 flaps, the longest time until a frame arrived: 57 ms, above 1 s: 0`.
fn flapped(said: &str) -> Option<(u64, u64)> {
    said.lines().find_map(|line| {
        let (flaps, rest) = line.split_once(" flaps, the longest time until a frame arrived: ")?;
        Some((flaps.parse().ok()?, rest.split_once(" ms,")?.0.parse().ok()?))
    })
}

impl Figures {
    pub fn table(&self) -> Table {
        let mut table = Table::new(&["gates", "class", "frames", "outside", "first p50", "p99"]);
        for (name, trial) in &self.trials {
            for class in &trial.classes {
                let first = |q| class.first.quantile(q).map_or("—".into(), show);
                let counts = [class.received.to_string(), class.outside.to_string()];
                table.row(
                    [(*name).into(), class.name.clone()].into_iter().chain(counts).chain([first(0.5), first(0.99)]),
                );
            }
        }
        table
    }

    pub fn goals(&self) -> Vec<Goal> {
        let held = |(name, trial): &(&str, Trial)| {
            let (outside, received) = (trial.sum(|class| class.outside), trial.sum(|class| class.received));
            let seen = (received > 0).then(|| (format!("{outside} of {received}"), outside == 0));
            Goal::new(format!("switch in the kernel (lab): frames outside their window, {name}"), "0", seen)
        };
        let seen = format!("{} ms", self.longest_ms);
        let flaps = Goal::new(
            format!(
                "switch in the kernel (lab, virtual time): until frames pass after each of {} link events, the longest",
                self.flaps
            ),
            format!("≤ {RESTORED_MS} ms"),
            Some((seen, self.longest_ms <= RESTORED_MS)),
        );
        self.trials.iter().map(held).chain([flaps]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::switching::Class;

    #[test]
    fn what_the_lab_says_is_read() {
        let said = "this kernel\n20 flaps, the longest time until a frame arrived: 57 ms, above 1 s: 0\n== done\n";
        assert_eq!(flapped(said), Some((20, 57)));
        assert_eq!(flapped("20 flaps"), None);
    }

    #[test]
    fn each_goal_can_be_missed() {
        let class = |outside| Class { received: 1_000, judged: 1_000, outside, ..Class::default() };
        let trial = |outside| Trial { classes: vec![class(outside)], ..Trial::default() };
        let seen = Figures { trials: vec![("a", trial(0)), ("b", trial(1))], flaps: 3, longest_ms: 1_001 };
        assert_eq!(
            seen.goals().iter().map(|goal| goal.reached).collect::<Vec<_>>(),
            [Some(true), Some(false), Some(false)]
        );
    }
}
