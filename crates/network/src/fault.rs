//! What is to go wrong, and when.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt;
use std::str::FromStr;

use ontick_tsn::network::{LinkId, Network, NodeId};
use ontick_units::{exact, parse_time};

/// A fault as it is asked for. Times count from the first period of all streams.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// What, to whom.
    pub kind: Kind,
    /// From when on, in ns.
    pub from_ns: u64,
    /// Until when; absent: to the end.
    pub until_ns: Option<u64>,
    text: String,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A cable carries nothing; both names, as they were written.
    LinkDown(String),
    /// A talker sends without end and without regard to its plan.
    Babble(String),
    /// A node's clock is not kept near the others any more, and runs so many parts in 10⁹ fast.
    ClockDrift(String, i64),
    /// A node's clock is set by so many ns at once.
    ClockStep(String, i64),
}

/// Text that is no fault, or a fault of what the network has not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultError {
    /// It is not of the form.
    #[error(
        "\"{0}\" is no fault: write link-down=A-B@10ms..20ms, babble=TALKER, clock-drift=NODE:50ppm or clock-step=NODE:1ms, each with the time that it begins (@10ms) if that is not the start"
    )]
    Form(String),
    /// It begins when no message is sent any more.
    #[error(
        "fault {fault}: it begins at {begins}, and messages are sent for {ends}: let it begin earlier, or send for longer"
    )]
    Behind {
        /// As it was asked for.
        fault: String,
        /// Its time.
        begins: String,
        /// The end.
        ends: String,
    },
    /// A clock is set to the time that it has.
    #[error("fault {0}: a step of zero changes no clock: write by how much the clock is set, such as 1ms")]
    NoStep(String),
    /// No such node.
    #[error("fault {0}: there is no node \"{1}\"")]
    Node(String, String),
    /// No such cable.
    #[error("fault {0}: there is no such cable between two nodes of these names")]
    Cable(String),
    /// The node sends no stream.
    #[error("fault {0}: {1} talks in no stream")]
    NoTalker(String, String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let wrong = || FaultError::Form(text.into());
        let (what, rest) = text.split_once('=').ok_or_else(wrong)?;
        let (whom, when) = rest.split_once('@').map_or((rest, None), |(whom, when)| (whom, Some(when)));
        let time = |text: &str| parse_time(text).map_err(|_| wrong());
        let (from_ns, until_ns) = match when.map(|when| (when, when.split_once(".."))) {
            None => (0, None),
            Some((_, Some((from, until)))) => (time(from)?, Some(time(until)?)),
            Some((from, None)) => (time(from)?, None),
        };
        let of_node = || whom.rsplit_once(':').filter(|(node, _)| !node.is_empty()).ok_or_else(wrong);
        let kind = match what {
            "link-down" if whom.contains('-') => Kind::LinkDown(whom.into()),
            "babble" if !whom.is_empty() => Kind::Babble(whom.into()),
            "clock-drift" => {
                let (node, drift) = of_node()?;
                let ppm: f64 = drift.strip_suffix("ppm").and_then(|ppm| ppm.parse().ok()).ok_or_else(wrong)?;
                // No oscillator is so far off.
                if !(-10_000.0..=10_000.0).contains(&ppm) {
                    return Err(wrong());
                }
                Kind::ClockDrift(node.into(), (ppm * 1_000.0).round() as i64)
            }
            "clock-step" => {
                let (node, step) = of_node()?;
                let (sign, step) = step.strip_prefix('-').map_or((1, step), |step| (-1, step));
                let ns = time(step)?;
                if ns == 0 {
                    return Err(FaultError::NoStep(text.into()));
                }
                if ns > 1_000_000_000 {
                    return Err(wrong());
                }
                Kind::ClockStep(node.into(), sign * ns as i64)
            }
            _ => return Err(wrong()),
        };
        let ends = !matches!(kind, Kind::ClockStep(..)) || until_ns.is_none();
        if !ends || until_ns.is_some_and(|until_ns| until_ns <= from_ns) {
            return Err(wrong());
        }
        Ok(Self { kind, from_ns, until_ns, text: text.into() })
    }
}

