//! Machines on paper.

use ontick_record::findings::any_bad;

use super::*;
use crate::ethtool::mac_merge::{Settings, State, VerifyStatus};
use crate::ports::{Driver, Options, Parts, Stamps};
use ontick_tsn::config;
use ontick_tsn::egress::{DataPlane, EgressTiming};

fn parts(option: Options) -> Parts {
    Parts::probe("/no/such/root".as_ref(), "6.12", option)
}

/// A kernel with everything.
fn everything(_: &str) -> Option<String> {
    Some("y".into())
}

fn machine(option: Options) -> Machine {
    Machine {
        kernel: "6.12".into(),
        parts: parts(option),
        tools: crate::ports::Tools::of(&["ip", "tc", "nft", "iptables"]),
        tai_offset_s: 37,
        ptp: crate::ports::Ptp::default(),
        bridge_calls_iptables: None,
        open_vswitch: None,
        may_change_network: true,
        cpus: vec![0, 1],
    }
}

fn port(name: &str) -> Interface {
    Interface {
        name: name.into(),
        ethernet: true,
        driver: Some(Driver { name: "igc".into(), bus: "0000:02:00.0".into() }),
        up: true,
        carrier: true,
        rate: Some(1_000_000_000),
        mtu: 1500,
        transmit_queues: 4,
        stamps: Stamps { hardware_send: true, hardware_receive: true, software_send: true, clock: Some(0) },
        ..Interface::default()
    }
}

const FILE: &str = "[switch]\nname = \"cell4\"\n[[class]]\nname = \"red\"\nqueue = 1\nmatch = [{ pcp = 6 }]\n\
    [[class]]\nname = \"blue\"\nqueue = 0\n[[port]]\nname = \"eth1\"\n[[port]]\nname = \"eth2\"\nrate = \"1Gbit\"\n\
    [port.gates]\nentries = [ { open = [\"blue\"], for = \"800us\" }, { open = [\"red\"], for = \"200us\" } ]\n";

fn switch(change: impl Fn(&str) -> String) -> Switch {
    config::read(&change(FILE)).unwrap_or_else(|errors| panic!("{errors}")).switch
}

fn same(text: &str) -> String {
    text.into()
}

/// With nothing that joins the ports.
fn check(machine: Machine, interfaces: &[Interface], switch: Option<&Switch>) -> Check {
    super::check(machine, interfaces, &[], switch, None)
}

fn bad(check: &Check) -> Vec<String> {
    let bad = check.findings.iter().filter(|finding| finding.severity == Severity::Bad);
    bad.map(|finding| format!("{}: {}", finding.id, finding.observed)).collect()
}

#[test]
fn a_machine_that_has_everything() {
    let check = check(machine(Some(&everything)), &[port("eth1"), port("eth2")], Some(&switch(same)));
    assert_eq!(bad(&check), [""; 0]);
    assert_eq!(check.plane.unwrap().plane, Some("kernel"));
    assert!(check.ports.iter().all(|port| port.planes.kernel.fits && port.planes.user.fits && port.planes.full.fits));
    // Worst first.
    assert!(check.findings.is_sorted_by_key(|finding| finding.severity));
}

#[test]
fn one_queue_and_no_taprio_leave_the_user_s_plane() {
    let single = Interface { transmit_queues: 1, ..port("eth2") };
    let checked = check(machine(Some(&everything)), &[port("eth1"), single], Some(&switch(same)));
    let plane = checked.plane.clone().unwrap();
    assert_eq!((plane.plane, bad(&checked).len()), (Some("user"), 0));
    assert!(plane.why.contains("one transmit queue"), "{}", plane.why);
    let bare = |name: &str| ["PACKET", "BRIDGE"].contains(&name).then(|| "y".to_owned());
    let without = check(machine(Some(&bare)), &[port("eth1"), port("eth2")], Some(&switch(same)));
    let plane = without.plane.unwrap();
    assert!(plane.plane == Some("user") && plane.why.contains("eth2: the kernel lacks taprio"), "{}", plane.why);
    let kernel = switch(|text| text.replace("name = \"cell4\"", "name = \"cell4\"\nplane = \"kernel\""));
    let none = check(machine(Some(&bare)), &[port("eth1"), port("eth2")], Some(&kernel));
    assert_eq!(none.plane.as_ref().unwrap().plane, None);
    assert!(any_bad(&none.findings));
}

