//! The way of frames through a switch, with counters at each stage: ingress, classifier, queue, gate, egress.

use serde::Serialize;

use crate::number::count;
use crate::printable::printable;
use crate::text::Style;

/// A switch as frames pass it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DataPath {
    /// Its name, and who carries the frames.
    pub title: String,
    /// When this was counted, and what counted it.
    pub about: String,
    /// Its ports.
    pub ports: Vec<PathPort>,
}

/// A port, on the way in and on the way out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PathPort {
    /// Its name.
    pub name: String,
    /// `up`, `no link`.
    pub link: String,
    /// Length of the gates' cycle in ns; 0: it has no gates.
    pub cycle_ns: u64,
    /// Frames that came in by it.
    pub ingress: Stage,
    /// Frames that leave by it, class by class.
    pub classes: Vec<PathClass>,
    /// What is counted of this port where no class is known, in words.
    pub remarks: Vec<String>,
}

/// A class at the port that its frames leave by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PathClass {
    /// Its name.
    pub name: String,
    /// When its gate is open: beginning and length within the cycle, in ns.
    pub windows: Vec<(u64, u64)>,
    /// Frames that are of this class, and that may wait.
    pub classifier: Stage,
    /// Frames that may wait, and that waited.
    pub queue: Stage,
    /// Frames that waited, and whose gate opened.
    pub gate: Stage,
    /// Frames whose gate opened, and that the interface took.
    pub egress: Stage,
    /// Most frames that may wait; 0: not known.
    pub limit: u64,
}

/// Frames at one stage. All that went in came out, wait, or were dropped here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// Frames that went in.
    pub into: u64,
    /// Frames that came out.
    pub out: u64,
    /// Frames that are here now.
    pub waiting: u64,
    /// Frames that ended here, by the reason.
    pub dropped: Vec<(String, u64)>,
}

impl Stage {
    /// A stage that so many leave, of those that went in; reasons without frames are left out.
    pub fn before(out: u64, waiting: u64, dropped: &[(&str, u64)]) -> Self {
        let dropped: Vec<(String, u64)> =
            dropped.iter().filter(|(_, frames)| *frames > 0).map(|(why, frames)| ((*why).into(), *frames)).collect();
        let gone = dropped.iter().map(|(_, frames)| *frames).fold(0, u64::saturating_add);
        Self { into: out.saturating_add(waiting).saturating_add(gone), out, waiting, dropped }
    }

    /// Frames that ended here.
    pub fn gone(&self) -> u64 {
        self.dropped.iter().map(|(_, frames)| *frames).fold(0, u64::saturating_add)
    }
}