/// Which of the cables between two nodes is meant, from 1: `s1-s2` is the first, `s1-s2#2` the second.
fn cable(names: &str) -> (&str, usize) {
    // No name has a # of its own.
    let nth = names.rsplit_once('#').and_then(|(names, nth)| Some((names, nth.parse().ok()?)));
    nth.unwrap_or((names, 1))
}

/// The links from one node to another, in the order of the file.
fn cables(network: &Network, names: &str) -> Vec<LinkId> {
    let find = |name: &str| network.nodes.iter().position(|node| node.name == name);
    // Names may have hyphens of their own: whichever two fit.
    let splits = names.match_indices('-').map(|(at, _)| (&names[..at], &names[at + 1..]));
    let ends = splits.filter_map(|(a, b)| Some((find(a)?, find(b)?)));
    let between = |(a, b): (NodeId, NodeId)| -> Vec<LinkId> {
        (0..network.links.len()).filter(|link| (network.links[*link].from, network.links[*link].to) == (a, b)).collect()
    };
    ends.map(between).find(|links| !links.is_empty()).unwrap_or_default()
}

/// A fault of this network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// Both directions.
    LinkDown([LinkId; 2]),
    Babble(NodeId),
    ClockDrift(NodeId, i64),
    ClockStep(NodeId, i64),
}

impl Fault {
    /// Whether it happens at all while messages are sent for so long.
    pub(crate) fn happens_within(&self, duration_ns: u64) -> Result<(), FaultError> {
        if self.from_ns < duration_ns {
            return Ok(());
        }
        Err(FaultError::Behind { fault: self.text.clone(), begins: exact(self.from_ns), ends: exact(duration_ns) })
    }

    /// Which cable it cuts, where there are others between the same two nodes.
    pub fn spares(&self, network: &Network) -> Option<String> {
        let Kind::LinkDown(written) = &self.kind else { return None };
        let (names, nth) = cable(written);
        let all = cables(network, names).len();
        (all > 1).then(|| {
            format!(
                "fault {}: of {all} cables between these two nodes number {nth} is cut, and the others carry frames; \
                 {names}#{all} is the last of them",
                self.text
            )
        })
    }

