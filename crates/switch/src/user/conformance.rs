//! What every kind of port must do, tried in network namespaces.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Command, Stdio};

use super::bpf::tag_what_leaves;
use super::either::largest_sdu;
use super::open::OpenError;
use super::packet::PacketPort;
use super::port::{MAX_BURST, Port, Received, Sent};
use super::testbed::{Tap, frame, in_namespace, ip, until, with_cable};
use ontick_tsn::model::Socket;

/// Opens a port of an interface, with room for about so many frames.
pub type Open<P> = fn(&str, u32) -> Result<P, OpenError>;

/// Room that is enough.
const FRAMES: u32 = 4096;

/// The next frame.
pub fn taken(port: &mut impl Port) -> Vec<u8> {
    let mut slot = [0; 2048];
    let mut received = Received::Nothing;
    until("a frame has come", || {
        received = port.receive(&mut slot);
        received != Received::Nothing
    });
    match received {
        Received::Frame(octets) => slot[..octets].to_vec(),
        other => panic!("{other:?} instead of a frame"),
    }
}

/// That nothing has come in.
fn nothing(port: &mut impl Port) {
    assert_eq!(port.receive(&mut [0; 2048]), Received::Nothing);
}

/// Both ends of a cable.
pub fn both<P>(open: Open<P>) -> (P, P) {
    (open("left", FRAMES).unwrap(), open("right", FRAMES).unwrap())
}

pub fn frames_of_every_length_arrive_bit_for_bit<P: Port>(open: Open<P>) {
    with_cable(|| {
        let (mut a, mut b) = both(open);
        for octets in 14..=1514 {
            let plain = frame(octets as u32, octets, None);
            assert_eq!((a.send(&plain), taken(&mut b)), (Sent::Done, plain), "{octets} octets");
        }
        // The kernel drops a tag with less than two octets behind it; a wire has at least 46.
        for octets in 20..=1518 {
            let tagged = frame(octets as u32, octets, Some((octets * 41) as u16));
            assert_eq!((b.send(&tagged), taken(&mut a)), (Sent::Done, tagged), "{octets} octets with a tag");
        }
        nothing(&mut a);
        assert_eq!((a.overflowed(), b.overflowed()), (0, 0));
    });
}

pub fn a_service_tag_and_the_tag_behind_it_stay<P: Port>(open: Open<P>) {
    with_cable(|| {
        let (mut a, mut b) = both(open);
        let mut sent = frame(1, 100, Some(0x6005));
        sent.splice(12..12, [0x88, 0xa8, 0x20, 0x07]);
        assert_eq!((a.send(&sent), taken(&mut b)), (Sent::Done, sent));
    });
}

pub fn a_frame_too_long_for_the_interface_is_refused<P: Port>(open: Open<P>) {
    with_cable(|| {
        let (mut a, mut b) = both(open);
        assert_eq!(a.send(&frame(1, 1515, None)), Sent::Refused);
        assert_eq!(a.send(&frame(1, 1519, Some(1))), Sent::Refused);
        assert_eq!(a.send(&frame(1, 1514, None)[..13]), Sent::Refused);
        nothing(&mut b);
        // It may take longer ones later.
        ip("link set right mtu 1600");
        ip("link set left mtu 1600");
        let longer = frame(2, 1614, None);
        assert_eq!((a.send(&longer), taken(&mut b)), (Sent::Done, longer));
    });
}

/// `twice`: what finds no room in the socket is also counted by the interface.
pub fn what_finds_no_room_is_counted<P: Port>(open: Open<P>, twice: bool) {
    with_cable(|| {
        let (mut a, mut b) = (open("left", 1).unwrap(), open("right", 1).unwrap());
        let mut slot = [0; 2048];
        let (mut sent, mut received, mut overflowed) = (0u32, 0, 0);
        for round in 1..=5 {
            let first = sent;
            for _ in 0..1000 * round {
                until("the frame is sent", || a.send(&frame(sent, 64, None)) == Sent::Done);
                sent += 1;
            }
            let mut next = first;
            until("every frame has come or is counted", || {
                while let Received::Frame(octets) = b.receive(&mut slot) {
                    // Those that come are whole, and in order.
                    next += (next..sent).position(|n| slot[..octets] == frame(n, 64, None)).unwrap() as u32 + 1;
                    received += 1;
                }
                overflowed += b.overflowed();
                // The interface may count a little later than the socket.
                let elsewhere = dropped_by_kernel("right").checked_sub(if twice { overflowed } else { 0 });
                elsewhere.is_some_and(|elsewhere| received + overflowed + elsewhere == u64::from(sent))
            });
            assert!(overflowed > 0 && next > first);
        }
        assert_eq!(b.overflowed(), 0);
    });
}

