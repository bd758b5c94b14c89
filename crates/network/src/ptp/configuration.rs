//! The files of linuxptp's programs for one node.

use ontick_tsn::network::{Network, NodeId, Profile, Pulse, TimeSync, Transport};

use super::pulse::announced;
use super::stamping::Stamping;

/// A node of a network that has `[time]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its interfaces, in the order of the file.
    pub interfaces: Vec<String>,
    /// How the network keeps one time.
    pub time: TimeSync,
    /// Its `priority1`: the lowest in the network is the grandmaster's.
    pub priority1: u8,
    /// Whether the file names it as a grandmaster.
    pub is_grandmaster: bool,
    /// The names of those that the file names as grandmasters, in their order.
    pub grandmasters: Vec<String>,
    /// By which it has its own time, and the interface whose card stamps that.
    pub pulse: Option<(String, Pulse)>,
}

/// A file says too little of a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// There is no `[time]`.
    #[error("the network's file has no [time]: write one with `profile = \"gptp\"`, or \"default\"")]
    NoTime,
    /// There is no such node.
    #[error("the network has no node {0}")]
    NoNode(String),
    /// It has no cable.
    #[error("no [[link]] leads to node {0}, so there is nobody to share the time with")]
    NoLink(String),
    /// The file does not name its interfaces.
    #[error("the file does not name all interfaces of node {0}: name them by `ports` in its [[link]]")]
    NoInterface(String),
    /// It has several interfaces.
    #[error(
        "[time.pps] does not name, by `interface`, the one of node {node} whose card stamps the pulse: {interfaces}"
    )]
    NoPulseInterface {
        /// The node.
        node: String,
        /// Those that it has.
        interfaces: String,
    },
    /// It has no such interface.
    #[error(
        "[time.pps] names the interface {named}, and those of node {node}, the first grandmaster, are {interfaces}"
    )]
    PulseElsewhere {
        /// The node.
        node: String,
        /// What is named.
        named: String,
        /// Those that it has.
        interfaces: String,
    },
}

impl Node {
    /// The node of this name.
    pub fn find(network: &Network, name: &str) -> Result<Self, NodeError> {
        let time = network.time.clone().ok_or(NodeError::NoTime)?;
        let id = network.nodes.iter().position(|node| node.name == name);
        let id: NodeId = id.ok_or_else(|| NodeError::NoNode(name.into()))?;
        let ports = network.links.iter().filter(|link| link.from == id).map(|link| link.port.clone());
        let interfaces: Vec<String> =
            ports.collect::<Option<_>>().ok_or_else(|| NodeError::NoInterface(name.into()))?;
        if interfaces.is_empty() {
            return Err(NodeError::NoLink(name.into()));
        }
        let (priority1, is_grandmaster) = (time.priority1(id), time.grandmasters.contains(&id));
        let grandmasters = time.grandmasters.iter().map(|id| network.nodes[*id].name.clone()).collect();
        let pulse = time.pulse.clone().filter(|_| time.grandmasters.first() == Some(&id));
        let pulse = pulse.map(|pulse| Ok((pulse_interface(name, &pulse, &interfaces)?, pulse))).transpose()?;
        Ok(Self { name: name.into(), interfaces, time, priority1, is_grandmaster, grandmasters, pulse })
    }

    /// The node that the file has announce this `priority1` as a grandmaster.
    pub fn grandmaster_of(&self, priority1: u8) -> Option<&str> {
        let place = priority1.checked_sub(TimeSync::FIRST_PRIORITY1)?;
        self.grandmasters.get(usize::from(place)).map(String::as_str)
    }

    /// Whether the file has it give the time before all others.
    pub fn is_first_grandmaster(&self) -> bool {
        self.is_grandmaster && self.priority1 == TimeSync::FIRST_PRIORITY1
    }

