//! The user data plane between two virtual Ethernet ports: station a — port0 [switch] port1 — station b.

mod testbed;

use std::time::{Duration, Instant};

use ontick_rt::thread::Policy;
use ontick_switch::user::core::{Command, PortConfig};
use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Received, Sent};
use ontick_switch::user::{CorePlacement, Running};
use ontick_switch::verify::namespace::Namespace;
use ontick_tsn::model::{Class, Entry, Rule, Switch};
use ontick_tsn::schedule::Schedule;
use ontick_tsn::{shaper, wire};
use testbed::namespace;

const GIGABIT: u64 = 1_000_000_000;
const PATIENCE: Duration = Duration::from_secs(30);

fn switch() -> Switch {
    let class = |queue: u8, rules| Class { name: format!("class {queue}"), queue, rules, limit: 64 };
    let red = vec![Rule { pcp: Some(5), ..Rule::default() }];
    testbed::switch(&["port0", "port1"], Some(GIGABIT), vec![class(0, vec![]), class(1, red)])
}

struct Bench {
    here: Namespace,
    _far: [Namespace; 2],
    a: PacketPort,
    b: PacketPort,
    plane: Running<PacketPort>,
}

/// Nothing where there are no namespaces to be had.
fn bench(schedule: Option<&Schedule>) -> Option<Bench> {
    bench_of(&switch(), schedule)
}

fn bench_of(switch: &Switch, schedule: Option<&Schedule>) -> Option<Bench> {
    let (here, far) = (namespace()?, [namespace()?, namespace()?]);
    let far_end = |n: usize, name: &str| {
        here.join(&format!("port{n}"), &far[n], name).unwrap();
        far[n].within(|| PacketPort::open(name, 512)).unwrap().unwrap()
    };
    let (a, b) = (far_end(0, "a"), far_end(1, "b"));
    let attach = |name: &str| PortConfig {
        port: Some(here.within(|| PacketPort::open(name, 512)).unwrap().unwrap()),
        rate: GIGABIT,
        schedule: schedule.cloned(),
    };
    // An ordinary thread: what is tested here is not its timing.
    let place = CorePlacement { cpu: None, policy: Policy::Other, never_rest: false };
    let plane = Running::start(switch, vec![attach("port0"), attach("port1")], place).unwrap();
    Some(Bench { here, _far: far, a, b, plane })
}

fn frame(from: u8, to: u8, pcp: u8, number: u32, octets: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x81, 0, pcp << 5, 1, 0x88, 0xb5];
    frame.extend(number.to_be_bytes());
    frame.resize(octets.max(60), number as u8);
    frame
}

fn send(port: &mut PacketPort, frame: &[u8]) {
    let began = Instant::now();
    while port.send(frame) != Sent::Done {
        assert!(began.elapsed() < PATIENCE, "the frame cannot be sent");
        std::thread::yield_now();
    }
}

fn receive(port: &mut PacketPort) -> Vec<u8> {
    let (began, mut slot) = (Instant::now(), [0; 2048]);
    loop {
        match port.receive(&mut slot) {
            Received::Frame(octets) => return slot[..octets].to_vec(),
            _ => assert!(began.elapsed() < PATIENCE, "nothing comes"),
        }
        let _ = port.wait(Duration::from_millis(100));
    }
}

#[test]
fn frames_arrive_as_they_were_sent_and_in_order() {
    let Some(mut bench) = bench(None) else { return };
    for (n, octets) in (60..=1518).step_by(27).enumerate() {
        let pcp = [0, 5][n % 2];
        let sent = frame(1, 2, pcp, n as u32, octets);
        send(&mut bench.a, &sent);
        assert_eq!(receive(&mut bench.b), sent);
    }
    let counters = bench.plane.stop().counters;
    let queues = &counters.ports[1].queues;
    assert_eq!(queues[0].sent.get() + queues[1].sent.get(), 55);
    assert_eq!((queues[0].sent.get(), counters.ports[0].received.get()), (28, 55));
}

#[test]
fn a_closed_gate_holds_frames_until_the_list_changes() {
    let closed = Schedule::new(0, &[Entry { open: 0, for_ns: 1_000_000 }, Entry { open: 1, for_ns: 1_000_000 }]);
    let Some(mut bench) = bench(Some(&closed)) else { return };
    // Red's gate never opens: it is dropped; blue passes.
    send(&mut bench.a, &frame(1, 2, 5, 1, 100));
    send(&mut bench.a, &frame(1, 2, 0, 2, 100));
    assert_eq!(receive(&mut bench.b), frame(1, 2, 0, 2, 100));
    assert_eq!(bench.plane.counters().ports[1].queues[1].no_window.get(), 1);
    assert!(bench.plane.send(Command::Gates(1, None)).is_ok());
    // The core obeys within some turns; what it drops before is counted.
    let began = Instant::now();
    let mut sent = 1;
    while bench.plane.counters().ports[1].queues[1].sent.get() == 0 {
        assert!(began.elapsed() < PATIENCE);
        send(&mut bench.a, &frame(1, 2, 5, 3, 100));
        sent += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(receive(&mut bench.b), frame(1, 2, 5, 3, 100));
    assert!(bench.plane.service().is_empty());
    let counters = bench.plane.stop().counters;
    let red = &counters.ports[1].queues[1];
    assert!(red.sent.get() + red.no_window.get() <= sent);
}

#[test]
fn an_interface_that_vanishes_takes_nothing_along() {
    let Some(mut bench) = bench(None) else { return };
    send(&mut bench.a, &frame(1, 2, 0, 1, 100));
    receive(&mut bench.b);
    bench.here.ip(&["link", "del", "port1"]).unwrap();
    for n in 0..10 {
        send(&mut bench.a, &frame(1, 2, 0, n, 100));
    }
    let began = Instant::now();
    let dropped = |bench: &Bench| bench.plane.counters().ports[1].queues[0].dropped();
    while dropped(&bench) < 10 {
        assert!(began.elapsed() < PATIENCE, "{} of 10", dropped(&bench));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(bench.plane.service().is_empty(), "the core goes on");
}

/// On an emulated link. However late this test itself runs, no frame may come earlier than the shaper lets it.
#[test]
fn a_shaped_class_comes_no_faster_than_its_idle_slope() {
    const IDLE_SLOPE: u64 = 2_000_000;
    const FRAMES: u32 = 50;
    let mut switch = switch();
    switch.ports[1].idle_slopes = vec![None, Some(IDLE_SLOPE)];
    let slopes = shaper::shaped(&switch, &switch.ports[1], GIGABIT)[0].1;
    let Some(mut bench) = bench_of(&switch, None) else { return };
    let began = Instant::now();
    for n in 0..FRAMES {
        send(&mut bench.a, &frame(1, 2, 5, n, 1000));
    }
    let bits = wire::frame_bits(1000);
    for n in 0..FRAMES {
        assert_eq!(receive(&mut bench.b), frame(1, 2, 5, n, 1000));
        let passed_us = began.elapsed().as_micros() as u64;
        // The first one goes at once, and so does what was saved; times are rounded.
        let least_us = (u64::from(n) * bits).saturating_sub(slopes.hi_credit) * 1_000_000 / IDLE_SLOPE;
        assert!(passed_us + 10 >= least_us, "frame {n} after {passed_us} us, not {least_us}");
    }
    let counters = bench.plane.stop().counters;
    let red = &counters.ports[1].queues[1];
    assert_eq!((red.sent.get(), red.dropped()), (FRAMES.into(), 0));
}
