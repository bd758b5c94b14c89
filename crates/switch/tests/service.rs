//! The user data plane over the life of its ports: cables pulled, interfaces deleted and made again, loops closed.

mod testbed;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use ontick_rt::cpus;
use ontick_rt::thread::{Policy, Setup, set_affinity_of};
use ontick_switch::user::CorePlacement;
use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Received};
use ontick_switch::user::running::CoreEvent;
use ontick_switch::user::serve::{ChangeError, ServeError, Service, ServiceEvent};
use ontick_switch::verify::namespace::Namespace;
use ontick_tsn::model::Class;
use testbed::namespace;

const PATIENCE: Duration = Duration::from_secs(30);

fn start(here: &Namespace, ports: &[&str]) -> Result<Service, ServeError> {
    let classes = vec![Class { name: "all".into(), queue: 0, rules: vec![], limit: 64 }];
    here.within(|| {
        Service::start(
            &testbed::switch(ports, None, classes),
            CorePlacement { cpu: None, policy: Policy::Other, never_rest: false },
        )
    })
    .unwrap()
}

/// Tends the service until this happened; nothing else may.
fn until(here: &Namespace, service: &mut Service, wanted: &ServiceEvent) {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < PATIENCE, "{wanted:?} did not happen");
        // Interfaces are opened in the thread's own namespace.
        let happened = here.within(|| service.service(Duration::from_millis(50))).unwrap().unwrap();
        if !happened.is_empty() {
            return assert_eq!(happened, std::slice::from_ref(wanted));
        }
    }
}

fn frame(number: u8) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb6]);
    frame[14] = number;
    frame
}

fn passes(from: &mut PacketPort, to: &mut PacketPort, number: u8) -> bool {
    from.send(&frame(number));
    comes(to, number, Duration::from_secs(2))
}

fn comes(to: &mut PacketPort, number: u8, at_most: Duration) -> bool {
    let (began, mut slot) = (Instant::now(), [0; 2048]);
    while began.elapsed() < at_most {
        match to.receive(&mut slot) {
            Received::Frame(60) if slot[..60] == frame(number) => return true,
            Received::Nothing => drop(to.wait(Duration::from_millis(50))),
            _ => {}
        }
    }
    false
}

#[test]
fn cables_and_interfaces_come_and_go() {
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    here.join("port0", &far, "far0").unwrap();
    here.join("port1", &far, "far1").unwrap();
    let open = |name: &str| far.within(|| PacketPort::open(name, 256)).unwrap().unwrap();
    let (mut a, mut b) = (open("far0"), open("far1"));
    let mut service = start(&here, &["port0", "port1"]).unwrap();
    assert!(passes(&mut a, &mut b, 1));

    far.ip(&["link", "set", "dev", "far1", "down"]).unwrap();
    until(&here, &mut service, &ServiceEvent::Down("port1".into()));
    far.ip(&["link", "set", "dev", "far1", "up"]).unwrap();
    until(&here, &mut service, &ServiceEvent::Up("port1".into()));
    assert!(passes(&mut a, &mut b, 2));

    far.ip(&["link", "del", "dev", "far1"]).unwrap();
    let began = Instant::now();
    let mut seen = Vec::new();
    while !seen.contains(&ServiceEvent::Gone("port1".into())) {
        assert!(began.elapsed() < PATIENCE, "only {seen:?}");
        seen.extend(here.within(|| service.service(Duration::from_millis(50))).unwrap().unwrap());
    }
    assert!(!service.report().ports[1].open);
    here.join("port1", &far, "far1").unwrap();
    let began = Instant::now();
    while !(service.report().ports[1].open && service.report().ports[1].link) {
        assert!(began.elapsed() < PATIENCE);
        here.within(|| service.service(Duration::from_millis(50))).unwrap().unwrap();
    }
    let mut b = open("far1");
    assert!(passes(&mut a, &mut b, 3));
    let report = serde_json::to_string(&service.report()).unwrap();
    let read: ontick_switch::user::serve::Report = serde_json::from_str(&report).unwrap();
    assert_eq!(read.counters.ports[0].received.get(), service.stop().counters.ports[0].received.get());
}

#[test]
fn a_loop_is_refused_before_and_closed_after() {
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    for n in 0..3 {
        here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
    }
    far.ip(&["link", "add", "hub", "type", "bridge"]).unwrap();
    far.ip(&["link", "set", "dev", "hub", "up"]).unwrap();
    let plug = |name: &str| far.ip(&["link", "set", "dev", name, "master", "hub"]).unwrap();
    plug("far0");
    let mut service = start(&here, &["port0", "port1", "port2"]).unwrap();
    // A second way to the same network: broadcasts go round from here on.
    plug("far2");
    let began = Instant::now();
    let mut seen = Vec::new();
    while !seen.iter().any(|happened| matches!(happened, ServiceEvent::Loop(_))) {
        assert!(began.elapsed() < PATIENCE, "only {seen:?}");
        seen.extend(here.within(|| service.service(Duration::from_millis(50))).unwrap().unwrap());
    }
    assert_eq!(seen, [ServiceEvent::Loop("port2".into())], "one of the two, always the same");
    let closed = |service: &Service| service.report().ports.iter().map(|port| port.closed).collect::<Vec<_>>();
    assert_eq!(closed(&service), [false, false, true]);
    // The other one goes on, and nothing goes round any more.
    let open = |name: &str| far.within(|| PacketPort::open(name, 256)).unwrap().unwrap();
    let (mut a, mut b) = (open("far1"), open("hub"));
    assert!(passes(&mut a, &mut b, 1));
    far.ip(&["link", "set", "dev", "far2", "nomaster"]).unwrap();
    until(&here, &mut service, &ServiceEvent::Reopened("port2".into()));
    assert_eq!(closed(&service), [false; 3]);
    plug("far2");
    drop(service);
    match start(&here, &["port0", "port1", "port2"]) {
        Err(ServeError::Loop(found)) => assert_eq!((found.port.as_str(), found.other.as_str()), ("port0", "port2")),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("a loop was not refused"),
    }
}

