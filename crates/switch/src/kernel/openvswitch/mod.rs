//! Open vSwitch in place of the kernel's bridge: without flows it forwards nothing, so they come last.

mod flows;

use crate::apply::{Act, Expect, Host, Iface, Link, Step, Undo, openvswitch as ovs};
use ontick_tsn::model::{Datapath, Switch};

use super::classify::ClassifierInput;
pub(super) use flows::flows;

const START: &str = "systemctl start openvswitch-switch";

/// What prevents a bridge of this name with these ports, as sentences.
pub(super) fn obstacles(host: &impl Host, switch: &Switch) -> Vec<String> {
    let bridges = match ovs::bridges(host) {
        Ok(bridges) => bridges,
        Err(refused) if refused.why.contains("not installed") => return vec![refused.why],
        Err(refused) => return vec![format!("Open vSwitch's database does not answer ({START}): {refused}")],
    };
    if let Err(refused) = host.query(&["ovs-appctl", "--timeout=5", "-t", "ovs-vswitchd", "version"]) {
        return vec![format!("ovs-vswitchd does not answer ({START}): {refused}")];
    }
    let name = &switch.name;
    let mut reasons = Vec::new();
    if let Some(owner) = bridges.get(name) {
        // The database outlives a restart of the machine; what is known of how to undo it does not.
        let whose = if owner.is_some() { ", left by ontick before the machine's restart" } else { "" };
        reasons.push(format!(
            "there is an Open vSwitch bridge {name} already{whose}: remove it (ovs-vsctl del-br {name}), or give the \
             switch another name"
        ));
    }
    for port in &switch.ports {
        match ovs::bridge_of(host, &port.name) {
            Ok(Some(bridge)) => reasons.push(format!(
                "port {0} belongs to Open vSwitch bridge {bridge}: take it out first (ovs-vsctl del-port {bridge} {0})",
                port.name
            )),
            Ok(None) => {}
            Err(refused) => reasons.push(refused.to_string()),
        }
    }
    reasons
}

/// Makes the bridge, still without flows.
pub(super) fn make(switch: &Switch, datapath: Datapath) -> Step {
    let name = &switch.name;
    let words = format!(
        "add-br {name} -- set bridge {name} datapath_type={} fail_mode=secure stp_enable={} \
         other_config:mac-aging-time={} other_config:mac-table-size={} external_ids:{}={name}",
        datapath.name(),
        switch.stp.is_on(),
        switch.ageing_ns.div_ceil(1_000_000_000),
        switch.addresses,
        ovs::OWNER,
    );
    let priority = switch.stp.priority().map(|priority| format!(" other_config:stp-priority={}", priority.number()));
    let words = words + &priority.unwrap_or_default();
    Step::new(format!("bridge {name} (Open vSwitch)"))
        .undo(Undo::OvsBridge { bridge: name.clone() })
        .act(ovs::change(&words))
        .expect(Expect::OvsBridge { bridge: name.clone() })
}

/// Puts a port into it.
pub(super) fn join(switch: &Switch, link: &Link) -> Step {
    let (port, bridge) = (Iface::from(link), switch.name.clone());
    Step::of(&port.name, format!("into bridge {bridge}"))
        .undo(Undo::OvsPort { port: port.name.clone(), bridge: bridge.clone() })
        .act(ovs::change(&format!("--may-exist add-port {bridge} {}", port.name)))
        .expect(Expect::OvsPort { port: port.name, bridge })
}

