//! The commands for a machine that is not this one: its ports and its kernel are what the caller says of them, and what
//! nobody said is assumed, in words.

use std::str::FromStr;

use super::{CannotPlan, plan};
use crate::apply::{Act, Host, Plan, Refused};
use crate::ethtool::mac_merge;
use crate::features::{Feature, Features};
use ontick_tsn::model::{Base, Bridge, Offload, Port, Role, SpanningTree, Switch};
use ontick_tsn::wire::LARGEST_SDU;

/// Debian 13's.
const USUAL: Release = Release(6, 12);
/// What a port that names no rate is taken for.
const RATE: u64 = 1_000_000_000;
/// First numbers of interfaces that are no port of anybody.
const FIRST_INDEX: u32 = 1_000;
/// Offloads that are on wherever a driver has them, and that must be off.
const OFFLOADS: [&str; 4] = ["rx-gro", "tx-generic-segmentation", "tx-tcp-segmentation", "tx-tcp6-segmentation"];
/// What asks for parts that are younger than the kernels that are in use, and the release that they came with.
const SINCE: [(&str, Release); 5] = [
    (" root taprio ", Release(4, 20)),
    (" root etf ", Release(4, 19)),
    (" root cbs ", Release(4, 15)),
    (" action gate ", Release(5, 8)),
    (" num_of_vlans ", Release(5, 19)),
];
/// taprio with flags, of txtime assistance and full offload.
const FLAGS_SINCE: Release = Release(5, 4);
/// taprio and mqprio with preemptible classes.
const PREEMPTION_SINCE: Release = Release(6, 4);

/// A release of the kernel: `6.12`, `5.15.0-91-generic`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(u32, u32);

/// It does not begin with two numbers.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is not a release of the kernel: write 6.12, or what uname -r prints there")]
pub struct ReleaseError(String);

impl FromStr for Release {
    type Err = ReleaseError;

    fn from_str(text: &str) -> Result<Self, ReleaseError> {
        let numbers = || {
            let (major, rest) = text.trim().split_once('.')?;
            let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            Some(Self(major.parse().ok()?, minor.parse().ok()?))
        };
        numbers().filter(|release| release.0 < 1_000).ok_or_else(|| ReleaseError(text.into()))
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// What is said of the machine.
#[derive(Debug, Clone, Default)]
pub struct AnotherMachine {
    /// Its kernel.
    pub release: Option<Release>,
    /// Driver of its ports.
    pub driver: Option<String>,
    /// Transmit queues of each of its ports.
    pub queues: Option<u32>,
}

/// What is to be done there, and on what it rests.
#[derive(Debug)]
pub struct PlanElsewhere {
    /// The steps.
    pub plan: Plan,
    /// What was said of the machine or is assumed of it, a sentence each.
    pub assumptions: Vec<String>,
}

/// What [`plan`] says for a machine that has the switch's ports, free and unused. `now_ns` is the time of the switch's
/// clock.
pub fn plan_elsewhere(machine: &AnotherMachine, switch: &Switch, now_ns: u64) -> Result<PlanElsewhere, CannotPlan> {
    let host = On { machine, switch };
    host.fits()?;
    let mut plan = plan(&host, switch, now_ns)?;
    for act in plan.steps.iter_mut().flat_map(|step| &mut step.acts) {
        unnumbered(act);
    }
    let mut assumptions = host.assumptions();
    if plan.steps.iter().flat_map(|step| &step.acts).any(|act| matches!(act, Act::Gates { .. })) {
        assumptions.push(
            "where a command says \"by rtnetlink\", tc there may lack max-sdu (iproute2 before 6.2) or room for the list"
                .into(),
        );
    }
    Ok(PlanElsewhere { assumptions, plan })
}

/// The number of a bridge is chosen so that it is free here, and nobody knows which is free there.
fn unnumbered(act: &mut Act) {
    let Act::Run { argv } = act else { return };
    let makes = argv.starts_with(&["ip".into(), "link".into(), "add".into()]);
    // The fifth word is the name, which may be anything.
    let at = argv.iter().skip(5).position(|word| word == "index").map(|at| at + 5);
    if let Some(at) = at.filter(|at| makes && at + 2 <= argv.len()) {
        argv.drain(at..at + 2);
    }
}

/// The machine as a plan sees it.
struct On<'a> {
    machine: &'a AnotherMachine,
    switch: &'a Switch,
}

impl On<'_> {
    fn release(&self) -> Release {
        self.machine.release.unwrap_or(USUAL)
    }

