//! What a search by restarts does next, from what its journal says and from the boot that it finds itself in.
//!
//! Whatever ends the machine, the next boot says how far it got: each boot has an identity, and the entry that is booted
//! once puts its number on the kernel's command line.

use serde::{Deserialize, Serialize};

use super::race::Plan;
use super::rounds::Rounds;
use super::session::Session;

/// What became of a boot; each is on the disk before the step after it is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum BootStep {
    /// The boot loader is set for this boot, and the restart is asked for next.
    Asked {
        /// Which boot of the search, from 1.
        number: u64,
        /// The candidates that are to be on.
        arm: Vec<usize>,
        /// The boot in which this was written.
        from: String,
        /// When, in seconds since 1970 by the machine's clock.
        at_s: u64,
    },
    /// It came up, and its blocks are measured next.
    Up {
        /// Which.
        number: u64,
        /// Its identity.
        boot: String,
    },
    /// It was measured.
    Measured(Session),
    /// It was not, and these candidates are left out from here on.
    LeftOut {
        /// The candidates.
        on: Vec<usize>,
        /// Why.
        why: Lost,
    },
    /// The search may take so many boots from here on.
    Most {
        /// All, those of before included.
        boots: u64,
    },
}

/// How a boot was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lost {
    /// The machine was restarted before the boot got as far as the search.
    DidNotComeUp,
    /// It ended twice while it was measured.
    EndedTwice,
}

impl Lost {
    /// In words.
    pub fn why(self) -> &'static str {
        match self {
            Self::DidNotComeUp => "did not come up",
            Self::EndedTwice => "came up twice, and ended both times before it was measured",
        }
    }
}

/// The boot that the search finds itself in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootNow {
    /// Its identity.
    pub boot: String,
    /// The number on the kernel's command line; none where the usual entry was booted.
    pub number: Option<u64>,
    /// Whether the boot loader still waits to take the entry; none where nothing would say so.
    pub pending: Option<bool>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextBoot {
    /// Restart the machine as this boot.
    Restart {
        /// Which.
        number: u64,
        /// The candidates that are to be on.
        arm: Vec<usize>,
    },
    /// Measure in this boot.
    Measure {
        /// Which.
        number: u64,
        /// The candidates that are on.
        arm: Vec<usize>,
    },
    /// Write this down, and look again.
    Record(BootStep),
    /// The search has ended.
    End,
    /// The boot loader did not take the entry: it boots by other files, or the restart did not go through it.
    NotTaken,
    /// The base itself ended twice while it was measured.
    BaseEnds,
}

/// How far a search is.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// What was measured.
    pub rounds: Rounds,
    /// Boots that are over, measured or not.
    over: u64,
    /// The boot that was asked for and is not over: the candidates, and the boot that asked.
    asked: Option<(Vec<usize>, String)>,
    /// The boots that asked for it.
    asked_in: Vec<String>,
    asked_at_s: u64,
    /// The boots in which it was seen to come up.
    up: Vec<String>,
}

/// The state that these steps lead to.
pub fn replay(plan: Plan, steps: &[BootStep]) -> Replayed {
    let mut state = Replayed {
        rounds: Rounds::new(plan),
        over: 0,
        asked: None,
        asked_in: Vec::new(),
        asked_at_s: 0,
        up: Vec::new(),
    };
    for step in steps {
        match step {
            // Asked again, the same boot: where it was seen before counts on.
            BootStep::Asked { arm, from, at_s, .. } => {
                state.asked = Some((arm.clone(), from.clone()));
                if !state.asked_in.contains(from) {
                    state.asked_in.push(from.clone());
                }
                state.asked_at_s = *at_s;
            }
            BootStep::Up { boot, .. } if !state.up.contains(boot) => state.up.push(boot.clone()),
            BootStep::Up { .. } => {}
            // In its place: what was compared before it was chosen without it.
            BootStep::Most { boots } => state.rounds.set_most(*boots),
            BootStep::Measured(session) => {
                state.rounds.add(session.clone());
                state.close();
            }
            BootStep::LeftOut { on, why } => {
                state.rounds.exclude(on.clone(), why.why().into());
                state.close();
            }
        }
    }
    state
}

impl Replayed {
    fn close(&mut self) {
        self.over += 1;
        self.asked = None;
        self.asked_in.clear();
        self.up.clear();
    }