impl PathClass {
    /// Its stages in the order of the way, by name.
    pub fn stages(&self) -> [(&'static str, &Stage); 4] {
        [("classifier", &self.classifier), ("queue", &self.queue), ("gate", &self.gate), ("egress", &self.egress)]
    }
}

const LABEL: usize = 13;
const STAGE: usize = 12;
const WAITS: usize = 8;
const DROPPED: usize = 9;

/// As tables: for each stage how many frames came out of it. Fits 80 columns.
pub fn text(path: &DataPath, style: &Style) -> String {
    let mut text = crate::text::labelled("", &path.title, style);
    if !path.about.is_empty() {
        text += &crate::text::labelled("", &path.about, style);
    }
    path.ports.iter().for_each(|port| text += &port_text(port, style));
    text
}

fn port_text(port: &PathPort, style: &Style) -> String {
    let Stage { into, out, .. } = &port.ingress;
    let words = format!("{} · came in {}, forwarded {}{}", port.link, count(*into), count(*out), causes(&port.ingress));
    let mut text =
        String::from("\n") + &crate::text::labelled(&format!("port {}  ", printable(&port.name)), &words, style);
    if !port.classes.is_empty() {
        text += &format!("  {:<LABEL$}", "class");
        ["classifier", "queue", "gate", "egress"].iter().for_each(|stage| text += &format!("{stage:>STAGE$}"));
        text += &format!("{:>WAITS$}{:>DROPPED$}\n", "waiting", "dropped");
    }
    for class in &port.classes {
        let name = printable(&class.name);
        text += &match name.chars().count() < LABEL {
            true => format!("  {name:<LABEL$}"),
            false => format!("  {name}\n  {:<LABEL$}", ""),
        };
        class.stages().iter().for_each(|(_, stage)| text += &format!("{:>STAGE$}", count(stage.out)));
        let gone: u64 = class.stages().iter().map(|(_, stage)| stage.gone()).fold(0, u64::saturating_add);
        text += &format!("{:>WAITS$}{:>DROPPED$}\n", count(class.queue.waiting), count(gone));
        for (name, stage) in class.stages() {
            for (why, frames) in &stage.dropped {
                text +=
                    &crate::text::labelled("    ", &format!("{} dropped at the {name}: {why}", count(*frames)), style);
            }
        }
    }
    port.remarks.iter().for_each(|remark| text += &crate::text::labelled("  ", remark, style));
    text
}

fn causes(stage: &Stage) -> String {
    let causes: Vec<String> = stage.dropped.iter().map(|(why, frames)| format!("{} {why}", count(*frames))).collect();
    if causes.is_empty() { String::new() } else { format!(", dropped {}", causes.join(", ")) }
}

/// One line for each class of each port, for a log: `swp2 control: classifier 12, queue 12, gate 10, egress 10, …`.
pub fn lines(path: &DataPath) -> Vec<String> {
    let of_class = |port: &PathPort, class: &PathClass| {
        let stages: Vec<String> = class.stages().iter().map(|(name, stage)| format!("{name} {}", stage.out)).collect();
        let gone: u64 = class.stages().iter().map(|(_, stage)| stage.gone()).sum();
        let words = format!("{}, waiting {}, dropped {gone}", stages.join(", "), class.queue.waiting);
        printable(&format!("{} {}: {words}", port.name, class.name))
    };
    path.ports.iter().flat_map(|port| port.classes.iter().map(move |class| of_class(port, class))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn sample() -> DataPath {
        let egress = Stage::before(1_234_000, 0, &[("refused by the interface", 2), ("link down", 0)]);
        let gate = Stage::before(egress.into, 0, &[("no window long enough", 3)]);
        let queue = Stage::before(gate.into, 41, &[("too many waited", 35_859)]);
        let classifier = Stage::before(queue.into, 0, &[("larger than allowed", 7)]);
        let windows = vec![(0, 200_000)];
        let named = |name: &str| PathClass {
            name: name.into(),
            windows: windows.clone(),
            classifier: classifier.clone(),
            queue: queue.clone(),
            gate: gate.clone(),
            egress: egress.clone(),
            limit: 512,
        };
        let ingress = Stage::before(99_000, 0, &[("malformed", 12), ("found the ring full", 70)]);
        let port = |name: &str, classes, cycle_ns| PathPort {
            name: name.into(),
            link: "up".into(),
            cycle_ns,
            ingress: ingress.clone(),
            classes,
            remarks: Vec::new(),
        };
        DataPath {
            title: "cell4  user data plane".into(),
            about: "counted by its core".into(),
            ports: vec![
                port("swp1", vec![named("control"), named("best-effort")], 1_000_000),
                port("swp2", vec![named("a-class-whose-name-is-long<&>")], 0),
            ],
        }
    }

    #[test]
    fn every_frame_of_a_stage_went_on_or_waits_or_was_dropped() {
        let path = sample();
        for class in path.ports.iter().flat_map(|port| &port.classes) {
            let stages = class.stages();
            for (name, stage) in stages {
                assert_eq!(stage.into, stage.out + stage.waiting + stage.gone(), "{name}");
            }
            // What leaves a stage is what comes to the next.
            assert!(stages.windows(2).all(|pair| pair[0].1.out == pair[1].1.into));
        }
    }

    #[test]
    fn the_table_fits_and_says_why_frames_were_dropped() {
        let text = text(&sample(), &Style { width: 80, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for part in [
            "port swp1  up · came in 99 082, forwarded 99 000, dropped 12 malformed, 70 found",
            "35 859 dropped at the queue: too many waited",
            "2 dropped at the egress: refused by the interface",
            "  a-class-whose-name-is-long<&>\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(
            lines(&sample())[0],
            "swp1 control: classifier 1269905, queue 1234005, gate 1234002, egress 1234000, waiting 41, dropped 35871"
        );
    }
}
