//! A time-aware switch under test: what was sent through it, and when it arrived.

pub mod load;
mod shaped;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;
pub use shaped::Shaped;

/// A switch that frames were sent through. Times are nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Switching {
    /// The switch's name.
    pub name: String,
    /// What carried the frames: `user`, `kernel`, `bridge` (a plain bridge without gates).
    pub plane: String,
    /// That in words: `user data plane, CPU 1, fifo:99`.
    pub about: String,
    /// The port that frames went in by.
    pub from: String,
    /// The port that they came out of, whose gates they were held against.
    pub to: String,
    /// Bits per second of that port's link.
    pub rate: u64,
    /// The clock that gates follow: `tai`, `realtime`, `monotonic`.
    pub clock: String,
    /// Who stamped arrivals: `kernel`, `hardware`.
    pub stamps: String,
    /// Length of the gates' cycle.
    pub cycle_ns: u64,
    /// How long a frame is on the link, as far as its end was judged: `modelled at 1 Gb/s`, `real, at 1 Gb/s`; empty where
    /// only beginnings were judged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub link: String,
    /// A frame counts as within its window if it began so much earlier, or ended so much later, at most.
    pub guard_ns: u64,
    /// For so long before a gate closes nothing begins (the guard band), in ns.
    #[serde(skip_serializing_if = "none")]
    pub closed_ns: u64,
    /// The same flows, under one condition after the other.
    pub trials: Vec<Trial>,
}

fn none(ns: &u64) -> bool {
    *ns == 0
}

impl Switching {
    /// What makes it unusable, though it has all its fields.
    pub(crate) fn check(&self) -> Result<(), String> {
        let times =
            |class: &Class| [&class.first, &class.delay, &class.jitter].into_iter().try_for_each(Histogram::check);
        let classes = self.trials.iter().flat_map(|trial| trial.classes.iter());
        classes.into_iter().try_for_each(|class| times(class).map_err(|e| format!("class \"{}\": {e}", class.name)))
    }

    /// The trial that the switch is judged by: the one with gates, else one with shaped classes.
    pub fn judged(&self) -> Option<&Trial> {
        let gated = self.trials.iter().find(|trial| trial.gates);
        gated.or_else(|| self.trials.iter().find(|trial| trial.is_shaped()))
    }
}

/// What was found under one condition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Trial {
    /// `gates on`, `gates off`; of a port without gates `shaped`, `not shaped`.
    pub name: String,
    /// Whether gates were in force. Without them, frames are still held against the same windows.
    pub gates: bool,
    /// For how long frames were sent.
    pub duration_ns: u64,
    /// For how many cycles arrivals are kept one by one.
    pub kept_cycles: u32,
    /// By traffic class, in the order of the configuration; only those that had a flow.
    pub classes: Vec<Class>,
    /// Frames that were lost where no class is known, but counted.
    pub elsewhere: Vec<Lost>,
    /// Frames outside their window in time order, those beyond one edge of a gate together.
    pub violations: Vec<Violation>,
    /// Frames outside their window beyond those.
    pub more_violations: u64,
    /// When the switch itself saw that it did not run.
    pub stalls: Vec<Stall>,
    /// Stalls beyond those.
    pub more_stalls: u64,
}

impl Trial {
    /// Whether some class has a credit-based shaper.
    pub fn is_shaped(&self) -> bool {
        self.classes.iter().any(|class| class.shaped.is_some())
    }

