//! Rapid spanning tree, as it is planned.

use super::paper::{PAPER, Paper, article, commands};
use super::plan;
use crate::apply::Expect;
use ontick_tsn::model::{BridgePriority, SpanningTree, Switch};

#[test]
fn rapid_spanning_tree_is_asked_for_before_there_are_ports() {
    let rapid = Switch { stp: SpanningTree::Rstp(BridgePriority::default()), ..article() };
    let planned = plan(&PAPER, &rapid, 0).unwrap();
    let said = commands(&planned);
    let at = |words: &str| said.iter().position(|c| c.contains(words)).unwrap_or_else(|| panic!("{words}: {said:?}"));
    assert!(at("add name br0") < at("dev br0 type bridge stp_state 1") && at("stp_state 1") < at("dev a master br0"));
    assert!(said[at("add name br0")].contains("type bridge stp_state 0 "), "{said:?}");
    let expected = |expect: &Expect| matches!(expect, Expect::Rapid { bridge } if bridge == "br0");
    assert!(planned.steps.iter().flat_map(|step| &step.expects).any(expected));
    let why = plan(&Paper { lacks: &["bridge-stp"], ..PAPER }, &rapid, 0).unwrap_err().to_string();
    assert!(why.starts_with("stp = \"rstp\" needs the daemon mstpd with its program /sbin/bridge-stp"), "{why}");
    // The kernel's own protocol needs nobody.
    let own = Switch { stp: SpanningTree::Stp(BridgePriority::default()), ..article() };
    let said = commands(&plan(&Paper { lacks: &["bridge-stp"], ..PAPER }, &own, 0).unwrap());
    assert!(said.iter().any(|command| command.contains("type bridge stp_state 1 ageing_time")), "{said:?}");
}

#[test]
fn a_bridge_has_its_priority_from_the_file() {
    let lowest = BridgePriority::new(4_096).unwrap();
    for (stp, words) in [
        (SpanningTree::Stp(lowest), "mcast_snooping 0 priority 4096"),
        (SpanningTree::Stp(BridgePriority::default()), "mcast_snooping 0 priority 32768"),
        (SpanningTree::Rstp(lowest), "mstpctl settreeprio br0 0 1"),
    ] {
        let said = commands(&plan(&PAPER, &Switch { stp, ..article() }, 0).unwrap());
        assert!(said.iter().any(|command| command.contains(words)), "{words}: {said:?}");
    }
    let without = commands(&plan(&PAPER, &article(), 0).unwrap());
    assert!(
        without.iter().any(|command| command.ends_with("type bridge stp_state 0 ageing_time 30000 mcast_snooping 0"))
    );
}