    /// Whom it befalls.
    pub(crate) fn resolve(&self, network: &Network) -> Result<Resolved, FaultError> {
        let find = |name: &str| network.nodes.iter().position(|node| node.name == name);
        let node = |name: &String| find(name).ok_or_else(|| FaultError::Node(self.text.clone(), name.clone()));
        Ok(match &self.kind {
            Kind::LinkDown(names) => {
                let (names, nth) = cable(names);
                let link = nth.checked_sub(1).and_then(|place| cables(network, names).get(place).copied());
                let found = link.and_then(|link| Some([link, network.reverse(link)?]));
                Resolved::LinkDown(found.ok_or_else(|| FaultError::Cable(self.text.clone()))?)
            }
            Kind::Babble(name) => {
                let talker = node(name)?;
                if !network.streams.iter().any(|stream| stream.talker == talker) {
                    return Err(FaultError::NoTalker(self.text.clone(), name.clone()));
                }
                Resolved::Babble(talker)
            }
            Kind::ClockDrift(name, ppb) => Resolved::ClockDrift(node(name)?, *ppb),
            Kind::ClockStep(name, ns) => Resolved::ClockStep(node(name)?, *ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_tsn::network::samples;

    fn kind(text: &str) -> Option<(Kind, u64, Option<u64>)> {
        text.parse().ok().map(|fault: Fault| (fault.kind, fault.from_ns, fault.until_ns))
    }

    #[test]
    fn faults_are_read() {
        let named = |name: &str| name.to_owned();
        let down = Some((Kind::LinkDown(named("a-b")), 10_000_000, Some(20_000_000)));
        assert_eq!(kind("link-down=a-b@10ms..20ms"), down);
        assert_eq!(kind("babble=camera"), Some((Kind::Babble(named("camera")), 0, None)));
        assert_eq!(
            kind("clock-drift=s1:-50ppm@1s"),
            Some((Kind::ClockDrift(named("s1"), -50_000), 1_000_000_000, None))
        );
        assert_eq!(kind("clock-step=s1:-1ms"), Some((Kind::ClockStep(named("s1"), -1_000_000), 0, None)));
        let wrong = [
            "",
            "link-down",
            "link-down=a",
            "babble=",
            "clock-drift=s1:50",
            "clock-drift=:5ppm",
            "clock-drift=s1:1e9ppm",
            "clock-step=s1:2s",
            "clock-step=s1:0ms",
            "clock-step=s1:1ms@1ms..2ms",
            "link-down=a-b@20ms..10ms",
            "flood=a",
        ];
        for text in wrong {
            assert_eq!(kind(text), None, "{text}");
        }
    }

    #[test]
    fn of_several_cables_one_is_cut_and_which_is_said() {
        let mut network = samples::ring(4, 1);
        let [there, back] = [0, 1].map(|link| network.links[link].clone());
        network.links.extend([there, back]);
        let last = network.links.len() - 2;
        let fault = |text: &str| text.parse::<Fault>().unwrap();
        let resolve = |text: &str| fault(text).resolve(&network);
        assert_eq!(resolve("link-down=s0-s1"), Ok(Resolved::LinkDown([0, 1])));
        assert_eq!(resolve("link-down=s0-s1#1@1ms"), Ok(Resolved::LinkDown([0, 1])));
        assert_eq!(resolve("link-down=s1-s0#2"), Ok(Resolved::LinkDown([last + 1, last])));
        assert!(resolve("link-down=s0-s1#3").is_err() && resolve("link-down=s0-s1#0").is_err());
        let said = fault("link-down=s0-s1").spares(&network).unwrap();
        assert!(
            said.contains("of 2 cables between these two nodes number 1 is cut") && said.contains("s0-s1#2"),
            "{said}"
        );
        assert_eq!(fault("link-down=s1-s2").spares(&network), None);
    }

    #[test]
    fn a_fault_happens_or_is_refused() {
        let within = |text: &str, duration_ns| text.parse::<Fault>().unwrap().happens_within(duration_ns);
        assert_eq!(within("clock-step=s1:1ms@10ms", 10_000_001), Ok(()));
        for text in ["clock-step=s1:1ms@10ms", "babble=a@10ms", "link-down=a-b@10ms..20ms"] {
            let said = within(text, 10_000_000).unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("fault {text}: it begins at 10ms, and messages are sent for 10ms")),
                "{said}"
            );
        }
        let none = "clock-step=s1:-0us".parse::<Fault>().unwrap_err().to_string();
        assert!(none.contains("a step of zero changes no clock"), "{none}");
    }

    #[test]
    fn a_fault_is_of_somebody_who_is_there() {
        let mut network = samples::ring(3, 1);
        network.nodes[0].name = "s-0".into();
        let resolve = |text: &str| text.parse::<Fault>().unwrap().resolve(&network).map_err(|error| error.to_string());
        assert_eq!(resolve("link-down=s-0-s1"), Ok(Resolved::LinkDown([0, 1])));
        assert_eq!(resolve("link-down=s1-s-0"), Ok(Resolved::LinkDown([1, 0])));
        assert!(resolve("link-down=s1-h0").unwrap_err().contains("there is no such cable"));
        assert_eq!(resolve("babble=h0"), Ok(Resolved::Babble(3)));
        assert!(resolve("babble=h1").unwrap_err().contains("h1 talks in no stream"));
        assert!(resolve("clock-step=s9:1us").unwrap_err().contains("there is no node \"s9\""));
    }
}