#[test]
fn bridged_frames_concern_the_kernel_s_plane_alone() {
    let machine = || Machine { bridge_calls_iptables: Some(true), ..machine(Some(&everything)) };
    let warned = |file: Option<&Switch>| {
        let check = check(machine(), &[port("eth1"), port("eth2")], file);
        check.findings.iter().any(|finding| finding.id == "br_netfilter")
    };
    let user = switch(|text| text.replace("\"cell4\"", "\"cell4\"\nplane = \"user\""));
    assert_eq!((warned(Some(&switch(same))), warned(None), warned(Some(&user))), (true, true, false));
}

#[test]
fn what_the_file_asks_for_and_cannot_have_is_bad() {
    let ports = |change: fn(&mut Interface)| {
        let mut two = port("eth2");
        change(&mut two);
        [port("eth1"), two]
    };
    type Change = fn(&mut Interface);
    type Edit = fn(&str) -> String;
    let cases: [(Change, Edit, &str); 8] = [
        (|port| port.name = "eth3".into(), same, "eth2 interface: there is no interface eth2; did you mean `eth1`?"),
        (|port| port.kind = Some("bridge".into()), same, "eth2 kind: a bridge is no port"),
        (|port| port.wireless = true, same, "eth2 kind: an access point"),
        (|port| port.master = Some("br0".into()), same, "eth2 master: it belongs to br0"),
        (|port| port.rate = Some(100_000_000), same, "eth2 rate: the link has 100Mbit"),
        (
            |port| port.mtu = 200,
            |text| text.replace("1Gbit\"", "1Gbit\"\nmax-sdu = { red = 300 }"),
            "eth2 mtu: frames carry 200",
        ),
        (
            |port| port.stamps.clock = None,
            |text| text.replace("1Gbit\"", "1Gbit\"\noffload = \"full\""),
            "eth2 offload: the port has no PTP",
        ),
        (|_| (), |text| text.replace("\"cell4\"", "\"cell4\"\ncpu = 7"), "cpu: CPU 7 is not online"),
    ];
    for (change, file, said) in cases {
        let check = check(machine(Some(&everything)), &ports(change), Some(&switch(file)));
        assert!(bad(&check).iter().any(|bad| bad.starts_with(said)), "{said}: {:?}", bad(&check));
    }
    let own = check(machine(Some(&everything)), &ports(|port| port.master = Some("cell4".into())), Some(&switch(same)));
    assert_eq!(bad(&own), [""; 0]);
}

#[test]
fn a_base_time_in_tai_needs_tai() {
    let absolute = |text: &str| text.replace("[port.gates]", "[port.gates]\nbase-time = 1700000000000000000");
    let utc = Machine { tai_offset_s: 0, ..machine(Some(&everything)) };
    let checked = check(utc.clone(), &[port("eth1"), port("eth2")], Some(&switch(absolute)));
    assert_eq!(bad(&checked), ["tai-offset: 0: CLOCK_TAI shows UTC"]);
    let own = |text: &str| text.replace("name = \"cell4\"", "name = \"cell4\"\nclock = \"monotonic\"");
    assert_eq!(bad(&check(utc, &[port("eth1"), port("eth2")], Some(&switch(own)))), [""; 0]);
}

#[test]
fn without_a_file_every_socket_is_looked_at() {
    let veth = Interface { kind: Some("veth".into()), ..port("veth0") };
    let bridge = Interface { kind: Some("bridge".into()), ..port("br0") };
    let names = |check: &Check| check.ports.iter().map(|port| port.interface.name.clone()).collect::<Vec<_>>();
    let all = check(machine(None), &[port("eth1"), veth.clone(), bridge.clone()], None);
    assert_eq!((names(&all), all.plane.clone()), (vec!["eth1".to_owned()], None));
    // A container has nothing but pairs.
    assert_eq!(names(&check(machine(None), &[veth, bridge], None)), ["veth0"]);
    assert_eq!(bad(&check(machine(None), &[], None)), ["ports: there is no Ethernet port"]);
}

