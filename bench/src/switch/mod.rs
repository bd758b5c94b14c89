//! The switch: how many frames a second the user data plane forwards, and the kernel's bridge beside it.

pub mod load;

use ontick_rt::clock::ClockId;
use ontick_rt::thread::{Policy, Setup};
use ontick_switch::model::{Class, Classifier, Offload, Plane, Port, Role, Rule, Switch};
use ontick_switch::user::core::Attachment;
use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::{Place, Running};
use ontick_switch::verify::namespace::Namespace;

use load::Passed;

const RATE: u64 = 10_000_000_000;
const RING: u32 = 4096;

/// Who forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarder {
    User,
    Bridge,
}

fn model() -> Switch {
    let rule = |pcp| Rule { pcp: Some(pcp), ..Rule::default() };
    let class = |queue: u8| Class {
        name: format!("class {queue}"),
        queue,
        rules: if queue == 0 { vec![] } else { vec![rule(queue)] },
        limit: 2048,
    };
    let port = |name: &str| Port {
        name: name.into(),
        rate: Some(RATE),
        offload: Offload::None,
        max_sdu: vec![None; 8],
        gates: None,
    };
    Switch {
        name: "bench".into(),
        role: Role::Bridge,
        plane: Plane::User,
        classifier: Classifier::Auto,
        socket: ontick_switch::model::Socket::Packet,
        cpu: None,
        clock: ClockId::Tai,
        ageing_ns: 300_000_000_000,
        addresses: 1024,
        stp: false,
        classes: (0..8).map(class).collect(),
        ports: vec![port("port0"), port("port1")],
    }
}

pub fn forward(by: Forwarder, cpu: u32, other: u32, policy: Policy, frames: u64) -> Result<Passed, String> {
    let told = |e: &dyn std::fmt::Display| format!("switch: {e}");
    let space = || Namespace::new().map_err(|e| told(&e));
    let (here, a, b) = (space()?, space()?, space()?);
    here.join("port0", &a, "far0").map_err(|e| told(&e))?;
    here.join("port1", &b, "far1").map_err(|e| told(&e))?;
    let open = |space: &Namespace, name: &str| -> Result<PacketPort, String> {
        space.within(|| PacketPort::open(name, RING)).map_err(|e| told(&e))?.map_err(|e| told(&e))
    };
    let (mut into, mut out_of) = (open(&a, "far0")?, open(&b, "far1")?);
    let mut plane = None;
    match by {
        Forwarder::Bridge => {
            for command in [
                "link add bridge type bridge",
                "link set dev port0 master bridge",
                "link set dev port1 master bridge",
                "link set dev bridge up",
            ] {
                here.ip(&command.split(' ').collect::<Vec<_>>()).map_err(|e| told(&e))?;
            }
        }
        Forwarder::User => {
            let at =
                |name: &str| Ok::<_, String>(Attachment { port: Some(open(&here, name)?), rate: RATE, schedule: None });
            let place = Place { cpu: Some(cpu), policy };
            plane = Some(Running::start(&model(), vec![at("port0")?, at("port1")?], place).map_err(|e| told(&e))?);
        }
    }
    let loader = move || {
        let _held = Setup::new().cpu(other).best_effort();
        load::run(&mut into, &mut out_of, frames)
    };
    let passed = std::thread::spawn(loader).join().map_err(|_| "the loader panicked")?;
    if let Some(plane) = plane {
        let counters = plane.stop();
        println!(
            "{}",
            counters
                .ports
                .iter()
                .enumerate()
                .map(|(n, p)| format!(
                    "port {n}: in {} over {} drops {} late {}",
                    p.received.get(),
                    p.overflowed.get(),
                    p.queues.iter().map(|q| q.dropped()).sum::<u64>(),
                    p.queues.iter().map(|q| q.late.get()).sum::<u64>()
                ))
                .collect::<Vec<_>>()
                .join("; ")
        );
        println!(
            "stalls {} longest {} us rests {}",
            counters.stalls.get(),
            counters.longest_stall_ns.get() / 1000,
            counters.rests.get()
        );
    }
    Ok(passed)
}

