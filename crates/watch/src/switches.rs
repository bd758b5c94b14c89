//! Switches that are at work on this machine, as whoever knows them finds them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ontick_report::datapath::{DataPath, Stage};
use serde::Serialize;

/// Who asks more often gets what was found before.
const LOOK_EVERY: Duration = Duration::from_millis(900);
/// A counter that falls by no more did not begin anew: a frame moved on while the stages were counted one by one.
const MOVED: u64 = 4_096;

/// A switch now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SwitchNow {
    /// Its name.
    pub name: String,
    /// Who carries its frames: `user` or `kernel`.
    pub plane: &'static str,
    /// How it is, in a sentence.
    pub state: String,
    /// Whether it does what it was set up for.
    pub fine: bool,
    /// When the cycle of its gates began, on its clock, in ns; none where that is not known.
    pub base_ns: Option<u64>,
    /// Its ports, with gates and counters.
    pub path: DataPath,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Switches {
    /// Each that could be looked at.
    pub switches: Vec<SwitchNow>,
    /// What could not be looked at, and why.
    pub unknown: Vec<String>,
}

/// Looks at all switches.
pub type Look = Box<dyn Fn() -> Switches + Send + Sync>;

/// Looks at switches for whoever asks, at most once a second however many ask.
pub struct SwitchWatch {
    look: Look,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    at: Option<Instant>,
    found: Arc<Switches>,
    /// Frames that had left each stage.
    counted: HashMap<Place, u64>,
}

/// Switch, port, class and stage.
type Place = (String, String, String, &'static str);

impl SwitchWatch {
    /// Asks `look`.
    pub fn new(look: Look) -> Self {
        Self { look, last: Mutex::default() }
    }

    /// The switches as they are now, or were within the last second. This may take as long as a program takes to run.
    pub fn now(&self) -> Arc<Switches> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.at.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
            let mut found = (self.look)();
            steady(&mut found, &mut last.counted);
            (last.at, last.found) = (Some(Instant::now()), Arc::new(found));
        }
        last.found.clone()
    }
}

/// Counters that fell a little stay: whoever computes rates would take them for new ones.
fn steady(found: &mut Switches, counted: &mut HashMap<Place, u64>) {
    let mut now = HashMap::new();
    let mut keep = |place: Place, stage: &mut Stage| {
        let before = counted.get(&place).copied().unwrap_or(0);
        if stage.out < before && before - stage.out <= MOVED {
            stage.into += before - stage.out;
            stage.out = before;
        }
        now.insert(place, stage.out);
    };
    for switch in &mut found.switches {
        for port in &mut switch.path.ports {
            let place = |class: &str, stage| (switch.name.clone(), port.name.clone(), class.to_owned(), stage);
            keep(place("", "ingress"), &mut port.ingress);
            for class in &mut port.classes {
                let name = class.name.clone();
                keep(place(&name, "classifier"), &mut class.classifier);
                keep(place(&name, "queue"), &mut class.queue);
                keep(place(&name, "gate"), &mut class.gate);
                keep(place(&name, "egress"), &mut class.egress);
            }
        }
    }
    *counted = now;
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use ontick_report::datapath::{PathClass, PathPort};

    use super::*;

    /// A switch with a port of two windows, on which so many frames left each stage.
    pub(crate) fn switch(out: u64) -> SwitchNow {
        let stage = |dropped: &[(&str, u64)]| Stage::before(out, 0, dropped);
        let class = PathClass {
            name: "blue".into(),
            windows: vec![(0, 800_000)],
            classifier: stage(&[]),
            queue: Stage::before(out, 2, &[("too many waited", 7)]),
            gate: stage(&[]),
            egress: stage(&[("link down", 3)]),
            limit: 100,
        };
        let port = PathPort {
            name: "swp1".into(),
            link: "up".into(),
            cycle_ns: 1_000_000,
            ingress: stage(&[("malformed", 1)]),
            classes: vec![class],
            remarks: Vec::new(),
        };
        let path = DataPath { title: "cell".into(), about: String::new(), ports: vec![port] };
        SwitchNow { name: "cell".into(), plane: "user", state: "at work".into(), fine: true, base_ns: Some(5), path }
    }

    #[test]
    fn who_asks_at_once_gets_what_was_found() {
        let looks = Arc::new(AtomicU64::new(0));
        let counted = looks.clone();
        let watch = SwitchWatch::new(Box::new(move || Switches {
            switches: vec![switch(counted.fetch_add(1, Relaxed))],
            unknown: Vec::new(),
        }));
        assert_eq!(watch.now(), watch.now());
        assert_eq!(looks.load(Relaxed), 1);
    }

    #[test]
    fn a_counter_that_fell_a_little_stays_and_one_that_began_anew_does_not() {
        let mut counted = HashMap::new();
        let mut out = |frames: u64| {
            let mut found = Switches { switches: vec![switch(frames)], unknown: Vec::new() };
            steady(&mut found, &mut counted);
            let class = &found.switches[0].path.ports[0].classes[0];
            (class.queue.out, class.queue.into)
        };
        assert_eq!(out(10_000), (10_000, 10_009));
        assert_eq!(out(9_999), (10_000, 10_009));
        assert_eq!(out(12_000), (12_000, 12_009));
        assert_eq!(out(3), (3, 12));
    }
}
