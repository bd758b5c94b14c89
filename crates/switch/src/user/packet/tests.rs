use std::net::UdpSocket;
use std::time::Duration;

use ontick_rt::clock::ClockId;

use super::*;
use crate::user::open::OpenError;
use crate::user::port::{Port, Received, Sent};
use crate::user::testbed::{frame, in_namespace, ip, until, with_cable};

/// The next frame.
fn taken(port: &mut PacketPort) -> Vec<u8> {
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

fn cable() -> (PacketPort, PacketPort) {
    (PacketPort::open("left", DEFAULT_FRAMES).unwrap(), PacketPort::open("right", DEFAULT_FRAMES).unwrap())
}

#[test]
fn frames_of_every_length_arrive_bit_for_bit() {
    with_cable(|| {
        let (mut a, mut b) = cable();
        for octets in 14..=1514 {
            let plain = frame(octets as u32, octets, None);
            assert_eq!((a.send(&plain), taken(&mut b)), (Sent::Done, plain), "{octets} octets");
        }
        // The kernel drops a tag with less than two octets behind it; a wire has at least 46.
        for octets in 20..=1518 {
            let tagged = frame(octets as u32, octets, Some((octets * 41) as u16));
            assert_eq!((b.send(&tagged), taken(&mut a)), (Sent::Done, tagged), "{octets} octets with a tag");
        }
        assert_eq!(a.receive(&mut [0; 2048]), Received::Nothing);
        assert_eq!((a.overflowed(), b.overflowed()), (0, 0));
    });
}

#[test]
fn a_service_tag_and_the_tag_behind_it_stay() {
    with_cable(|| {
        let (mut a, mut b) = cable();
        let mut sent = frame(1, 100, Some(0x6005));
        sent.splice(12..12, [0x88, 0xa8, 0x20, 0x07]);
        assert_eq!((a.send(&sent), taken(&mut b)), (Sent::Done, sent));
    });
}

#[test]
fn a_frame_too_long_for_the_interface_is_refused() {
    with_cable(|| {
        let (mut a, mut b) = cable();
        assert_eq!(a.send(&frame(1, 1515, None)), Sent::Refused);
        assert_eq!(a.send(&frame(1, 1519, Some(1))), Sent::Refused);
        assert_eq!(a.send(&frame(1, 1514, None)[..13]), Sent::Refused);
        assert_eq!(b.receive(&mut [0; 2048]), Received::Nothing);
    });
}

#[test]
fn what_finds_the_ring_full_is_counted() {
    with_cable(|| {
        let mut a = PacketPort::open("left", 1).unwrap();
        let mut b = PacketPort::open("right", 1).unwrap();
        let mut slot = [0; 2048];
        let (mut sent, mut received, mut overflowed) = (0u32, 0, 0);
        for round in 1..=5 {
            let first = sent;
            for _ in 0..1000 * round {
                assert_eq!(a.send(&frame(sent, 64, None)), Sent::Done);
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
                received + overflowed + dropped_by_kernel("right") == u64::from(sent)
            });
            assert!(overflowed > 0 && next > first);
        }
        assert_eq!(b.overflowed(), 0);
    });
}

/// Frames that the kernel dropped before they reached any socket: its own queue between veth interfaces is bounded.
fn dropped_by_kernel(interface: &str) -> u64 {
    let told: serde_json::Value = serde_json::from_str(&ip(&format!("-j -s link show {interface}"))).unwrap();
    told[0]["stats64"]["rx"]["dropped"].as_u64().unwrap()
}

#[test]
fn oversized_frames_are_told_and_the_next_ones_come() {
    with_cable(|| {
        ip("link set left mtu 9000");
        ip("link set right mtu 9000");
        let (mut a, mut b) = cable();
        let mut slot = [0; 512];
        for (octets, tag) in [(4000, None), (4000, Some(1)), (513, None), (513, Some(1)), (516, Some(1))] {
            assert_eq!(a.send(&frame(1, octets, tag)), Sent::Done);
            assert_eq!(a.send(&frame(2, 512, tag)), Sent::Done);
            assert_eq!(b.receive(&mut slot), Received::Oversized, "{octets} octets, tag {tag:?}");
            assert_eq!((b.receive(&mut slot), &slot[..]), (Received::Frame(512), &frame(2, 512, tag)[..]));
        }
    });
}

#[test]
fn an_interface_that_goes_down_and_comes_back() {
    with_cable(|| {
        let (mut a, mut b) = cable();
        let sent = frame(1, 64, None);
        for down in ["left", "right"] {
            ip(&format!("link set {down} down"));
            // The kernel tells of a lost carrier a little later than it has it.
            until("a link that is down is told", || a.send(&sent) == Sent::Down);
            assert_eq!((a.receive(&mut [0; 2048]), b.receive(&mut [0; 2048])), (Received::Nothing, Received::Nothing));
            ip(&format!("link set {down} up"));
            until("the link is back", || a.send(&sent) == Sent::Done);
            assert_eq!(taken(&mut b), sent);
            until("the other way, too", || b.send(&sent) == Sent::Done);
            assert_eq!(taken(&mut a), sent);
        }
    });
}

