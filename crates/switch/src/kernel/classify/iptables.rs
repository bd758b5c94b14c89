//! iptables' CLASSIFY behind `br_netfilter`, as in source 004, for machines that have nothing else: sees IP only.

use super::ClassifierInput;
use crate::apply::{Act, Expect, Host, Step, Undo};
use ontick_tsn::model::Rule;

const SEEN: &str = "/proc/sys/net/bridge/bridge-nf-call-";
const TAGGED: &str = "/proc/sys/net/bridge/bridge-nf-filter-vlan-tagged";

pub(super) fn steps(host: &impl Host, wanted: &ClassifierInput, notes: &mut Vec<String>) -> Result<Vec<Step>, String> {
    for (rule, _, class) in wanted.rules() {
        check(rule).map_err(|what| format!("class {class}: iptables does not look at {what}: use flower or nft"))?;
    }
    let mut steps = Vec::new();
    if wanted.switch.is_bridge() {
        steps.push(bridge_step(host, notes));
    }
    for (program, version) in [("iptables", 4), ("ip6tables", 6)] {
        steps.extend(chain_step(host, wanted, program, version)?);
    }
    Ok(steps)
}

/// What it does not look at.
fn check(rule: &Rule) -> Result<(), &'static str> {
    // All parts are named: a new one is refused here, or has its words in `matches`.
    let Rule {
        pcp,
        vlan,
        ether_type,
        to,
        from,
        dscp: _,
        ip_protocol: _,
        to_port: _,
        from_port: _,
        to_ip: _,
        socket_priority,
    } = rule;
    let is_ip = |ether_type: u16| matches!(ether_type, 0x0800 | 0x86dd);
    let refused = [
        (pcp.is_some() || vlan.is_some(), "VLAN tags"),
        (to.is_some() || from.is_some(), "MAC addresses on the way out"),
        (socket_priority.is_some(), "a socket's priority"),
        (ether_type.is_some_and(|other| !is_ip(other)), "frames without IP"),
    ];
    refused.into_iter().find(|(asked, _)| *asked).map_or(Ok(()), |(_, what)| Err(what))
}

/// Shows bridged IP packets to iptables. The module shows it those of every bridge as soon as it is there; without
/// it none was shown.
fn bridge_step(host: &impl Host, notes: &mut Vec<String>) -> Step {
    let mut step = Step::new("iptables sees bridged packets (br_netfilter)");
    let was_there = host.read(TAGGED).is_some();
    if !was_there {
        step = step.act(Act::run("modprobe br_netfilter"));
        notes.push(
            "the module br_netfilter is loaded and stays; it shows iptables nothing once the switch is reverted".into(),
        );
    }
    let files = [format!("{SEEN}iptables"), format!("{SEEN}ip6tables"), format!("{SEEN}arptables"), TAGGED.into()];
    for (i, path) in files.into_iter().enumerate() {
        let was = host.read(&path).unwrap_or_else(|| "0".into());
        step = step.undo(Undo::Value { path: path.clone(), was: was.clone(), port: None });
        // What arptables sees is not changed but by the module.
        let value = if i == 2 { was } else { "1".into() };
        step = step.act(Act::Write { path: path.clone(), value: value.clone() }).expect(Expect::Value { path, value });
    }
    step
}

fn chain_step(host: &impl Host, wanted: &ClassifierInput, program: &str, version: u8) -> Result<Option<Step>, String> {
    let mut rules: Vec<(String, u8)> = Vec::new();
    for (rule, priority, _) in wanted.rules() {
        rules.extend(matches(rule, version).into_iter().map(|matches| (matches, priority)));
    }
    if rules.is_empty() {
        return Ok(None);
    }
    // CLASSIFY goes on to the next rule: the last one that fits decides.
    rules.reverse();
    let chain = format!("ontick-{}", wanted.switch.name);
    // Asked first: looking with an iptables that is nftables beneath may make the table.
    let family = if version == 4 { "ip" } else { "ip6" };
    let table = (!has_mangle(host, family)).then(|| family.to_owned());
    let present = host.query(&[program, "-w", "-t", "mangle", "-S"]).map_err(|e| e.to_string())?;
    if present.lines().any(|line| line == format!("-N {chain}")) {
        return Err(format!("{program} has a chain {chain} in its mangle table already: delete it"));
    }
    let run = |words: String| Act::run(format!("{program} -w -t mangle {words}"));
    let mut step = Step::new(format!("frames get their class ({program})"))
        .undo(Undo::Chain { program: program.into(), chain: chain.clone(), table })
        .act(run(format!("-N {chain}")));
    let outs: Vec<String> = match wanted.switch.is_bridge() {
        true => vec![wanted.switch.name.clone()],
        false => wanted.ports.iter().map(|port| port.name.clone()).collect(),
    };
    let mut priorities = Vec::new();
    for out in outs {
        for (matches, priority) in &rules {
            step = step.act(run(format!("-A {chain} -o {out}{matches} -j CLASSIFY --set-class 0:{priority:x}")));
            priorities.push(*priority);
        }
    }
    let step = step.act(run(format!("-A POSTROUTING -j {chain}")));
    Ok(Some(step.expect(Expect::Chain { program: program.into(), chain, priorities })))
}

fn has_mangle(host: &impl Host, family: &str) -> bool {
    let tables = host.query(&["nft", "list", "tables"]).unwrap_or_default();
    tables.lines().any(|line| line == format!("table {family} mangle"))
}

fn matches(rule: &Rule, version: u8) -> Vec<String> {
    if !rule.versions().contains(&version) {
        return Vec::new();
    }
    let one = |protocol: Option<u8>| {
        let protocol = protocol.map(|protocol| match protocol {
            6 => " -p tcp".into(),
            17 => " -p udp".into(),
            other => format!(" -p {other}"),
        });
        let parts = [
            rule.to_ip.map(|(address, length)| format!(" -d {address}/{length}")),
            protocol,
            rule.to_port.map(|port| format!(" --dport {port}")),
            rule.from_port.map(|port| format!(" --sport {port}")),
            rule.dscp.map(|dscp| format!(" -m dscp --dscp {dscp}")),
        ];
        parts.into_iter().flatten().collect()
    };
    rule.protocols().into_iter().map(one).collect()
}