/// Its flows: frames get their class, and go from port to port.
pub(super) fn start(wanted: &ClassifierInput) -> Result<Step, String> {
    let switch = wanted.switch;
    let bridge = switch.name.clone();
    let flows = flows(wanted)?;
    let input: String = flows.iter().map(|flow| format!("{flow}\n")).collect();
    let argv = ["ovs-ofctl", "--timeout=10", "-O", "OpenFlow14", "--bundle", "replace-flows", &bridge, "-"];
    let mut step = Step::new(format!("bridge {bridge}: flows"));
    for (place, port) in switch.ports.iter().enumerate() {
        if switch.forwarding.flood.as_ref().is_some_and(|flood| !flood.contains(&place)) {
            step = step.act(Act::run(format!("ovs-ofctl --timeout=10 mod-port {bridge} {} no-flood", port.name)));
        }
    }
    let expected = flows.iter().map(|flow| (flow.cookie, flow.queue)).collect();
    Ok(step
        .act(Act::Feed { argv: argv.map(str::to_owned).to_vec(), input })
        .expect(Expect::OvsFlows { bridge, flows: expected }))
}

#[cfg(test)]
mod tests {
    use super::super::{AnotherMachine, plan_elsewhere};

    const FILE: &str = r#"
        [switch]
        name = "cell4"
        bridge = "openvswitch"
        forward-reserved = ["lldp"]
        flood = ["a"]
        [[class]]
        name = "red"
        queue = 1
        match = [{ pcp = 6 }]
        [[class]]
        name = "blue"
        queue = 0
        [[port]]
        name = "a"
        [[port]]
        name = "b"
        [[forward]]
        to = "ff:ff:ff:ff:ff:ff"
        vlan = 7
        ports = ["a", "b"]
    "#;

    #[test]
    fn flows_come_last_and_hold_what_the_kernel_s_bridge_cannot() {
        let switch = ontick_tsn::config::read(FILE).unwrap().switch;
        let plan = plan_elsewhere(&AnotherMachine::default(), &switch, 0).unwrap().plan;
        let last = plan.steps.last().unwrap().acts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let expected = [
            "ovs-ofctl --timeout=10 mod-port cell4 b no-flood",
            "ovs-ofctl --timeout=10 -O OpenFlow14 --bundle replace-flows cell4 - <<'END'\n\
             cookie=0xa1000000,table=0,priority=60000,vlan_tci=0xd000/0xf000,actions=set_queue:14,resubmit(,1)\n\
             cookie=0xa1000001,table=0,priority=0,actions=resubmit(,1)\n\
             cookie=0xa1000002,table=1,priority=100,dl_dst=ff:ff:ff:ff:ff:ff,vlan_tci=0x1007/0x1fff,\
             actions=output:\"a\",output:\"b\"\n\
             cookie=0xa1000003,table=1,priority=80,in_port=\"b\",actions=drop\n\
             cookie=0xa1000004,table=1,priority=70,dl_dst=01:80:c2:00:00:0e,actions=flood\n\
             cookie=0xa1000005,table=1,priority=0,actions=normal\nEND",
        ];
        assert_eq!(last, expected);
        let made = plan.steps.iter().position(|step| step.what.contains("(Open vSwitch)")).unwrap();
        let joined = plan.steps.iter().position(|step| step.what == "port a: into bridge cell4").unwrap();
        assert!(made < joined, "{plan:?}");
        let tree = FILE.replace("name = \"cell4\"", "name = \"cell4\"\nstp = true\nbridge-priority = 4096");
        let switch = ontick_tsn::config::read(&tree).unwrap().switch;
        let plan = plan_elsewhere(&AnotherMachine::default(), &switch, 0).unwrap().plan;
        let commands = plan.steps.iter().flat_map(|step| &step.acts).map(ToString::to_string).collect::<Vec<_>>();
        let with = |words: &str| commands.iter().any(|c| c.contains("add-br") && c.contains(words));
        assert!(with(" stp_enable=true ") && with(" other_config:stp-priority=4096"), "{commands:?}");
        for (word, why) in [("classifier = \"nft\"", "netfilter"), ("plane = \"user\"", "kernel's data plane")] {
            let text = FILE.replace("name = \"cell4\"", &format!("name = \"cell4\"\n{word}"));
            let errors = ontick_tsn::config::read(&text).unwrap_err().to_string();
            assert!(errors.contains(why), "{errors}");
        }
    }
}
