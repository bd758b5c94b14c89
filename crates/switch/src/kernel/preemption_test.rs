//! Frame preemption, as it is planned.

use super::paper::{PAPER, Paper, article, commands, gates};
use super::plan;
use crate::apply::Undo;
use crate::ethtool::mac_merge;
use ontick_tsn::model::{Gates, Guard, Offload, Preemption, Switch};

/// What a port that preempts frames shows before anybody has asked for that.
const MERGE: mac_merge::State = mac_merge::State {
    settings: mac_merge::Settings {
        pmac_enabled: true,
        tx_enabled: false,
        verify_enabled: false,
        verify_time_ms: 20,
        tx_min_frag_size: 124,
    },
    tx_active: false,
    verify_status: mac_merge::VerifyStatus::Disabled,
    max_verify_time_ms: 50,
    rx_min_frag_size: 60,
};

const PREEMPTS: Paper = Paper { merge: Some(MERGE), tc: "[fp FP0 FP1 FP2 ...]", ..PAPER };

/// Blue frames at port b are interrupted for red ones.
fn preempting(gates: Option<Gates>) -> Switch {
    let mut switch = article();
    let port = &mut switch.ports[1];
    (port.gates, port.offload) = (gates, Offload::Full);
    port.preemption =
        Some(Preemption { preemptible: vec![0], verify: true, verify_time_ms: 10, min_fragment_size: 60 });
    switch
}

#[test]
fn preemption_is_set_at_the_port_and_at_its_classes() {
    let gated = preempting(Some(gates(&[(1, 800_000), (2, 200_000)], Guard::None)));
    for (switch, fp) in [(&gated, "queues 1@0 1@1 base-time"), (&preempting(None), "queues 1@0 1@1 fp P E hw 1")] {
        let planned = plan(&PREEMPTS, switch, 0).unwrap();
        let said = commands(&planned);
        let at =
            |words: &str| said.iter().position(|c| c.contains(words)).unwrap_or_else(|| panic!("{words}: {said:?}"));
        // The port first: a class is preempted only where the port can.
        let set =
            "ethtool --set-mm b pmac-enabled on tx-enabled on tx-min-frag-size 60 verify-enabled on verify-time 10";
        assert!(at(set) < at(fp), "{said:?}");
        assert!(said[at(fp)].contains(" fp P E "), "{said:?}");
        let undos = planned.steps.iter().flat_map(|step| &step.undos);
        let was: Vec<_> = undos.filter(|undo| matches!(undo, Undo::MacMerge { .. })).map(Undo::what).collect();
        let before = "b: pmac-enabled on tx-enabled off tx-min-frag-size 124 verify-enabled off verify-time 20";
        assert_eq!(was, [before]);
    }
    // Where nobody asks the other end, how long it would be waited for stays as it was.
    let mut silent = preempting(None);
    silent.ports[1].preemption.as_mut().unwrap().verify = false;
    let said = commands(&plan(&PREEMPTS, &silent, 0).unwrap());
    assert!(said.iter().any(|command| command.ends_with("verify-enabled off verify-time 20")), "{said:?}");
    // Ports where the lowest queue goes first have their classes the other way round.
    let old = Paper { driver: Some("igc"), ..PREEMPTS };
    let said = commands(&plan(&old, &gated, 0).unwrap());
    assert!(said.iter().any(|command| command.contains(" fp E P ")), "{said:?}");
}

#[test]
fn a_port_that_cannot_preempt_frames_is_refused() {
    let refused = |host: &Paper, switch: &Switch| plan(host, switch, 0).unwrap_err().reasons.join("; ");
    let switch = preempting(None);
    let none = "port b: frame preemption takes a MAC Merge sublayer (IEEE 802.3 clause 99), and the port has none: leave \
                [port.preemption] out there";
    assert_eq!(refused(&Paper { merge: None, ..PREEMPTS }, &switch), none);
    let old = refused(&Paper { release: "6.1.0", ..PREEMPTS }, &switch);
    assert!(old.contains("Linux 6.1 knows no preemptible classes (Linux 6.4 does)"), "{old}");
    let tc = refused(&Paper { tc: "Usage: ... taprio clockid CLOCKID", ..PREEMPTS }, &switch);
    assert!(tc.contains("this tc(8) knows no preemptible classes (iproute2 6.4 does)"), "{tc}");
    let lacks = refused(&Paper { lacks: &["mqprio"], ..PREEMPTS }, &switch);
    assert!(lacks.starts_with("this machine cannot do mqprio (CONFIG_NET_SCH_MQPRIO)"), "{lacks}");
    let queues = refused(&Paper { queues: 1, ..PREEMPTS }, &switch);
    assert!(queues.starts_with("port b has one transmit queue, and mqprio needs one for each class"), "{queues}");
    let mut patient = switch.clone();
    patient.ports[1].preemption.as_mut().unwrap().verify_time_ms = 51;
    let time = refused(&PREEMPTS, &patient);
    assert_eq!(time, "port b: verify-time is 51 ms, and the port waits 50 ms at most: lower it");
    let mut shaped = switch;
    shaped.ports[1].idle_slopes = vec![None, Some(1_000_000)];
    let shaped = refused(&PREEMPTS, &shaped);
    assert!(shaped.starts_with("port b: mqprio does not count what frames occupy on the wire"), "{shaped}");
}