pub fn gates(cpu: u32, other: u32, policy: Policy, seconds: u64) {
    use ontick_switch::model::Entry;
    use ontick_switch::schedule::{Schedule, with_guards};
    use ontick_switch::user::packet::{PacketReader, Stamps};
    use ontick_switch::user::port::Port as _;
    let (here, a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap(), Namespace::new().unwrap());
    here.join("port0", &a, "far0").unwrap();
    here.join("port1", &b, "far1").unwrap();
    let mut into = a.within(|| PacketPort::open("far0", RING)).unwrap().unwrap();
    let mut reader = b.within(|| PacketReader::open("far1", 8192, Stamps::Software)).unwrap().unwrap();
    let entries = [Entry { open: 1, for_ns: 800_000 }, Entry { open: 2, for_ns: 200_000 }];
    let guarded = Schedule::new(0, &with_guards(&entries, &[1_000; 8]));
    let plain = Schedule::new(0, &entries);
    let at = |name: &str| Attachment {
        port: Some(here.within(|| PacketPort::open(name, RING)).unwrap().unwrap()),
        rate: 1_000_000_000,
        schedule: (name == "port1").then(|| guarded.clone()),
    };
    let mut plane = Running::start(&model(), vec![at("port0"), at("port1")], Place { cpu: Some(cpu), policy }).unwrap();
    let loader = move || {
        let _held = Setup::new().cpu(other).best_effort();
        let mut frame = vec![0u8; 1514];
        frame[..18].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 1, 0x88, 0xb5]);
        let tai = ClockId::Tai.now_ns() as i64 - ClockId::Realtime.now_ns() as i64;
        let tai = (tai + 500_000_000) / 1_000_000_000 * 1_000_000_000;
        let end = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
        let (mut arrivals, mut n) = (Vec::with_capacity(4_000_000), 0u64);
        let mut next = std::time::Instant::now();
        while std::time::Instant::now() < end {
            // 2 x 500 Mb/s in, as in the article.
            if std::time::Instant::now() >= next {
                frame[14] = ((n & 1) as u8) << 5;
                n += 1;
                into.send(&frame);
                next += std::time::Duration::from_nanos(12_304);
            }
            while let Some((stamp, pcp)) = reader.next(|f| (f.stamp_ns, f.tag.map_or(9, |t| t.octets()[2] >> 5))) {
                arrivals.push((stamp.wrapping_add_signed(tai), pcp));
            }
        }
        (arrivals, n, reader.overflowed())
    };
    let (arrivals, sent, over) = std::thread::spawn(loader).join().unwrap();
    let mut firsts = Vec::new();
    let mut outside = 0;
    let mut last = (0, 9);
    for &(at, pcp) in &arrivals {
        let view = plain.at(at);
        if view.open & (1 << pcp) == 0 {
            outside += 1;
            if outside < 6 {
                println!("outside: class {pcp} at {} ns, {} ns after closing", plain.offset_ns(at), at - view.from_ns);
            }
        } else if last != (view.from_ns, pcp) {
            last = (view.from_ns, pcp);
            firsts.push(at - view.from_ns);
        }
    }
    firsts.sort();
    let p = |x: f64| firsts[((firsts.len() - 1) as f64 * x) as usize];
    println!(
        "sent {sent} received {} over {over} outside {outside}; first p50 {} p90 {} p99 {} p99.9 {} max {} of {}",
        arrivals.len(),
        p(0.5),
        p(0.9),
        p(0.99),
        p(0.999),
        p(1.0),
        firsts.len()
    );
    let stalls: Vec<_> = plane.stalls().collect();
    let c = plane.stop();
    println!(
        "stalls {} longest {} us rests {}; {:?}",
        stalls.len(),
        c.longest_stall_ns.get() / 1000,
        c.rests.get(),
        c.ports[1].queues[..2].iter().map(|q| (q.sent.get(), q.dropped(), q.late.get())).collect::<Vec<_>>()
    );
}
