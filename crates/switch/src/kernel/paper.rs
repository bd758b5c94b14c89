//! A machine on paper, and switches to plan for it.

use ontick_tsn::model::{
    Base, Class, Classifier, Entry, Forwarding, Gates, Guard, Offload, Plane, Port, Role, Rule, Switch,
};

use crate::apply::{Act, Host, Plan, Refused};
use crate::ethtool::mac_merge;
use crate::features::{Feature, Features};

/// A machine on paper: two ports with so many queues, at 1 Gb/s.
pub struct Paper {
    pub release: &'static str,
    pub queues: u32,
    pub lacks: &'static [&'static str],
    pub root: &'static str,
    pub master: &'static str,
    pub merge: Option<mac_merge::State>,
    pub tc: &'static str,
    pub driver: Option<&'static str>,
    /// Actions of the kind `police`, as tc lists them.
    pub police: &'static str,
    /// A port that is not there.
    pub gone: &'static str,
}

pub const PAPER: Paper = Paper {
    release: "6.12.95",
    queues: 8,
    lacks: &[],
    root: r#"[{"kind":"mq","handle":"0:","root":true},{"kind":"fq_codel","handle":"0:","parent":":1"}]"#,
    master: "",
    merge: None,
    tc: "Usage: ... taprio clockid CLOCKID",
    driver: None,
    police: "",
    gone: "",
};

impl Host for Paper {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        let master = self.master;
        let link = |index: u32, name: &str| {
            format!(
                r#"{{"ifindex":{index},"ifname":"{name}","flags":["UP","LOWER_UP"],"mtu":1500,"num_tx_queues":8{master},"link_type":"ether"}}"#
            )
        };
        match argv {
            ["ip", "-d", "-j", "link", "show"] => {
                let there = [(3, "a"), (7, "b")].into_iter().filter(|(_, name)| *name != self.gone);
                let links: Vec<String> = there.map(|(index, name)| link(index, name)).collect();
                Ok(format!("[{}]", links.join(",")))
            }
            ["ip", "-j", "addr", ..] => Ok("[]".into()),
            ["tc", "-s", "-j", "qdisc", ..] => Ok(self.root.into()),
            ["tc", "qdisc", "add", "taprio", "help"] => Err(refused(self.tc)),
            ["test", "-x", "/sbin/bridge-stp"] if self.lacks.contains(&"bridge-stp") => Err(refused("no such file")),
            ["test", "-x", "/sbin/bridge-stp"] => Ok(String::new()),
            ["nft", "list", "tables"] | ["iptables", ..] | ["ip6tables", ..] => Ok(String::new()),
            ["tc", "-s", "-j", "actions", "list", "action", "police"] => Ok(self.police.into()),
            ["tc", "-s", "-j", "actions", "list", "action", "gate"] => Ok(String::new()),
            ["tc", "-j", "filter", "show", "dev", _, "ingress"] => Ok(String::new()),
            other => panic!("{other:?} was not to be expected"),
        }
    }

    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused> {
        let all = format!("{} {input}", argv.join(" "));
        let lacking = self.lacks.iter().find(|lacking| all.contains(**lacking));
        lacking.map_or(Ok(String::new()), |_| Err(refused("Error: Specified qdisc kind is unknown.")))
    }

    fn read(&self, path: &str) -> Option<String> {
        (path == "/proc/sys/kernel/osrelease").then(|| self.release.into())
    }

    fn features(&self, _: &str) -> Result<Features, Refused> {
        let on = Feature { active: true, wanted: true, can_change: true };
        let names = ["rx-gro", "tx-tcp-segmentation", "tx-scatter-gather"];
        Ok(names.into_iter().map(|name| (name.to_owned(), on)).collect())
    }

    fn mac_merge(&self, _: &str) -> Result<mac_merge::State, Refused> {
        self.merge.ok_or_else(|| refused("the port has none"))
    }

    fn transmit_queues(&self, _: &str) -> Option<u32> {
        Some(self.queues)
    }

    fn rate(&self, _: &str) -> Option<u64> {
        Some(1_000_000_000)
    }

    fn driver(&self, _: &str) -> Option<String> {
        self.driver.map(str::to_owned)
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        panic!("a plan only looks, and this would be done: {act}")
    }
}

pub fn refused(why: &str) -> Refused {
    Refused { what: "tc".into(), why: why.into() }
}

pub fn class(name: &str, queue: u8, rules: Vec<Rule>) -> Class {
    Class { name: name.into(), queue, rules, limit: 100 }
}

pub fn udp(port: u16) -> Rule {
    Rule { ip_protocol: Some(17), to_port: Some(port), ..Rule::default() }
}

pub fn gates(entries: &[(u16, u64)], guard: Guard) -> Gates {
    Gates {
        base: Base::At(1_554_445_635_681_310_809),
        cycle_ns: entries.iter().map(|entry| entry.1).sum(),
        guard,
        entries: entries.iter().map(|(open, for_ns)| Entry { open: *open, for_ns: *for_ns }).collect(),
    }
}

pub fn switch(classes: Vec<Class>, gates: Option<Gates>) -> Switch {
    let port = |name: &str, gates| Port {
        name: name.into(),
        rate: None,
        offload: Offload::None,
        transmit_queues: Vec::new(),
        idle_slopes: Vec::new(),
        preemption: None,
        max_sdu: vec![None; classes.len()],
        gates,
    };
    Switch {
        name: "br0".into(),
        role: Role::Bridge,
        plane: Plane::Kernel,
        classifier: Classifier::Flower,
        socket: ontick_tsn::model::Socket::Packet,
        cpus: Vec::new(),
        clock: ontick_tsn::model::Clock::Tai,
        ageing_ns: 300_000_000_000,
        addresses: 1024,
        stp: Default::default(),
        bridge: ontick_tsn::model::Bridge::Linux,
        forward_reserved: Default::default(),
        transparent_clock: false,
        streams: Vec::new(),
        forwarding: Forwarding::default(),
        ports: vec![port("a", None), port("b", gates)],
        classes,
    }
}

/// Source 004: blue to port 6666, red to 7777.
pub fn article() -> Switch {
    let classes = vec![class("blue", 0, vec![]), class("red", 1, vec![udp(7777)])];
    switch(classes, Some(gates(&[(1, 800_000), (2, 200_000)], Guard::None)))
}

/// All that is to be done, as a person would type it.
pub fn commands(plan: &Plan) -> Vec<String> {
    plan.steps.iter().flat_map(|step| step.acts.iter().map(ToString::to_string)).collect()
}