    /// As many as the classes of a port need, unless it was said.
    fn queues(&self) -> u32 {
        let of =
            |port: &Port| (0..self.switch.classes.len()).map(|class| u32::from(port.transmit_queues_of(class))).sum();
        self.machine.queues.unwrap_or_else(|| self.switch.ports.iter().map(of).max().unwrap_or(1))
    }

    fn fits(&self) -> Result<(), CannotPlan> {
        let offloads = self.switch.ports.iter().any(|port| port.gates.is_some() && port.offload != Offload::None);
        match offloads && self.release() < FLAGS_SINCE {
            true => Err(CannotPlan {
                reasons: vec![format!(
                    "taprio of Linux {} has no offload (Linux {FLAGS_SINCE} does): take a later kernel, or offload = \
                     \"none\"",
                    self.release()
                )],
            }),
            false => Ok(()),
        }
    }

    fn assumptions(&self) -> Vec<String> {
        let AnotherMachine { release, driver, queues } = self.machine;
        let ports: Vec<&str> = self.switch.ports.iter().map(|port| port.name.as_str()).collect();
        let known = |said: bool| if said { "as said" } else { "assumed" };
        let gated = || self.switch.ports.iter().filter(|port| port.gates.is_some());
        let mut all = vec![
            format!(
                "Linux {} with {}, taprio, prio{} and the classifier below, as this ontick would test there ({})",
                self.release(),
                match self.switch.bridge {
                    Bridge::Linux => "bridge",
                    Bridge::OpenVswitch(_) => "Open vSwitch running",
                },
                match (self.switch.ports.iter().any(Port::is_shaped), self.switch.streams.is_empty()) {
                    (true, true) => ", cbs",
                    (true, false) => ", cbs, police, gate",
                    (false, true) => "",
                    (false, false) => ", police, gate",
                },
                known(release.is_some())
            ),
            format!(
                "{} {}: Ethernet, switched off, in no bridge, without addresses, filters or queueing disciplines of others",
                if ports.len() == 1 { "port" } else { "ports" },
                ports.join(", ")
            ),
        ];
        if self.switch.ports.iter().any(Port::is_by_queue) {
            all.push(format!(
                "{} transmit queues on each port with gates{} ({})",
                self.queues(),
                if self.switch.ports.iter().any(|port| port.preemption.is_some()) { " or preemption" } else { "" },
                known(queues.is_some())
            ));
            all.push(match driver {
                Some(driver) => format!("driver {driver} (as said)"),
                None => "a driver other than igb and igc, whose ports prefer the lowest queue (assumed)".into(),
            });
        }
        let by_rate = |port: &&Port| port.rate.is_none() && (port.gates.is_some() || port.is_shaped());
        let without: Vec<&str> = self.switch.ports.iter().filter(by_rate).map(|port| port.name.as_str()).collect();
        if !without.is_empty() {
            all.push(format!("1 Gb/s on {} (assumed; rate = \"…\" in the file says otherwise)", without.join(", ")));
        }
        let preempts = |port: &&Port| port.preemption.is_some();
        let preempting: Vec<&str> = self.switch.ports.iter().filter(preempts).map(|port| port.name.as_str()).collect();
        if !preempting.is_empty() {
            all.push(format!("{}: ports that preempt frames (assumed)", preempting.join(", ")));
        }
        if gated().any(|port| port.gates.as_ref().is_some_and(|gates| gates.base == Base::NextSecond)) {
            all.push("it counts cycles from the base time below, a whole second, which may be past by then".into());
        }
        all.push(format!("offloads that ports usually have on: {} (ethtool -k PORT shows them)", OFFLOADS.join(", ")));
        if matches!(self.switch.stp, SpanningTree::Rstp(_)) {
            all.push("mstpd runs and takes the bridge (assumed)".into());
        }
        if self.switch.role == Role::Bridge {
            all.push(format!("no interface is called {} there", self.switch.name));
        }
        all
    }
}

