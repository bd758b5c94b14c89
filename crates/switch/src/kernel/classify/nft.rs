//! nftables' bridge family, which needs no `br_netfilter`: sees frames that leave the bridge.

use super::{ClassifierInput, mac, words};
use crate::apply::{Act, Expect, Host, Step, Undo};
use ontick_tsn::model::{Address, Rule};

const FAMILY: &str = "bridge";

pub(super) fn steps(host: &impl Host, wanted: &ClassifierInput) -> Result<Vec<Step>, String> {
    if !wanted.switch.is_bridge() {
        return Err("nftables' bridge family sees no frames of a station: use flower or iptables".into());
    }
    let table = format!("ontick_{}", wanted.switch.name.replace('-', "_"));
    let tables = host.query(&["nft", "list", "tables"]).unwrap_or_default();
    if tables.lines().any(|line| line == format!("table {FAMILY} {table}")) {
        return Err(format!(
            "there is an nft table {FAMILY} {table} already: delete it (nft delete table {FAMILY} {table})"
        ));
    }
    let ports: Vec<String> = wanted.ports.iter().map(|port| format!("\"{}\"", port.name)).collect();
    let mut lines = Vec::new();
    let mut priorities = Vec::new();
    for (rule, priority, class) in wanted.rules() {
        for matches in matches(rule) {
            lines.push(format!(
                "    oifname {{ {} }}{matches} meta priority set 0:{priority:x} accept comment \"class {class}\"",
                ports.join(", ")
            ));
            priorities.push(priority);
        }
    }
    let text = format!(
        "table {FAMILY} {table} {{\n  chain classes {{\n    type filter hook postrouting priority 0; policy accept;\n{}\n  }}\n}}\n",
        lines.join("\n")
    );
    let argv = ["nft", "-f", "-"].map(str::to_owned).to_vec();
    let step = Step::new("frames get their class (nft, bridge family)")
        .act(Act::Feed { argv, input: text })
        .undo(Undo::NftTable { family: FAMILY.into(), table: table.clone() })
        .expect(Expect::NftTable { family: FAMILY.into(), table, priorities });
    Ok(vec![step])
}

/// What a rule looks at; with both versions of IP where they are looked into differently.
fn matches(rule: &Rule) -> Vec<String> {
    // All parts are named: a new one has its words here.
    let Rule { pcp, vlan, ether_type, to, from, dscp, ip_protocol: _, to_port, from_port, to_ip, socket_priority } =
        rule;
    let common = words([
        socket_priority.map(|priority| format!(" meta priority 0:{priority:x}")),
        vlan.map(|vlan| format!(" vlan id {vlan}")),
        pcp.map(|pcp| format!(" vlan pcp {pcp}")),
        address("daddr", *to),
        address("saddr", *from),
    ]);
    let ports =
        words([to_port.map(|port| format!(" th dport {port}")), from_port.map(|port| format!(" th sport {port}"))]);
    let transport = || {
        let protocol = |protocol: Option<u8>| protocol.map(|protocol| format!(" meta l4proto {protocol}"));
        rule.protocols().into_iter().map(move |one| protocol(one).unwrap_or_default()).map(|one| one + &ports)
    };
    if dscp.is_none() && to_ip.is_none() {
        // Behind the tag, if there is one.
        let ether_type = words([ether_type.map(|ether_type| format!(" meta protocol {ether_type:#06x}"))]);
        return match rule.is_of_ip() && rule.versions().is_empty() {
            true => Vec::new(),
            false => transport().map(|transport| format!("{common}{ether_type}{transport}")).collect(),
        };
    }
    let mut all = Vec::new();
    for version in rule.versions() {
        let header = if version == 4 { "ip" } else { "ip6" };
        let packet = words([
            dscp.map(|dscp| format!(" {header} dscp {dscp:#04x}")),
            to_ip.map(|(address, length)| format!(" ip daddr {address}/{length}")),
        ]);
        all.extend(transport().map(|transport| format!("{common} meta protocol {header}{packet}{transport}")));
    }
    all
}

fn address(key: &str, address: Option<Address>) -> Option<String> {
    address.map(|Address { bytes, mask }| {
        let masked: [u8; 6] = std::array::from_fn(|i| bytes[i] & mask[i]);
        format!(" ether {key} & {} == {}", mac(&mask), mac(&masked))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rule_serves_tagged_and_untagged() {
        let rule = Rule { ip_protocol: Some(17), to_port: Some(7777), ..Rule::default() };
        assert_eq!(matches(&rule), [" meta l4proto 17 th dport 7777"]);
        assert_eq!(matches(&Rule { ether_type: Some(0x0806), ..rule.clone() }), [""; 0]);
        let rule = Rule { dscp: Some(46), pcp: Some(5), ..rule };
        let expected = [
            " vlan pcp 5 meta protocol ip ip dscp 0x2e meta l4proto 17 th dport 7777",
            " vlan pcp 5 meta protocol ip6 ip6 dscp 0x2e meta l4proto 17 th dport 7777",
        ];
        assert_eq!(matches(&rule), expected);
    }
}
