use super::*;
use crate::link::list;
use crate::user::loop_probe::{Findings, LISTEN, probe};
use crate::user::open::OpenError;
use crate::user::testbed::{in_namespace, ip, until};

/// Ports `port0` and `port1`, each with something at the other end of its cable.
fn two_ports() {
    for n in 0..2 {
        ip(&format!("link add port{n} type veth peer name far{n}"));
        ip(&format!("link set port{n} up"));
        ip(&format!("link set far{n} up"));
    }
}

const PORTS: [&str; 2] = ["port0", "port1"];

fn pair(port: &str, other: &str, by: Joined) -> Loop {
    Loop { port: port.into(), other: other.into(), by }
}

#[test]
fn ports_that_are_apart() {
    in_namespace(|| {
        two_ports();
        assert_eq!(known(&list().unwrap(), &PORTS, None), []);
        assert_eq!(probe(&PORTS, LISTEN).unwrap(), Findings::default());
    });
}

#[test]
fn the_two_ends_of_one_cable() {
    in_namespace(|| {
        two_ports();
        let expected = pair("port1", "far1", Joined::Pair);
        assert_eq!(known(&list().unwrap(), &["port0", "port1", "far1"], None), [expected]);
        let found = probe(&["port0", "port1", "far1"], LISTEN).unwrap();
        assert_eq!(found, Findings { loops: vec![pair("port1", "far1", Joined::Outside)], unknown: vec![] });
    });
}

#[test]
fn a_bridge_behind_both() {
    in_namespace(|| {
        two_ports();
        ip("link add outside type bridge");
        ip("link set outside up");
        for far in ["far0", "far1"] {
            ip(&format!("link set {far} master outside"));
        }
        let behind = Joined::BridgeBehind("outside".into());
        assert_eq!(known(&list().unwrap(), &PORTS, Some("br0")), [pair("port0", "port1", behind)]);
        // The bridge lets frames pass a moment after it was made.
        until("the loop is found", || {
            let found = probe(&PORTS, LISTEN).unwrap();
            assert_eq!(found.unknown, [""; 0]);
            match &found.loops[..] {
                [] => false,
                [only] => only.by == Joined::Outside && PORTS.contains(&only.port.as_str()),
                more => panic!("one loop is reported more than once: {more:?}"),
            }
        });
    });
}

#[test]
fn a_bridge_that_has_both_already() {
    in_namespace(|| {
        two_ports();
        ip("link add br0 type bridge");
        for port in PORTS {
            ip(&format!("link set {port} master br0"));
        }
        let bridge = Joined::Bridge("br0".into());
        assert_eq!(known(&list().unwrap(), &PORTS, None), [pair("port0", "port1", bridge)]);
        assert_eq!(known(&list().unwrap(), &PORTS, Some("br0")), []);
    });
}

#[test]
fn ports_that_are_down_or_missing() {
    in_namespace(|| {
        two_ports();
        ip("link set port1 down");
        assert_eq!(probe(&PORTS, LISTEN).unwrap(), Findings { loops: vec![], unknown: vec!["port1".into()] });
        assert_eq!(known(&list().unwrap(), &["port0", "nothing"], None), []);
        assert!(matches!(probe(&["port0", "nothing"], LISTEN), Err(OpenError::NoInterface(_))));
    });
}

#[test]
fn what_is_said_of_a_loop() {
    let said = pair("p1", "p2", Joined::Outside).to_string();
    assert!(said.contains("p1") && said.contains("p2") && said.contains("loop"), "{said}");
}