#[test]
fn ports_that_are_joined_already_would_make_a_loop() {
    let end = |index: u32, name: &str, other: u32| Link {
        index,
        name: name.into(),
        kind: Some("veth".into()),
        other: Some(other),
        ..Link::default()
    };
    let links = [end(3, "eth1", 4), end(4, "eth2", 3)];
    let interfaces = [port("eth1"), port("eth2")];
    let looped = super::check(machine(Some(&everything)), &interfaces, &links, Some(&switch(same)), None);
    assert!(bad(&looped)[0].starts_with("loop: eth1 and eth2 are the two ends of one veth pair"), "{:?}", bad(&looped));
    // The protocol cuts it, and only the kernel's bridge speaks that.
    let stp = |text: &str| text.replace("name = \"cell4\"", "name = \"cell4\"\nstp = true");
    let cut = super::check(machine(Some(&everything)), &interfaces, &links, Some(&switch(stp)), None);
    assert_eq!((bad(&cut), cut.ports[0].planes.user.fits), (vec![], false));
    let station = |text: &str| text.replace("name = \"cell4\"", "name = \"cell4\"\nrole = \"station\"");
    assert_eq!(
        bad(&super::check(machine(Some(&everything)), &interfaces, &links, Some(&switch(station)), None)),
        [""; 0]
    );
}

/// Red's frames of 1518 octets take 12.336 us, blue has the rest of the cycle.
fn with_window(plane: &str, window: &str) -> Switch {
    switch(|file| {
        let file = file.replace("name = \"cell4\"", &format!("name = \"cell4\"\nplane = \"{plane}\""));
        file.replace("[\"red\"], for = \"200us\"", &format!("[\"red\"], for = \"{window}\""))
    })
}

#[test]
fn a_window_that_carries_no_frame_of_its_class_is_an_error_on_the_plane_chosen() {
    let found = |plane: &str, window: &str, measured: Option<&Calibration>| {
        let ports = [port("eth1"), port("eth2")];
        let checked =
            super::check(machine(Some(&everything)), &ports, &[], Some(&with_window(plane, window)), measured);
        let of_windows = |finding: &Finding| finding.id == "eth2 window of red";
        checked.findings.into_iter().find(of_windows).map(|finding| (finding.severity, finding.should))
    };
    let (severity, should) = found("user", "13us", None).unwrap();
    assert_eq!(severity, Severity::Bad);
    assert_eq!(
        should,
        "15.836us: 12.336us for a frame with 1500 octets of data, and 3.5us for the user data plane (assumed)"
    );
    assert_eq!(found("user", "14us", None).unwrap().0, Severity::Warn, "some are late");
    assert_eq!(found("user", "16us", None), None);
    // Which plane it is decides, also where the machine chooses.
    assert_eq!(found("kernel", "16us", None).unwrap().0, Severity::Bad);
    assert_eq!(found("auto", "16us", None).unwrap().0, Severity::Bad, "the kernel's is taken");
    assert_eq!(found("kernel", "68us", None), None);
    // What was measured counts, on its own plane.
    let timing = EgressTiming { hand_over_ns: 2_000, ..EgressTiming::IDEAL };
    let slow = Calibration { ontick_calibration: 1, plane: DataPlane::User, about: String::new(), timing };
    assert_eq!(found("user", "14us", Some(&slow)).unwrap().0, Severity::Bad);
    assert_eq!(found("kernel", "68us", Some(&slow)), None);
}

