//! Shaped classes, as they are planned.

use super::paper::{PAPER, Paper, article, gates};
use super::{plan, regate};
use crate::apply::Act;
use ontick_tsn::model::{Gates, Guard, Switch};

#[test]
fn a_shaped_class_whose_gate_closes_is_refused() {
    let mut switch = article();
    switch.ports[1].idle_slopes = vec![None, Some(1_000_000)];
    let refused = plan(&PAPER, &switch, 0).unwrap_err();
    let why = "port b: `red` has an idle slope and a gate that closes, and the kernel's cbs goes on counting while a gate is \
               closed: leave its gate open, or use the user data plane";
    assert_eq!(refused.reasons, [why]);
    // As are other gates for a switch that is applied.
    let before = with_gates(Some(gates(&[(3, 800_000), (2, 200_000)], Guard::None)));
    let standing = plan(&PAPER, &before, 0).unwrap();
    let refused = regate(&PAPER, (&standing, &[]), &before, &switch, 0).unwrap_err();
    assert_eq!(refused.reasons, [why]);
}

fn with_gates(gates: Option<Gates>) -> Switch {
    let mut switch = article();
    switch.ports[1].idle_slopes = vec![None, Some(1_000_000)];
    switch.ports[1].gates = gates;
    switch
}

/// Commands at port b that attach queueing disciplines.
fn attached(switch: &Switch) -> Vec<String> {
    let plan = plan(&PAPER, switch, 0).unwrap();
    let acts = plan.steps.iter().flat_map(|step| &step.acts).map(|act| act.to_string());
    acts.filter_map(|act| Some(act.strip_prefix("tc qdisc replace dev b ")?.to_owned())).collect()
}

#[test]
fn a_shaped_class_has_cbs_between_prio_and_its_queue() {
    // 12 of 12336 bits and the 100 bits of 100 us; 12336 bits x 999 / 1000; as octets away from zero.
    let cbs = "cbs idleslope 1000 sendslope -999000 hicredit 14 locredit -1541 offload 0";
    let zeros = " 0".repeat(15);
    assert_eq!(
        attached(&with_gates(None)),
        [
            format!("stab overhead 24 parent root handle a100: prio bands 2 priomap 1{} 0", " 1".repeat(14)),
            "parent a100:2 handle a102: pfifo limit 100".into(),
            format!("parent a100:1 handle a101: {cbs}"),
            "parent a101:1 handle a201: pfifo limit 100".into(),
        ]
    );
    // taprio has one more above it.
    let gated = attached(&with_gates(Some(gates(&[(3, 800_000), (2, 200_000)], Guard::None))));
    assert_eq!(
        gated[1..5],
        [
            "parent a100:1 handle a101: pfifo limit 100".to_owned(),
            format!("parent a100:2 handle a102: prio bands 2 priomap 0{zeros}"),
            format!("parent a102:1 handle a202: {cbs}"),
            "parent a202:1 handle a302: pfifo limit 100".into(),
        ]
    );
}

#[test]
fn a_shaper_that_the_kernel_cannot_have_is_refused() {
    let refused = |host: &Paper, switch: &Switch| plan(host, switch, 0).unwrap_err().reasons.join("; ");
    let without = refused(&Paper { lacks: &["root cbs"], ..PAPER }, &with_gates(None));
    assert!(without.starts_with("this machine cannot do cbs (CONFIG_NET_SCH_CBS)"), "{without}");
    let mut slow = with_gates(None);
    slow.ports[1].idle_slopes = vec![None, Some(999)];
    assert!(refused(&PAPER, &slow).contains("`red` has an idle slope of 999bit"), "{}", refused(&PAPER, &slow));
    slow.ports[1].idle_slopes = vec![None, Some(2_000_000_000)];
    assert!(refused(&PAPER, &slow).contains("port b: the idle slopes sum up to 2Gbit"), "{}", refused(&PAPER, &slow));
}

#[test]
fn a_shaper_that_stands_takes_another_slope() {
    let words = |acts: &[Act]| acts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let changed = |before: &Switch, slope: u64| {
        let mut after = before.clone();
        after.ports[1].idle_slopes = vec![None, Some(slope)];
        let standing = plan(&PAPER, before, 0).unwrap();
        let changed = regate(&PAPER, (&standing, &[]), before, &after, 0).unwrap().unwrap();
        assert_eq!(changed.plan, plan(&PAPER, &after, 0).unwrap());
        assert_eq!(changed.gates_on, 0);
        changed
    };
    let fast = "cbs idleslope 2000 sendslope -998000 hicredit 28 locredit -1539 offload 0";
    let slow = "cbs idleslope 1000 sendslope -999000 hicredit 14 locredit -1541 offload 0";
    let plain = changed(&with_gates(None), 2_000_000);
    assert_eq!(words(&plain.acts), [format!("tc qdisc replace dev b parent a100:1 handle a101: {fast}")]);
    assert_eq!(words(&plain.back), [format!("tc qdisc replace dev b parent a100:1 handle a101: {slow}")]);
    // Below taprio, whose gates stay.
    let gated = changed(&with_gates(Some(gates(&[(3, 800_000), (2, 200_000)], Guard::None))), 2_000_000);
    assert_eq!(words(&gated.acts), [format!("tc qdisc replace dev b parent a102:1 handle a202: {fast}")]);
    assert!(changed(&with_gates(None), 1_000_000).is_empty());

    // Which classes are shaped is another plan.
    let before = with_gates(None);
    let mut after = before.clone();
    after.ports[1].idle_slopes = vec![Some(1_000_000), Some(1_000_000)];
    let standing = plan(&PAPER, &before, 0).unwrap();
    assert_eq!(regate(&PAPER, (&standing, &[]), &before, &after, 0).unwrap(), None);
    after.ports[1].idle_slopes = Vec::new();
    assert_eq!(regate(&PAPER, (&standing, &[]), &before, &after, 0).unwrap(), None);
    // A slope that the kernel cannot have.
    after.ports[1].idle_slopes = vec![None, Some(999)];
    let refused = regate(&PAPER, (&standing, &[]), &before, &after, 0).unwrap_err().reasons.join("; ");
    assert!(refused.contains("`red` has an idle slope of 999bit"), "{refused}");
}

/// It would stand as changed, and be set when the port is back: half of a change.
#[test]
fn a_port_that_is_gone_keeps_its_gates_and_its_shapers() {
    let before = with_gates(Some(gates(&[(3, 800_000), (2, 200_000)], Guard::None)));
    let standing = plan(&PAPER, &before, 0).unwrap();
    let changed = |gone, after: &Switch| regate(&Paper { gone, ..PAPER }, (&standing, &[]), &before, after, 0);
    let mut sloped = before.clone();
    sloped.ports[1].idle_slopes = vec![None, Some(2_000_000)];
    let gated = with_gates(Some(gates(&[(3, 700_000), (2, 300_000)], Guard::None)));
    for after in [sloped, gated] {
        let refused = changed("b", &after).unwrap_err().reasons;
        assert_eq!(refused, ["port b is gone: what changes there can be set when it is back"]);
        // Nothing of the other one changes.
        assert!(!changed("a", &after).unwrap().unwrap().is_empty());
    }
    assert!(changed("b", &before).unwrap().unwrap().is_empty());
}
