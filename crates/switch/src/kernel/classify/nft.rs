//! nftables' bridge family, which needs no `br_netfilter`: sees frames that leave the bridge.

use super::{ClassifierInput, mac};
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
    let common = format!("{}{}", tag(rule), addresses(rule));
    // Behind the tag, if there is one.
    let ether_type = rule.ether_type.map(|ether_type| format!(" meta protocol {ether_type:#06x}")).unwrap_or_default();
    let transport = || rule.protocols().into_iter().map(|protocol| transport(rule, protocol));
    if rule.dscp.is_none() && rule.to_ip.is_none() {
        return match rule.is_of_ip() && rule.versions().is_empty() {
            true => Vec::new(),
            false => transport().map(|transport| format!("{common}{ether_type}{transport}")).collect(),
        };
    }
    let mut all = Vec::new();
    for version in rule.versions() {
        let header = if version == 4 { "ip" } else { "ip6" };
        let dscp = rule.dscp.map(|dscp| format!(" {header} dscp {dscp:#04x}")).unwrap_or_default();
        let to_ip = rule.to_ip.map(|(address, length)| format!(" ip daddr {address}/{length}")).unwrap_or_default();
        all.extend(transport().map(|transport| format!("{common} meta protocol {header}{dscp}{to_ip}{transport}")));
    }
    all
}

fn tag(rule: &Rule) -> String {
    let vlan = rule.vlan.map(|vlan| format!(" vlan id {vlan}"));
    let pcp = rule.pcp.map(|pcp| format!(" vlan pcp {pcp}"));
    let socket = rule.socket_priority.map(|priority| format!(" meta priority 0:{priority:x}"));
    [socket, vlan, pcp].into_iter().flatten().collect()
}

fn addresses(rule: &Rule) -> String {
    let one = |key: &str, address: Option<Address>| {
        address.map(|Address { bytes, mask }| {
            let masked: [u8; 6] = std::array::from_fn(|i| bytes[i] & mask[i]);
            format!(" ether {key} & {} == {}", mac(&mask), mac(&masked))
        })
    };
    [one("daddr", rule.to), one("saddr", rule.from)].into_iter().flatten().collect()
}

fn transport(rule: &Rule, protocol: Option<u8>) -> String {
    let parts = [
        protocol.map(|protocol| format!(" meta l4proto {protocol}")),
        rule.to_port.map(|port| format!(" th dport {port}")),
        rule.from_port.map(|port| format!(" th sport {port}")),
    ];
    parts.into_iter().flatten().collect()
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
