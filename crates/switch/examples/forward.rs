//! What a frame costs on its way through this machine: taken in and handed over by packet sockets or AF_XDP sockets, or
//! forwarded by the kernel's bridge. Frames of 60 octets, between virtual interfaces that it makes for itself. What the
//! receiving interface does is part of handing over there, so all of the bridge's work is done by who sends to it. Needs
//! root.
//!
//! `cargo run --release -p ontick-switch --example forward`
//!
//! The flood takes two cores; `chrt -f 10` before the built program keeps other work off them meanwhile.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ontick_switch::user::open::OpenError;
use ontick_switch::user::packet::PacketPort;
use ontick_switch::user::port::{Port, Received, Sent};
use ontick_switch::user::xdp::XdpPort;
use ontick_switch::verify::namespace::Namespace;

/// Frames that are taken in and handed over at a time: fewer than any ring or queue on the way has room for.
const BATCH: u32 = 200;
/// Batches of each kind; the median of them is shown.
const BATCHES: usize = 2000;
/// How long frames are sent as fast as one core can.
const FLOOD: Duration = Duration::from_secs(1);
const RING: u32 = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    println!("             receive      send    forwarded in a flood");
    sockets("packets", PacketPort::open)?;
    sockets("AF_XDP", XdpPort::open)?;
    bridge()
}

/// `far0` is joined with `port0`, and `port1` with `far1`.
fn two_cables() -> Result<[Namespace; 2], Box<dyn Error>> {
    let (outside, machine) = (Namespace::new()?, Namespace::new()?);
    for n in 0..2 {
        machine.join(&format!("port{n}"), &outside, &format!("far{n}"))?;
    }
    Ok([outside, machine])
}

fn sockets<P: Port + Send>(name: &str, open: fn(&str, u32) -> Result<P, OpenError>) -> Result<(), Box<dyn Error>> {
    let [outside, machine] = two_cables()?;
    let mut source = outside.within(|| PacketPort::open("far0", RING))??;
    let (mut from, mut to) = machine.within(|| Ok::<_, OpenError>((open("port0", RING)?, open("port1", RING)?)))??;
    let frame = frame();
    let (mut receiving, mut sending) = (Vec::new(), Vec::new());
    let mut slot = [0; 2048];
    for _ in 0..BATCHES {
        flood_once(&mut source);
        let mut received = 0;
        let taken = timed(|| {
            while let Received::Frame(_) = from.receive(&mut slot) {
                received += 1;
            }
        });
        receiving.push(taken / received.max(1));
        sending.push(timed(|| (0..BATCH).for_each(|_| assert_eq!(to.send(&frame), Sent::Done))) / BATCH);
    }
    let (receive, send) = (median(receiving).as_nanos(), median(sending).as_nanos());
    let before = arrived(&outside)?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if let Received::Frame(octets) = from.receive(&mut slot) {
                    while to.send(&slot[..octets]) == Sent::Busy {}
                }
            }
        });
        flood(&mut source);
        stop.store(true, Ordering::Relaxed);
    });
    let rate = (arrived(&outside)? - before) / FLOOD.as_secs();
    println!("{name:10} {receive:6} ns {send:6} ns    {rate:>8} frames/s");
    Ok(())
}

fn bridge() -> Result<(), Box<dyn Error>> {
    let [outside, machine] = two_cables()?;
    let mut source = outside.within(|| PacketPort::open("far0", RING))??;
    machine.ip(&["link", "add", "br0", "type", "bridge"])?;
    machine.ip(&["link", "set", "br0", "up"])?;
    for port in ["port0", "port1"] {
        machine.ip(&["link", "set", port, "master", "br0"])?;
    }
    let before = arrived(&outside)?;
    flood(&mut source);
    let rate = (arrived(&outside)? - before) / FLOOD.as_secs();
    println!("bridge                            {rate:>8} frames/s");
    Ok(())
}

/// Frames that have come out of the machine.
fn arrived(outside: &Namespace) -> Result<u64, Box<dyn Error>> {
    let reported = outside.run("ip", &["-j", "-s", "link", "show", "far1"])?;
    let reported: serde_json::Value = serde_json::from_str(&reported)?;
    reported[0]["stats64"]["rx"]["packets"].as_u64().ok_or_else(|| "ip does not tell of packets".into())
}

fn flood(source: &mut PacketPort) {
    let begun = Instant::now();
    while begun.elapsed() < FLOOD {
        flood_once(source);
    }
}

fn flood_once(source: &mut PacketPort) {
    let frame = frame();
    for _ in 0..BATCH {
        source.send(&frame);
    }
}

fn frame() -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