    /// When the boot that is not over was asked for, in seconds since 1970 by the machine's clock.
    pub fn asked_at_s(&self) -> u64 {
        self.asked_at_s
    }

    /// What comes next in this boot.
    pub fn next(&self, now: &BootNow) -> NextBoot {
        let number = self.over + 1;
        let Some((arm, from)) = self.asked.clone() else {
            return match self.rounds.next() {
                Some(arm) => NextBoot::Restart { number, arm },
                None => NextBoot::End,
            };
        };
        let left_out = |why| match arm.is_empty() {
            true => NextBoot::BaseEnds,
            false => NextBoot::Record(BootStep::LeftOut { on: arm.clone(), why }),
        };
        let is_it = if arm.is_empty() { now.number.is_none() } else { now.number == Some(number) };
        match () {
            // It was measured in this boot, and the search was killed meanwhile.
            () if self.up.contains(&now.boot) => NextBoot::Measure { number, arm },
            () if self.up.len() >= 2 => left_out(Lost::EndedTwice),
            // The machine was not restarted yet; or another restart took what was measured.
            () if now.boot == from => NextBoot::Restart { number, arm },
            () if is_it => NextBoot::Measure { number, arm },
            () if !self.up.is_empty() => NextBoot::Restart { number, arm },
            () if now.pending == Some(true) => NextBoot::NotTaken,
            // Once it may have been the power that went before the firmware was asked.
            () if now.pending.is_none() && self.asked_in.len() < 2 => NextBoot::Restart { number, arm },
            () => left_out(Lost::DidNotComeUp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{BOOT, Candidate};
    use ontick_record::search::{Block, Judge};

    fn plan(candidates: usize, boots: u64) -> Plan {
        Plan {
            candidates: (0..candidates).map(|n| Candidate { name: format!("k{n}"), combines: true }).collect(),
            judge: Judge::Share,
            smallest: 1.0,
            error: 0.05,
            most: boots * BOOT,
            each: 2 * BOOT,
            seed: 5,
            steal_limit: 0.05,
        }
    }

    fn session(arm: &[usize]) -> Session {
        Session { arm: arm.to_vec(), blocks: vec![Block { cycles: 100, in_time: 90, ..Block::default() }], took_ns: 1 }
    }

    fn usual(boot: &str) -> BootNow {
        BootNow { boot: boot.into(), number: None, pending: Some(false) }
    }

    fn tried(boot: &str, number: u64) -> BootNow {
        BootNow { number: Some(number), ..usual(boot) }
    }

    /// The steps up to the first boot of a candidate, which was asked for in boot `a`.
    fn asked_for_a_candidate() -> (Vec<BootStep>, u64) {
        let mut steps = Vec::new();
        loop {
            let NextBoot::Restart { number, arm } = replay(plan(1, 100), &steps).next(&usual("a")) else { panic!() };
            steps.push(BootStep::Asked { number, arm: arm.clone(), from: "a".into(), at_s: 0 });
            if !arm.is_empty() {
                return (steps, number);
            }
            steps.push(BootStep::Measured(session(&arm)));
        }
    }

    fn next(steps: &[BootStep], now: &BootNow) -> NextBoot {
        replay(plan(1, 100), steps).next(now)
    }

    #[test]
    fn a_boot_is_asked_for_measured_and_over() {
        let (mut steps, number) = asked_for_a_candidate();
        // Killed before the restart: asked for again.
        assert_eq!(next(&steps, &usual("a")), NextBoot::Restart { number, arm: vec![0] });
        assert_eq!(next(&steps, &tried("b", number)), NextBoot::Measure { number, arm: vec![0] });
        steps.push(BootStep::Up { number, boot: "b".into() });
        // Killed while it measures: measured again in this boot.
        assert_eq!(next(&steps, &tried("b", number)), NextBoot::Measure { number, arm: vec![0] });
        steps.push(BootStep::Measured(session(&[0])));
        assert!(matches!(next(&steps, &tried("b", number)), NextBoot::Restart { number: n, .. } if n == number + 1));
    }

    #[test]
    fn a_boot_that_does_not_come_up_is_left_out() {
        let (mut steps, number) = asked_for_a_candidate();
        let left_out = BootStep::LeftOut { on: vec![0], why: Lost::DidNotComeUp };
        assert_eq!(next(&steps, &usual("c")), NextBoot::Record(left_out.clone()));
        // That of another number is not it.
        assert_eq!(next(&steps, &tried("c", number + 1)), NextBoot::Record(left_out.clone()));
        steps.push(left_out);
        assert_eq!(next(&steps, &usual("c")), NextBoot::End);
        let result = replay(plan(1, 100), &steps).rounds.race().result();
        assert_eq!(result.skipped[0].why, "did not come up");
    }

    /// What the boot loader did not even take says nothing about the candidate.
    #[test]
    fn an_entry_that_is_not_taken_ends_the_search() {
        let (steps, _) = asked_for_a_candidate();
        assert_eq!(next(&steps, &BootNow { pending: Some(true), ..usual("c") }), NextBoot::NotTaken);
    }

    /// Where nothing says whether the entry was taken, a power cut just before it looks like an entry that does not come up.
    #[test]
    fn a_boot_that_may_not_have_been_tried_is_asked_for_once_more() {
        let (mut steps, number) = asked_for_a_candidate();
        let unknown = |boot: &str| BootNow { pending: None, ..usual(boot) };
        assert_eq!(next(&steps, &unknown("c")), NextBoot::Restart { number, arm: vec![0] });
        let again = BootStep::Asked { number, arm: vec![0], from: "c".into(), at_s: 0 };
        // Killed after that was written down, and asked for once more in the same boot.
        steps.extend([again.clone(), again]);
        assert_eq!(next(&steps, &unknown("c")), NextBoot::Restart { number, arm: vec![0] });
        assert_eq!(next(&steps, &tried("d", number)), NextBoot::Measure { number, arm: vec![0] });
        let left_out = BootStep::LeftOut { on: vec![0], why: Lost::DidNotComeUp };
        assert_eq!(next(&steps, &unknown("d")), NextBoot::Record(left_out.clone()));
        // The next boot of a candidate has its own two.
        steps.extend([left_out, BootStep::Most { boots: 100 }]);
        assert_eq!(replay(plan(1, 100), &steps).asked_in, Vec::<String>::new());
    }

    /// Once it may have been a power cut; twice it was the candidate.
    #[test]
    fn a_boot_that_ends_while_it_is_measured_has_a_second_try() {
        let (mut steps, number) = asked_for_a_candidate();
        steps.push(BootStep::Up { number, boot: "b".into() });
        assert_eq!(next(&steps, &usual("c")), NextBoot::Restart { number, arm: vec![0] });
        steps.push(BootStep::Asked { number, arm: vec![0], from: "c".into(), at_s: 0 });
        assert_eq!(next(&steps, &tried("d", number)), NextBoot::Measure { number, arm: vec![0] });
        steps.push(BootStep::Up { number, boot: "d".into() });
        let left_out = BootStep::LeftOut { on: vec![0], why: Lost::EndedTwice };
        assert_eq!(next(&steps, &usual("e")), NextBoot::Record(left_out));
    }

    #[test]
    fn a_base_that_ends_twice_is_no_base() {
        let base = |from: &str| BootStep::Asked { number: 1, arm: Vec::new(), from: from.into(), at_s: 0 };
        let up = |boot: &str| BootStep::Up { number: 1, boot: boot.into() };
        let mut steps = vec![base("a"), up("b")];
        // The next boot is the base again, without being asked for.
        assert_eq!(next(&steps, &usual("c")), NextBoot::Measure { number: 1, arm: Vec::new() });
        steps.push(up("c"));
        assert_eq!(next(&steps, &usual("d")), NextBoot::BaseEnds);
    }

    #[test]
    fn more_boots_go_on_where_fewer_ended() {
        let mut steps = Vec::new();
        let ended = loop {
            match replay(plan(1, 4), &steps).next(&usual("a")) {
                NextBoot::Restart { arm, .. } => steps.push(BootStep::Measured(session(&arm))),
                other => break other,
            }
        };
        assert_eq!((ended, steps.len()), (NextBoot::End, 4));
        steps.push(BootStep::Most { boots: 6 });
        assert!(matches!(replay(plan(1, 4), &steps).next(&usual("a")), NextBoot::Restart { number: 5, .. }));
    }
}