/// Frames that the kernel dropped before they reached any socket: its own queues between veth interfaces are bounded.
fn dropped_by_kernel(interface: &str) -> u64 {
    let reported: serde_json::Value = serde_json::from_str(&ip(&format!("-j -s link show {interface}"))).unwrap();
    reported[0]["stats64"]["rx"]["dropped"].as_u64().unwrap()
}

pub fn frames_longer_than_the_slot_are_reported<P: Port>(open: Open<P>) {
    with_cable(|| {
        let (mut a, mut b) = both(open);
        let mut slot = [0; 512];
        for (octets, tag) in [(1514, None), (1518, Some(1)), (513, None), (513, Some(1)), (516, Some(1))] {
            assert_eq!(a.send(&frame(1, octets, tag)), Sent::Done);
            assert_eq!(a.send(&frame(2, 512, tag)), Sent::Done);
            let mut received = [Received::Nothing; 2];
            for received in &mut received {
                until("a frame has come", || {
                    *received = b.receive(&mut slot);
                    *received != Received::Nothing
                });
            }
            assert_eq!(received, [Received::Oversized, Received::Frame(512)], "{octets} octets, tag {tag:?}");
            assert_eq!(slot[..], frame(2, 512, tag));
        }
    });
}

pub fn several_frames_in_one_call_arrive_in_order<P: Port>(open: Open<P>) {
    with_cable(|| {
        let (mut a, mut b) = both(open);
        let frames: Vec<Vec<u8>> = (0..MAX_BURST as u32).map(|n| frame(n, 60 + 30 * n as usize, Some(7))).collect();
        let mut call: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        for count in 1..=MAX_BURST {
            assert_eq!(a.send_burst(&call[..count]), count);
            (0..count).for_each(|n| assert_eq!(taken(&mut b), frames[n]));
        }
        // Up to one that the interface does not take.
        let long = frame(1, 1_519, Some(1));
        call[3] = &long;
        assert_eq!((a.send_burst(&call), a.send(&long)), (3, Sent::Refused));
        assert_eq!((a.send_burst(&call[3..]), a.send_burst(&call[4..])), (0, MAX_BURST - 4));
        (0..MAX_BURST).filter(|n| *n != 3).for_each(|n| assert_eq!(taken(&mut b), frames[n]));
        nothing(&mut b);
    });
}

pub fn several_frames_for_a_link_that_is_down_do_not_come_later<P: Port>(open: Open<P>) {
    with_cable(|| {
        let (mut a, mut b) = both(open);
        let frames: Vec<Vec<u8>> = (0..MAX_BURST as u32).map(|n| frame(n, 64, None)).collect();
        let call: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        ip("link set left down");
        until("none is taken of a link that is down", || a.send_burst(&call) == 0);
        assert_eq!(a.send(&frames[0]), Sent::Down);
        // More often than there are pieces of memory for frames.
        (0..200).for_each(|_| assert_eq!(a.send_burst(&call), 0));
        ip("link set left up");
        let fresh = frame(100, 64, None);
        until("the link is back", || a.send(&fresh) == Sent::Done);
        // Some may have left before the link was down; then they come before this one.
        let mut next = taken(&mut b);
        while next != fresh {
            assert!(frames.contains(&next), "{next:x?}");
            next = taken(&mut b);
        }
        nothing(&mut b);
        assert_eq!(a.send_burst(&call), MAX_BURST);
        (0..MAX_BURST).for_each(|n| assert_eq!(taken(&mut b), frames[n]));
    });
}