#[test]
fn shaped_classes_take_cbs_or_the_user_plane_and_have_their_bounds_printed() {
    let shaped = |text: &str| text.replace("name = \"eth1\"", "name = \"eth1\"\nidle-slope = { red = \"20Mbit\" }");
    let switch = switch(shaped);
    let interfaces = [port("eth1"), port("eth2")];
    let found = check(machine(Some(&everything)), &interfaces, Some(&switch));
    assert_eq!(found.plane.clone().unwrap().plane, Some("kernel"));
    let no_cbs = |option: &str| everything(option).filter(|_| option != "NET_SCH_CBS");
    let without = check(machine(Some(&no_cbs)), &interfaces, Some(&switch)).plane.unwrap();
    assert_eq!(without.plane, Some("user"));
    assert!(without.why.starts_with("the kernel's does not fit: eth1: "), "{}", without.why);
    assert!(without.why.contains("cbs") && !without.why.contains("prio"), "{}", without.why);
    let printed = found.findings.iter().find(|finding| finding.id == "eth1 shaper of red").unwrap();
    assert_eq!(printed.observed, "idle slope 20Mbit, send slope -980Mbit, hiCredit 246 bits, loCredit -12090 bits");
    // The file does not say the rate, and the link is slower.
    let slow = [Interface { rate: Some(10_000_000), ..port("eth1") }, port("eth2")];
    let found = check(machine(Some(&everything)), &slow, Some(&switch));
    assert_eq!(bad(&found), ["eth1 shaper: the idle slopes sum up to 20Mbit, and the link has 10Mbit: lower them"]);
}

#[test]
fn preemption_takes_a_port_that_can_and_says_of_each_whether() {
    let wanted =
        switch(|text| text.replace("name = \"eth1\"", "name = \"eth1\"\npreemption = { preemptible = [\"blue\"] }"));
    let off = Settings {
        pmac_enabled: false,
        tx_enabled: false,
        verify_enabled: false,
        verify_time_ms: 10,
        tx_min_frag_size: 60,
    };
    let merge = State {
        settings: off,
        tx_active: false,
        verify_status: VerifyStatus::Disabled,
        max_verify_time_ms: 128,
        rx_min_frag_size: 60,
    };
    let interfaces = |merge: Option<State>| {
        [Interface { mac_merge: merge, no_mac_merge: "the port has none".into(), ..port("eth1") }, port("eth2")]
    };
    let can = check(machine(Some(&everything)), &interfaces(Some(merge)), Some(&wanted));
    assert_eq!((bad(&can), can.plane.clone().unwrap().plane), (vec![], Some("kernel")));
    assert_eq!(can.ports[0].planes.kernel.words(), "no gates, preemption by the port, classes by flower");
    assert_eq!(can.ports[0].planes.preemption.words(), "by igc");
    assert!(!can.ports[0].planes.user.fits && can.ports[1].planes.user.fits);
    let none = "frame preemption takes a MAC Merge sublayer (IEEE 802.3 clause 99), and the port has none";
    let cannot = check(machine(Some(&everything)), &interfaces(None), Some(&wanted));
    assert_eq!(bad(&cannot)[0], format!("eth1 preemption: {none}"));
    assert_eq!(cannot.plane.unwrap().plane, None);
    // What nobody asks for is no fault.
    let unasked = check(machine(Some(&everything)), &interfaces(None), Some(&switch(same)));
    assert_eq!((bad(&unasked), unasked.ports[0].planes.preemption.words()), (vec![], none.to_owned()));
    // Each class has a queue of its own.
    let single = interfaces(Some(merge)).map(|port| Interface { transmit_queues: 1, ..port });
    let single = check(machine(Some(&everything)), &single, Some(&wanted));
    let why = "mqprio needs a transmit queue for each of 2 classes, and the port has one transmit queue";
    assert_eq!(single.ports[0].planes.kernel.words(), why);
    let no_mqprio = |option: &str| everything(option).filter(|_| option != "NET_SCH_MQPRIO");
    let lacks = check(machine(Some(&no_mqprio)), &interfaces(Some(merge)), Some(&wanted));
    assert_eq!(lacks.ports[0].planes.kernel.words(), "the kernel lacks mqprio");
}