    /// What ptp4l(8) reads.
    pub fn ptp4l(&self, stamping: &Stamping) -> String {
        let mut text = String::new();
        let mut section = |why: &str, settings: &[(&str, String)]| {
            text += &format!("# {why}\n");
            settings.iter().for_each(|(name, value)| text += &format!("{name:<23} {value}\n"));
        };
        let time = &self.time;
        section("Which clocks hear each other.", &[("domainNumber", time.domain.to_string())]);
        match time.profile {
            Profile::Gptp => {
                section(
                    "gPTP (IEEE 802.1AS): to a group address that bridges do not forward, each cable's delay measured by\n\
                     # its two ends, the way of Announce recorded.",
                    &[
                        ("transportSpecific", "0x1".into()),
                        ("network_transport", "L2".into()),
                        ("ptp_dst_mac", "01:80:C2:00:00:0E".into()),
                        ("delay_mechanism", "P2P".into()),
                        ("assume_two_step", "1".into()),
                        ("follow_up_info", "1".into()),
                        ("path_trace_enabled", "1".into()),
                        ("syncReceiptTimeout", "3".into()),
                    ],
                );
                match stamping {
                    Stamping::Hardware(_) => section(
                        "A neighbour farther away has something between that is no gPTP.",
                        &[("neighborPropDelayThresh", "800".into()), ("min_neighbor_prop_delay", "-20000000".into())],
                    ),
                    Stamping::Software(_) => section(
                        "Software's stamps have the way through two kernels in the delay, which is no sign of anything.",
                        &[
                            ("neighborPropDelayThresh", "20000000".into()),
                            ("min_neighbor_prop_delay", "-20000000".into()),
                        ],
                    ),
                }
            }
            Profile::Default => section(
                "The default profile of IEEE 1588, delays from end to end: switches forward it, transparent clocks correct it.",
                &[
                    ("network_transport", if time.transport == Transport::L2 { "L2" } else { "UDPv4" }.into()),
                    ("delay_mechanism", "E2E".into()),
                    ("logMinDelayReqInterval", time.log_sync_interval.to_string()),
                ],
            ),
        }
        section(
            "Logarithms to base 2 of seconds.",
            &[
                ("logSyncInterval", time.log_sync_interval.to_string()),
                ("logAnnounceInterval", time.log_announce_interval.to_string()),
            ],
        );
        section(
            match self.is_grandmaster {
                true => "Named as a grandmaster: the lowest of those that are there is.",
                false => "Grandmaster only if nobody is there with a lower one.",
            },
            &[("priority1", self.priority1.to_string())],
        );
        if let Some((_, pulse)) = &self.pulse {
            let (why, settings) = announced(pulse);
            section(why, &settings);
        }
        section(
            "In s: a clock that was in step is stepped, too, if that of a node before it was set later. To slew it takes\n\
             # minutes.",
            &[("step_threshold", "0.1".into())],
        );
        section(
            "In ms: on a busy machine the stamp of a frame that was sent comes later than after the usual 1 or 10.",
            &[("tx_timestamp_timeout", "100".into())],
        );
        match stamping {
            Stamping::Hardware(clocks) => {
                section("All ports have a clock that stamps frames.", &[("time_stamping", "hardware".into())]);
                if clocks.len() > 1 {
                    section(
                        "Of several cards, whose clocks phc2sys keeps together.",
                        &[("boundary_clock_jbod", "1".into())],
                    );
                }
            }
            Stamping::Software(by) => section(
                &match by.as_slice() {
                    [] => "Stamped by the drivers; what is followed is the system's clock.".into(),
                    by => format!("Stamped by the drivers, by the system's clock: {} has no own.", by.join(", ")),
                },
                &[("time_stamping", "software".into())],
            ),
        }
        let ports: String = self.interfaces.iter().map(|name| format!("[{name}]\n")).collect();
        format!("# ptp4l of node {}: ptp4l -f FILE\n[global]\n{text}{ports}", self.name)
    }