/// The driver has room for some of them: those alone leave, and those behind them when they are sent again.
pub fn a_driver_s_queue_takes_some_of_several<P: Port>(open: Open<P>) {
    in_namespace(|| {
        let tap = match Tap::new("tap0") {
            Ok(tap) => tap,
            Err(why) => return ontick_skip::skipped!("no TAP interface here ({why})"),
        };
        ip("link set tap0 txqueuelen 5 up");
        let mut port = open("tap0", FRAMES).unwrap();
        let frames: Vec<Vec<u8>> = (0..400).map(|n| frame(n, 64, None)).collect();
        let (mut next, mut partly) = (0, 0);
        // More often than there are pieces of memory for frames.
        for _ in 0..200 {
            let call: Vec<&[u8]> = frames[next..next + MAX_BURST].iter().map(Vec::as_slice).collect();
            let count = port.send_burst(&call);
            partly += u32::from(count > 0 && count < call.len());
            (next..next + count).for_each(|n| assert_eq!(tap.take(), frames[n]));
            next = (next + count) % 380;
        }
        assert!(partly > 100, "{partly}");
        let fresh = frame(1_000, 64, None);
        assert_eq!(port.send(&fresh), Sent::Done);
        assert_eq!(tap.take(), fresh);
    });
}

pub fn an_interface_that_goes_down_and_comes_back<P: Port>(open: Open<P>) {
    with_cable(|| {
        let (mut a, mut b) = both(open);
        let (stale, fresh) = (frame(1, 64, None), frame(2, 64, None));
        for down in ["left", "right"] {
            ip(&format!("link set {down} down"));
            // The kernel tells of a lost carrier a little later than it has it.
            until("a link that is down is reported", || a.send(&stale) == Sent::Down);
            nothing(&mut a);
            nothing(&mut b);
            ip(&format!("link set {down} up"));
            until("the link is back", || a.send(&fresh) == Sent::Done);
            // Nothing of what could not be sent comes now.
            assert_eq!(taken(&mut b), fresh);
            until("the other way, too", || b.send(&fresh) == Sent::Done);
            assert_eq!(taken(&mut a), fresh);
            nothing(&mut a);
            nothing(&mut b);
        }
    });
}

pub fn an_interface_that_vanishes<P: Port>(open: Open<P>) {
    with_cable(|| {
        let (mut a, mut b) = both(open);
        ip("link del left");
        for port in [&mut a, &mut b] {
            assert_eq!(port.send(&frame(1, 64, None)), Sent::Down);
            nothing(port);
            assert_eq!(port.overflowed(), 0);
        }
        // An interface of the same name is another one.
        ip("link add left type veth peer name right");
        assert_eq!(a.send(&frame(1, 64, None)), Sent::Down);
    });
}

pub fn a_full_queue_of_the_driver_is_busy<P: Port>(open: Open<P>) {
    in_namespace(|| {
        let tap = match Tap::new("tap0") {
            Ok(tap) => tap,
            Err(why) => return ontick_skip::skipped!("no TAP interface here ({why})"),
        };
        ip("link set tap0 txqueuelen 8 up");
        let mut port = open("tap0", FRAMES).unwrap();
        let mut sent = 0;
        until("the queue is full", || match port.send(&frame(sent, 64, None)) {
            Sent::Done => {
                sent += 1;
                false
            }
            other => {
                assert_eq!(other, Sent::Busy);
                true
            }
        });
        for number in 0..sent {
            assert_eq!(tap.take(), frame(number, 64, None));
        }
        // The frame that was refused does not come; the one after it does.
        let fresh = frame(sent + 1, 64, None);
        until("there is room again", || port.send(&fresh) == Sent::Done);
        assert_eq!(tap.take(), fresh);
    });
}

/// The largest frames that are promised come in whole, and no class is promised more.
pub fn the_largest_frames_come_in_whole<P: Port>(open: Open<P>, socket: Socket) {
    with_cable(|| {
        ip("link set left mtu 3000");
        ip("link set right mtu 3000");
        // Sent by a packet socket, which has no slot to fit.
        let mut a = PacketPort::open("left", FRAMES).unwrap();
        let mut b = open("right", FRAMES).unwrap();
        let largest = largest_sdu(socket) as usize + 14;
        let plain = frame(1, largest, None);
        assert_eq!((a.send(&plain), taken(&mut b)), (Sent::Done, plain));
        let mut tagged_twice = frame(2, largest + 4, Some(0x6005));
        tagged_twice.splice(12..12, [0x88, 0xa8, 0x20, 0x07]);
        assert_eq!((a.send(&tagged_twice), taken(&mut b)), (Sent::Done, tagged_twice));
        assert_eq!(a.send(&frame(3, largest + 100, None)), Sent::Done);
        let fresh = frame(4, 64, None);
        assert_eq!(a.send(&fresh), Sent::Done);
        let mut slot = [0; 2048];
        let mut received = Received::Nothing;
        until("the frame behind it has come", || {
            received = b.receive(&mut slot);
            !matches!(received, Received::Nothing | Received::Oversized)
        });
        assert_eq!(received, Received::Frame(64), "the one before was too large");
    });
}