/// Another program's real-time loop on the same CPU: a core that never gets to see that it is to end.
#[test]
fn a_core_that_is_kept_from_its_cpu_ends_all_the_same() {
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    for n in 0..2 {
        here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
    }
    let online = cpus::online();
    let Some(cpu) = online.last().copied().filter(|_| online.len() > 1) else {
        return ontick_skip::skipped!("one CPU");
    };
    let classes = vec![Class { name: "all".into(), queue: 0, rules: vec![], limit: 64 }];
    let switch = testbed::switch(&["port0", "port1"], None, classes);
    let place = CorePlacement { cpu: Some(cpu), policy: Policy::Fifo(10), never_rest: false };
    let service = match here.within(|| Service::start(&switch, place)).unwrap() {
        Err(ServeError::Start(held)) => return ontick_skip::skipped!("{held}"),
        service => service.unwrap(),
    };
    let over = Arc::new(AtomicBool::new(false));
    let (ready, begun) = channel();
    let hog = std::thread::spawn({
        let over = over.clone();
        move || {
            let held = Setup::new().cpu(cpu).policy(Policy::Fifo(20)).best_effort();
            let _ = ready.send(held.refused().is_empty());
            let began = Instant::now();
            while !over.load(Relaxed) && began.elapsed() < 2 * PATIENCE {}
        }
    });
    if begun.recv().unwrap() {
        let (ended, end) = channel();
        std::thread::spawn(move || {
            service.stop();
            let _ = ended.send(());
        });
        let ended = end.recv_timeout(PATIENCE);
        over.store(true, Relaxed);
        assert!(ended.is_ok(), "it did not end beside a loop that keeps its CPU");
    } else {
        ontick_skip::skipped!("no real-time scheduling");
    }
    over.store(true, Relaxed);
    hog.join().unwrap();
}

/// As when its CPU is unplugged.
#[test]
fn a_core_that_loses_its_cpu_says_so() {
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    for n in 0..2 {
        here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
    }
    let allowed = cpus::allowed();
    let [first, .., last] = allowed[..] else { return ontick_skip::skipped!("one CPU") };
    let classes = vec![Class { name: "all".into(), queue: 0, rules: vec![], limit: 64 }];
    let switch = testbed::switch(&["port0", "port1"], None, classes);
    let place = CorePlacement { cpu: Some(first), policy: Policy::Other, never_rest: false };
    let mut service = here.within(|| Service::start(&switch, place)).unwrap().unwrap();
    assert!(service.report().strayed_to.is_empty());
    set_affinity_of(service.tid(), &[last]).unwrap();
    until(&here, &mut service, &ServiceEvent::Core(CoreEvent::Moved(format!("CPU {first} was taken from it"), last)));
    assert_eq!(service.report().strayed_to, [last]);
}

#[test]
fn frames_that_wait_for_credit_go_by_another_idle_slope() {
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    for n in 0..2 {
        here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
    }
    let open = |name: &str| far.within(|| PacketPort::open(name, 256)).unwrap().unwrap();
    let (mut a, mut b) = (open("far0"), open("far1"));
    let classes = vec![Class { name: "all".into(), queue: 0, rules: vec![], limit: 64 }];
    let mut switch = testbed::switch(&["port0", "port1"], Some(1_000_000_000), classes);
    // What the first frame owes is paid after eleven minutes.
    switch.ports[1].idle_slopes = vec![Some(1)];
    let place = CorePlacement { cpu: None, policy: Policy::Other, never_rest: false };
    let mut service = here.within(|| Service::start(&switch, place)).unwrap().unwrap();
    assert!(passes(&mut a, &mut b, 1));
    a.send(&frame(2));
    let began = Instant::now();
    while service.report().counters.ports[1].queues[0].waiting.get() == 0 {
        assert!(began.elapsed() < PATIENCE, "the second frame does not wait");
        std::thread::sleep(Duration::from_millis(1));
    }

    let mut other = switch.clone();
    other.addresses += 1;
    assert_eq!(service.change(&other), Err(ChangeError::MoreThanCanChange));
    assert_eq!(service.report().counters.ports[1].queues[0].waiting.get(), 1);
    switch.ports[1].idle_slopes = vec![Some(100_000_000)];
    service.change(&switch).unwrap();
    assert!(comes(&mut b, 2, PATIENCE));
    // Without a slope nothing is owed, and with one again nothing is yet.
    for (number, slope) in [(3, None), (4, Some(1))] {
        switch.ports[1].idle_slopes = vec![slope];
        service.change(&switch).unwrap();
        assert!(passes(&mut a, &mut b, number));
    }
}