#[test]
fn an_interface_that_vanishes() {
    with_cable(|| {
        let (mut a, mut b) = cable();
        ip("link del left");
        for port in [&mut a, &mut b] {
            assert_eq!(port.send(&frame(1, 64, None)), Sent::Down);
            assert_eq!((port.receive(&mut [0; 2048]), port.overflowed()), (Received::Nothing, 0));
        }
        // An interface of the same name is another one.
        ip("link add left type veth peer name right");
        assert_eq!(a.send(&frame(1, 64, None)), Sent::Down);
    });
}

#[test]
fn a_full_queue_of_the_driver_is_busy() {
    in_namespace(|| {
        let tap = match Tap::new("tap0") {
            Ok(tap) => tap,
            Err(why) => return eprintln!("skipped: no TAP interface here ({why})"),
        };
        ip("link set tap0 txqueuelen 8 up");
        let mut port = PacketPort::open("tap0", DEFAULT_FRAMES).unwrap();
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
        assert_eq!(port.send(&frame(sent, 64, None)), Sent::Done);
        assert_eq!(tap.take(), frame(sent, 64, None));
    });
}

#[test]
fn frames_that_this_machine_sends_itself_are_left_out() {
    with_cable(|| {
        let (mut a, mut b) = cable();
        ip("addr add 192.0.2.1/24 dev left");
        let socket = UdpSocket::bind("192.0.2.1:0").unwrap();
        socket.set_broadcast(true).unwrap();
        socket.send_to(b"hello", "192.0.2.255:9").unwrap();
        let seen = taken(&mut b);
        assert_eq!(&seen[seen.len() - 5..], b"hello");
        assert_eq!(a.receive(&mut [0; 2048]), Received::Nothing);
    });
}

#[test]
fn promiscuous_mode_ends_with_the_port() {
    with_cable(|| {
        let promiscuity = || ip("-d link show left").contains("promiscuity 1");
        assert!(!promiscuity());
        let port = PacketPort::open("left", DEFAULT_FRAMES).unwrap();
        assert!(promiscuity());
        drop(port);
        assert!(!promiscuity());
    });
}

#[test]
fn what_cannot_be_a_port_is_named() {
    in_namespace(|| {
        let error = PacketPort::open("nothing", 64).unwrap_err();
        assert!(matches!(error, OpenError::NoInterface(_)), "{error:?}");
        assert!(error.to_string().contains("nothing"), "{error}");
        assert!(matches!(PacketPort::open("lo", 64), Err(OpenError::NotEthernet(_))));
        ip("link add left type veth peer name right");
        let error = PacketPort::open("left", u32::MAX).unwrap_err();
        assert!(matches!(error, OpenError::NoMemory { .. }), "{error:?}");
    });
}

#[test]
fn a_reader_tells_when_a_frame_arrived_and_who_says_so() {
    with_cable(|| {
        let mut a = PacketPort::open("left", DEFAULT_FRAMES).unwrap();
        let mut b = PacketReader::open("right", DEFAULT_FRAMES, Stamps::Hardware).unwrap();
        // No virtual interface has stamps of its own.
        assert_eq!(b.stamps(), Stamps::Software);
        assert!(!b.wait(Duration::ZERO).unwrap());
        assert!(b.next(|_| ()).is_none());
        let mut last = ClockId::Realtime.now_ns();
        for number in 0..100 {
            let (plain, tagged) = (frame(number, 200, None), frame(number, 204, Some(0x6000 + number as u16)));
            assert_eq!((a.send(&plain), a.send(&tagged)), (Sent::Done, Sent::Done));
            let sent = ClockId::Realtime.now_ns();
            assert!(b.wait(Duration::from_secs(30)).unwrap());
            b.next(|frame| {
                assert_eq!(
                    (frame.bytes, frame.tag, frame.cut, frame.stamps),
                    (&plain[..], None, false, Stamps::Software)
                );
                assert!(last <= frame.stamp_ns && frame.stamp_ns <= sent, "{last} {} {sent}", frame.stamp_ns);
                last = frame.stamp_ns;
            })
            .unwrap();
            until("the other frame has come", || {
                b.next(|frame| {
                    let tag = frame.tag.unwrap();
                    assert_eq!((tag.pcp(), tag.vlan(), tag.kind), (3, number as u16, 0x8100));
                    assert_eq!(frame.bytes, plain);
                    assert!(last <= frame.stamp_ns && frame.stamp_ns <= sent);
                    last = frame.stamp_ns;
                })
                .is_some()
            });
        }
        assert_eq!(b.overflowed(), 0);
    });
}

/// A TAP interface: a driver whose queue is emptied only when somebody reads.
struct Tap(std::fs::File);

impl Tap {
    #[allow(unsafe_code)]
    fn new(name: &str) -> std::io::Result<Self> {
        use std::os::fd::AsRawFd;
        const TUNSETIFF: libc::Ioctl = 0x4004_54ca_u32 as libc::Ioctl;
        let file = std::fs::File::options().read(true).write(true).open("/dev/net/tun")?;
        // SAFETY: zero is a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the request is of the kind that TUNSETIFF takes.
        let made = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &mut request) };
        if made == 0 { Ok(Self(file)) } else { Err(std::io::Error::last_os_error()) }
    }

    fn take(&self) -> Vec<u8> {
        let mut frame = [0; 2048];
        let octets = std::io::Read::read(&mut &self.0, &mut frame).unwrap();
        frame[..octets].to_vec()
    }
}