    /// What phc2sys(8) reads; it is needed only where cards have clocks.
    pub fn phc2sys(&self, stamping: &Stamping) -> Option<String> {
        let Stamping::Hardware(_) = stamping else { return None };
        let Self { name, time, .. } = self;
        let specific = if time.profile == Profile::Gptp { "0x1" } else { "0x0" };
        let why = match (&self.pulse, self.is_grandmaster) {
            (Some(_), _) => "The system's clock by the card's, which has the pulse; ptp4l says what UTC is.",
            (None, true) => {
                "It asks ptp4l which clock is followed, and steers the others; while this node gives the time, the cards' \
                 clocks by the system's."
            }
            (None, false) => {
                "It asks ptp4l which clock is followed, and steers the others; the system's clock among them."
            }
        };
        Some(format!(
            "# phc2sys of node {name}: phc2sys -f FILE {}\n# {why}\n[global]\n{:<23} {}\n{:<23} {specific}\n",
            self.phc2sys_options().join(" "),
            "domainNumber",
            time.domain,
            "transportSpecific",
        ))
    }

    /// What its file cannot say: clocks are found by asking ptp4l, and the system's is one of them; a second `-r` has it
    /// give the time where nobody else does. By a pulse the card's does, which phc2sys cannot find out itself.
    pub fn phc2sys_options(&self) -> Vec<&str> {
        match &self.pulse {
            Some((interface, _)) => vec!["-s", interface, "-w"],
            None if self.is_grandmaster => vec!["-a", "-r", "-r"],
            None => vec!["-a", "-r"],
        }
    }
}