/// What the kernel at the other end leaves to its interface, which is none: the checksum and the VLAN tag.
pub fn checksums_and_tags_left_to_the_interface_are_put_in<P: Port>(open: Open<P>) {
    with_cable(|| {
        let a = PacketPort::open("left", FRAMES).unwrap();
        let mut b = open("right", FRAMES).unwrap();
        ip("addr add 192.0.2.1/24 dev left");
        let socket = UdpSocket::bind("192.0.2.1:0").unwrap();
        socket.set_broadcast(true).unwrap();
        let judged = |frame: Vec<u8>, network: usize, tag: &[u8]| {
            assert_eq!(frame[12..network], *tag, "{frame:x?}");
            assert_eq!(frame[frame.len() - 9..], *b"to be sum");
            // By the rule of RFC 768: with the pseudo header, the sum of all words is all ones.
            // The addresses and the segment follow each other; its last octet is completed by a zero.
            let words = [&frame[network + 12..], &[0, 0, 17, 0, 17]].concat();
            assert_eq!(words.len() % 2, 0);
            let sum: u32 = words.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "{frame:x?}");
        };
        socket.send_to(b"to be sum", "192.0.2.255:9").unwrap();
        judged(taken(&mut b), 14, &[8, 0]);
        match tag_what_leaves(a.index(), 0x6005) {
            Ok(_tagging) => {
                socket.send_to(b"to be sum", "192.0.2.255:9").unwrap();
                judged(taken(&mut b), 18, &[0x81, 0, 0x60, 5, 8, 0]);
            }
            Err(why) => eprintln!("not tested with a tag: this kernel attaches no program that adds one ({why})"),
        }
    });
}

/// What the far end cannot take is not sent again and again without end by the port itself.
pub fn a_frame_too_long_for_the_far_end_is_busy_and_others_go_on<P: Port>(open: Open<P>) {
    with_cable(|| {
        let (mut a, mut b) = both(open);
        ip("link set right mtu 1000");
        for _ in 0..1000 {
            assert_eq!(a.send(&frame(1, 1514, None)), Sent::Busy);
        }
        let fresh = frame(2, 1014, None);
        until("a shorter one is sent", || a.send(&fresh) == Sent::Done);
        assert_eq!(taken(&mut b), fresh);
        nothing(&mut b);
    });
}

pub fn promiscuous_mode_ends_with_the_port<P: Port>(open: Open<P>) {
    with_cable(|| {
        let promiscuity = || ip("-d link show left").contains("promiscuity 1");
        assert!(!promiscuity());
        let port = open("left", FRAMES).unwrap();
        assert!(promiscuity());
        drop(port);
        // A process that another test starts has the port, too, until it becomes another program.
        until("promiscuous mode has ended", || !promiscuity());
    });
}

pub fn what_cannot_be_a_port_is_named<P: Port + Debug>(open: Open<P>) {
    in_namespace(|| {
        let error = open("nothing", 64).unwrap_err();
        assert!(matches!(error, OpenError::NoInterface(_)), "{error:?}");
        assert!(error.to_string().contains("nothing"), "{error}");
        assert!(matches!(open("lo", 64), Err(OpenError::NotEthernet(_))));
    });
}

/// Called by the test of this path, which is run again as another process, the one that is killed.
pub fn a_killed_process_leaves_nothing_behind<P: Port>(open: Open<P>, test: &str) {
    const OPEN: &str = "the port is open";
    const VICTIM: &str = "ONTICK_TEST_TO_BE_KILLED";
    if std::env::var_os(VICTIM).is_some() {
        let _port = open("left", FRAMES).unwrap();
        println!("{OPEN}");
        // Until it is killed, or the other process is gone.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        return;
    }
    with_cable(|| {
        let free = ip("-d link show left");
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(VICTIM, "yes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let reported = BufReader::new(victim.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(reported.into_iter().any(|line| line.contains(OPEN)), "the other process did not open the port");
        assert_ne!(ip("-d link show left"), free);
        victim.kill().unwrap();
        victim.wait().unwrap();
        until("everything is as it was", || ip("-d link show left") == free);
        let (mut a, mut b) = both(open);
        assert_eq!((a.send(&frame(1, 64, None)), taken(&mut b)), (Sent::Done, frame(1, 64, None)));
    });
}