fn lacks(what: &str, why: String) -> Refused {
    Refused { what: what.into(), why }
}

impl Host for On<'_> {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        let link = |(place, port): (usize, &ontick_tsn::model::Port)| {
            serde_json::json!({
                "ifindex": FIRST_INDEX + place as u32,
                "ifname": port.name,
                "flags": [],
                "mtu": LARGEST_SDU,
                "num_tx_queues": self.queues(),
                "link_type": "ether",
            })
        };
        Ok(match argv {
            ["ip", "-d", "-j", "link", "show"] => {
                serde_json::Value::Array(self.switch.ports.iter().enumerate().map(link).collect()).to_string()
            }
            // It explains itself as if that were an error.
            ["tc", "qdisc", "add", "taprio", "help"] => {
                let words = if self.release() >= PREEMPTION_SINCE { "[fp FP0 …]" } else { "" };
                return Err(lacks("tc qdisc add taprio help", words.into()));
            }
            // Nothing is there yet: no addresses, no queueing disciplines, no tables.
            _ => String::new(),
        })
    }

    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused> {
        let needs = |(words, since): &&(&str, Release)| input.contains(words) && self.release() < *since;
        match SINCE.iter().find(needs) {
            Some((_, since)) => {
                Err(lacks(&argv.join(" "), format!("Linux {} does not have it, Linux {since} does", self.release())))
            }
            None => Ok(String::new()),
        }
    }

    fn read(&self, path: &str) -> Option<String> {
        match path {
            "/proc/sys/kernel/osrelease" => Some(self.release().to_string()),
            path if path.ends_with("/disable_ipv6") => Some("0".into()),
            _ => None,
        }
    }

    fn features(&self, _: &str) -> Result<Features, Refused> {
        let on = Feature { active: true, wanted: true, can_change: true };
        Ok(OFFLOADS.into_iter().map(|name| (name.to_owned(), on)).collect())
    }

    fn mac_merge(&self, _: &str) -> Result<mac_merge::State, Refused> {
        let off = mac_merge::Settings {
            pmac_enabled: false,
            tx_enabled: false,
            verify_enabled: false,
            verify_time_ms: 10,
            tx_min_frag_size: 60,
        };
        Ok(mac_merge::State {
            settings: off,
            tx_active: false,
            verify_status: mac_merge::VerifyStatus::Disabled,
            max_verify_time_ms: 128,
            rx_min_frag_size: 60,
        })
    }

    fn transmit_queues(&self, _: &str) -> Option<u32> {
        Some(self.queues())
    }

    fn rate(&self, port: &str) -> Option<u64> {
        let port = self.switch.ports.iter().find(|of| of.name == port);
        port.map(|port| port.rate.unwrap_or(RATE))
    }

    fn driver(&self, _: &str) -> Option<String> {
        self.machine.driver.clone()
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        Err(lacks(&act.to_string(), "it is for another machine".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_as_people_and_kernels_write_them() {
        assert_eq!("6.12".parse::<Release>().unwrap(), Release(6, 12));
        assert_eq!("5.15.0-91-generic".parse::<Release>().unwrap(), Release(5, 15));
        assert_eq!("6.1-rt".parse::<Release>().unwrap(), Release(6, 1));
        for wrong in ["", "6", "six.one", "-1.2", "6.", "9999.1"] {
            assert!(wrong.parse::<Release>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_a_bridge_loses_its_number() {
        let mut act = Act::run("ip link add name index index 7 type bridge");
        unnumbered(&mut act);
        assert_eq!(act, Act::run("ip link add name index type bridge"));
        let other = Act::run("ip link set dev index master br0 index 4");
        let mut same = other.clone();
        unnumbered(&mut same);
        assert_eq!(same, other);
    }
}