/// The interface of a node whose card stamps its pulse.
fn pulse_interface(node: &str, pulse: &Pulse, interfaces: &[String]) -> Result<String, NodeError> {
    let (node, listed) = (node.to_owned(), interfaces.join(", "));
    match (&pulse.interface, interfaces) {
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(NodeError::NoPulseInterface { node, interfaces: listed }),
        (Some(named), _) if interfaces.contains(named) => Ok(named.clone()),
        (Some(named), _) => Err(NodeError::PulseElsewhere { node, named: named.clone(), interfaces: listed }),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn network(time: &str) -> Network {
        let text = format!(
            "switch = [{{ name = \"s1\" }}]\nstation = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" }}]\nlink = [{{ \
             between = [\"a\", \"s1\"], ports = [\"eth0\", \"p1\"] }}, {{ between = [\"s1\", \"b\"], ports = [\"p2\", \"eth0\"] }}, \
             {{ between = [\"s1\", \"c\"] }}]\nstream = [{{ name = \"f\", from = \"a\", to = \"b\", size = 100, period = \"1ms\" }}]\n{time}"
        );
        ontick_tsn::network::read(&text).map_err(|errors| errors.to_string()).unwrap()
    }

    fn software() -> Stamping {
        Stamping::Software(vec!["eth0".into()])
    }

    /// The settings of a file.
    pub fn settings(text: &str) -> Vec<(&str, &str)> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split_once(' ').map_or((line, ""), |(name, value)| (name, value.trim()))).collect()
    }

    #[test]
    fn gptp_and_the_default_profile_differ_in_what_they_measure_and_send() {
        let gptp = network("[time]\nprofile = \"gptp\"\ndomain = 3\ngrandmaster = \"a\"\n");
        let a = Node::find(&gptp, "a").unwrap();
        let text = a.ptp4l(&software());
        for setting in [
            ("domainNumber", "3"),
            ("transportSpecific", "0x1"),
            ("network_transport", "L2"),
            ("delay_mechanism", "P2P"),
            ("logSyncInterval", "-3"),
            ("priority1", "64"),
            ("time_stamping", "software"),
            ("step_threshold", "0.1"),
            ("neighborPropDelayThresh", "20000000"),
            ("[eth0]", ""),
        ] {
            assert!(settings(&text).contains(&setting), "{setting:?} is not in\n{text}");
        }
        let b = Node::find(&gptp, "b").unwrap().ptp4l(&Stamping::Hardware(vec![0, 1]));
        for setting in [
            ("priority1", "248"),
            ("time_stamping", "hardware"),
            ("boundary_clock_jbod", "1"),
            ("neighborPropDelayThresh", "800"),
        ] {
            assert!(settings(&b).contains(&setting), "{setting:?} is not in\n{b}");
        }
        let default = network("[time]\nprofile = \"default\"\ntransport = \"UDPv4\"\nsync-interval = \"250ms\"\n");
        let text = Node::find(&default, "a").unwrap().ptp4l(&software());
        for setting in [
            ("network_transport", "UDPv4"),
            ("delay_mechanism", "E2E"),
            ("logMinDelayReqInterval", "-2"),
            ("priority1", "128"),
        ] {
            assert!(settings(&text).contains(&setting), "{setting:?} is not in\n{text}");
        }
        assert!(!text.contains("transportSpecific"), "{text}");
    }

    #[test]
    fn the_systems_clock_gives_the_time_on_a_grandmaster_alone() {
        let network = network("[time]\nprofile = \"gptp\"\ngrandmaster = \"a\"\n");
        let [a, b] = ["a", "b"].map(|name| Node::find(&network, name).unwrap());
        assert_eq!(a.phc2sys(&software()), None);
        let text = a.phc2sys(&Stamping::Hardware(vec![0])).unwrap();
        assert!(text.contains("phc2sys -f FILE -a -r -r\n") && settings(&text).contains(&("transportSpecific", "0x1")));
        assert_eq!(b.phc2sys_options(), ["-a", "-r"]);
    }

    #[test]
    fn a_grandmaster_is_known_by_its_priority() {
        let network = network("[time]\nprofile = \"gptp\"\ngrandmaster = [\"b\", \"a\"]\n");
        let node = Node::find(&network, "a").unwrap();
        assert_eq!(
            [64, 65, 66, 0, 248].map(|priority1| node.grandmaster_of(priority1)),
            [Some("b"), Some("a"), None, None, None]
        );
    }

    #[test]
    fn the_interface_of_a_pulse_is_the_only_one_or_named() {
        let find = |pps: &str| {
            // Without the station whose cable has no names.
            let text = "switch = [{ name = \"s1\" }]\nstation = [{ name = \"a\" }, { name = \"b\" }]\nlink = [{ between = \
                        [\"a\", \"s1\"], ports = [\"eth0\", \"p1\"] }, { between = [\"s1\", \"b\"], ports = [\"p2\", \
                        \"eth0\"] }]\nstream = [{ name = \"f\", from = \"a\", to = \"b\", size = 100, period = \"1ms\" }]\n";
            let time = "[time]\nprofile = \"gptp\"\ngrandmaster = \"s1\"\n";
            let network = ontick_tsn::network::read(&format!("{text}{time}pps = {{ source = \"generic\"{pps} }}\n"));
            Node::find(&network.unwrap(), "s1").map(|node| node.pulse.unwrap().0)
        };
        let (node, interfaces) = ("s1".to_owned(), "p1, p2".to_owned());
        assert_eq!(find(", interface = \"p2\""), Ok("p2".into()));
        assert_eq!(find(""), Err(NodeError::NoPulseInterface { node: node.clone(), interfaces: interfaces.clone() }));
        let named = "eth9".to_owned();
        assert_eq!(find(", interface = \"eth9\""), Err(NodeError::PulseElsewhere { node, named, interfaces }));
    }

    #[test]
    fn what_a_file_lacks_is_said() {
        let find = |time: &str, name: &str| Node::find(&network(time), name).unwrap_err();
        assert_eq!(find("", "a"), NodeError::NoTime);
        let gptp = "[time]\nprofile = \"gptp\"\n";
        assert_eq!(find(gptp, "d"), NodeError::NoNode("d".into()));
        assert_eq!(find(gptp, "c"), NodeError::NoInterface("c".into()));
        assert_eq!(find(gptp, "s1"), NodeError::NoInterface("s1".into()));
        let alone = "switch = [{ name = \"s1\" }]\nstation = [{ name = \"a\" }, { name = \"b\" }, { name = \"d\" }]\nlink = [{ \
                     between = [\"a\", \"s1\"] }, { between = [\"s1\", \"b\"] }]\nstream = [{ name = \"f\", from = \"a\", to = \
                     \"b\", size = 100, period = \"1ms\" }]\n";
        let network = ontick_tsn::network::read(&format!("{alone}{gptp}")).unwrap();
        assert_eq!(Node::find(&network, "d"), Err(NodeError::NoLink("d".into())));
    }
}