    /// Sum of something over all classes.
    pub fn sum(&self, of: impl Fn(&Class) -> u64) -> u64 {
        self.classes.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Frames that were sent, did not arrive, and were counted nowhere. Below zero: more were counted as lost than were.
    pub fn unaccounted(&self) -> i64 {
        let elsewhere = self.elsewhere.iter().map(|lost| lost.frames).fold(0, u64::saturating_add);
        let known = i128::from(self.sum(|class| class.received)) + i128::from(self.sum(|class| class.dropped));
        (i128::from(self.sum(|class| class.sent)) - known - i128::from(elsewhere)) as i64
    }

    /// Frames of shaped classes that came beyond their idle slopes, and all that came of them.
    pub fn beyond(&self) -> (u64, u64) {
        let shaped = self.classes.iter().filter_map(|class| Some((class.shaped.as_ref()?.beyond, class.received)));
        shaped.fold((0, 0), |sums, (beyond, received)| {
            (u64::saturating_add(sums.0, beyond), u64::saturating_add(sums.1, received))
        })
    }

    /// Share of the judged frames that were outside their window, 0 to 1; nothing where none was judged.
    pub fn share_outside(&self) -> Option<f64> {
        let judged = self.sum(|class| class.judged);
        (judged > 0).then(|| self.sum(|class| class.outside) as f64 / judged as f64)
    }
}

/// What was found of a traffic class.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its queue, 0 to 7.
    pub queue: u8,
    /// Octets of each frame on the link, check sequence included.
    pub octets: u32,
    /// Frames per second that were offered; absent: as many as went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<u64>,
    /// Beginning and length of its windows within the cycle.
    pub windows: Vec<(u64, u64)>,
    /// Its credit-based shaper, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaped: Option<Shaped>,
    /// Frames that the sending port took.
    pub sent: u64,
    /// Frames that it did not take; they are not among those sent.
    pub refused: u64,
    /// Frames that arrived, each once.
    pub received: u64,
    /// Frames that the switch says it dropped.
    pub dropped: u64,
    /// The same by their cause, which takes the place of a place; only those that there were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<Lost>,
    /// Frames that arrived once more.
    pub duplicates: u64,
    /// Frames that arrived behind a later one.
    pub out_of_order: u64,
    /// Frames that arrived other than they were sent; they are not among those received.
    pub damaged: u64,
    /// Frames that were held against the windows.
    pub judged: u64,
    /// Frames outside their window.
    pub outside: u64,
    /// Of these, frames that began within it and ended after the closing.
    pub ends_outside: u64,
    /// From the gate's opening to the first frame of a window, where that frame had been sent 10 us before or more.
    pub first: Histogram,
    /// Windows whose first frame was sent later than that.
    pub unqueued: u64,
    /// First frames that came before the opening, within the guard; 0 in `first`.
    pub early: u64,
    /// From sending to arriving.
    pub delay: Histogram,
    /// By how much that differs from the frame before.
    pub jitter: Histogram,
    /// Arrivals by their place in the cycle, which is divided evenly.
    pub folded: Vec<u64>,
    /// Arrivals one by one, from the beginning of a cycle on.
    pub arrivals: Vec<u64>,
}

/// Frames that were lost at a known place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Lost {
    /// Where, or why: `ring of port a`, `cable to the switch`, `too many waited`.
    pub place: String,
    /// How many.
    pub frames: u64,
}

/// Frames outside their window: those beyond one edge of a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Violation {
    /// The class's name.
    pub class: String,
    /// When the first of them arrived, since the trial began.
    pub at_ns: u64,
    /// How many.
    pub frames: u64,
    /// How far the worst was from the gate's nearest edge.
    pub by_ns: u64,
    /// After the gate had closed; else before it opened.
    pub late: bool,
    /// They began before it closed, and ended after it.
    pub ends: bool,
    /// What made it, where that is known: `the switch did not run for 5.2 ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// A stretch of time in which the switch did not run, or in which it handed a frame over that ended after its gate closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stall {
    /// When it began, since the trial began; below zero if before.
    pub at_ns: i64,
    /// How long it was.
    pub length_ns: u64,
    /// Who had its CPU, where that was looked for: `outside the kernel`, `timer tick`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trial_with_gates_is_the_one_that_is_judged() {
        let trial = |name: &str, gates| Trial { name: name.into(), gates, ..Trial::default() };
        let mut switching = Switching { trials: vec![trial("gates off", false)], ..Switching::default() };
        assert_eq!(switching.judged(), None);
        let mut shaped = trial("shaped", false);
        shaped.classes.push(Class { shaped: Some(Shaped::default()), ..Class::default() });
        switching.trials.push(shaped);
        assert_eq!(switching.judged().unwrap().name, "shaped");
        switching.trials.extend([trial("gates on", true), trial("again", true)]);
        assert_eq!(switching.judged().unwrap().name, "gates on");
    }

    #[test]
    fn a_histogram_out_of_order_is_refused_with_its_class() {
        let unsound: Histogram = serde_json::from_str(r#"{"buckets":[[7,1,1],[3,1,1]]}"#).unwrap();
        let class = |name: &str| Class { name: name.into(), ..Class::default() };
        let of = |class: Class| Switching {
            trials: vec![Trial { classes: vec![self::Class::default(), class], ..Trial::default() }],
            ..Switching::default()
        };
        assert_eq!(of(class("a")).check(), Ok(()));
        for spoilt in [
            Class { first: unsound.clone(), ..class("a") },
            Class { delay: unsound.clone(), ..class("a") },
            Class { jitter: unsound.clone(), ..class("a") },
        ] {
            let why = of(spoilt).check().unwrap_err();
            assert!(why.starts_with("class \"a\": ") && why.contains("ascending"), "{why}");
        }
    }

    #[test]
    fn every_frame_is_somewhere() {
        let class = |sent, received, dropped| Class { sent, received, dropped, ..Class::default() };
        let mut trial = Trial {
            classes: vec![class(100, 90, 6), class(50, 50, 0)],
            elsewhere: vec![Lost { place: "ring".into(), frames: 3 }],
            ..Trial::default()
        };
        assert_eq!((trial.unaccounted(), trial.share_outside()), (1, None));
        trial.elsewhere[0].frames = 5;
        assert_eq!(trial.unaccounted(), -1);
        (trial.classes[0].judged, trial.classes[0].outside) = (80, 8);
        assert_eq!(trial.share_outside(), Some(0.1));
    }
}
