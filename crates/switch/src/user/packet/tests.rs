use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use ontick_rt::clock::ClockId;

use super::*;
use crate::user::conformance::{self, both, taken};
use crate::user::open::OpenError;
use crate::user::port::{Port, Received, Sent};
use crate::user::testbed::{frame, in_namespace, ip, until, with_cable};
use crate::verify::namespace::Namespace;
use ontick_tsn::model::Socket;

macro_rules! does {
    ($($what:ident),* $(,)?) => { $(
        #[test]
        fn $what() {
            conformance::$what(PacketPort::open);
        }
    )* };
}
does!(
    frames_of_every_length_arrive_bit_for_bit,
    a_service_tag_and_the_tag_behind_it_stay,
    a_frame_too_long_for_the_interface_is_refused,
    frames_longer_than_the_slot_are_reported,
    several_frames_in_one_call_arrive_in_order,
    several_frames_for_a_link_that_is_down_do_not_come_later,
    a_driver_s_queue_takes_some_of_several,
    an_interface_that_goes_down_and_comes_back,
    an_interface_that_vanishes,
    a_full_queue_of_the_driver_is_busy,
    checksums_and_tags_left_to_the_interface_are_put_in,
    a_frame_too_long_for_the_far_end_is_busy_and_others_go_on,
    promiscuous_mode_ends_with_the_port,
    what_cannot_be_a_port_is_named,
);

#[test]
fn the_largest_frames_come_in_whole() {
    conformance::the_largest_frames_come_in_whole(PacketPort::open, Socket::Packet);
}

#[test]
fn what_finds_no_room_is_counted() {
    conformance::what_finds_no_room_is_counted(PacketPort::open, false);
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    conformance::a_killed_process_leaves_nothing_behind(
        PacketPort::open,
        "user::packet::tests::a_killed_process_leaves_nothing_behind",
    );
}

#[test]
fn the_way_to_the_link_is_measured_by_frames_that_nobody_forwards() {
    with_cable(|| {
        let mut far = PacketPort::open("right", 128).unwrap();
        let least_ns = least_egress_ns("left").unwrap().expect("virtual Ethernet stamps what it sends");
        assert!((1..10_000).contains(&least_ns), "{least_ns}");
        let mut slot = [0; 2048];
        let mut came = 0;
        while let Received::Frame(octets) = far.receive(&mut slot) {
            came += 1;
            assert!(ontick_tsn::frame::Header::read(&slot[..octets]).unwrap().is_reserved());
        }
        assert_eq!(came, 64);
        ip("link set left down");
        assert_eq!(least_egress_ns("left").unwrap(), None);
        assert!(matches!(least_egress_ns("nobody"), Err(OpenError::NoInterface(_))));
    });
}

#[test]
fn a_sender_knows_when_its_last_frame_left() {
    with_cable(|| {
        let mut sender = PacketSender::open("left").unwrap();
        assert_eq!((sender.send(&frame(0, 100, None)), sender.take_stamp()), (Sent::Done, None));
        sender.stamp_sent().unwrap();
        let mut before_ns = 0;
        for number in 0..10 {
            before_ns = ClockId::Realtime.now_ns();
            assert_eq!(sender.send(&frame(number, 100, None)), Sent::Done);
        }
        let stamp_ns = sender.take_stamp().expect("virtual Ethernet stamps what it sends");
        assert!((before_ns..=ClockId::Realtime.now_ns()).contains(&stamp_ns), "{before_ns} {stamp_ns}");
        assert_eq!(sender.take_stamp(), None);
    });
}

#[test]
fn frames_that_the_ring_cut_are_reported() {
    with_cable(|| {
        ip("link set left mtu 9000");
        ip("link set right mtu 9000");
        let (mut a, mut b) = both(PacketPort::open);
        let mut slot = [0; 16384];
        for tag in [None, Some(1)] {
            assert_eq!((a.send(&frame(1, 4000, tag)), a.send(&frame(2, 512, tag))), (Sent::Done, Sent::Done));
            until("a frame has come", || match b.receive(&mut slot) {
                Received::Nothing => false,
                received => received == Received::Oversized,
            });
            assert_eq!(taken(&mut b), frame(2, 512, tag));
        }
    });
}

#[test]
fn a_ring_that_no_machine_has_the_memory_for() {
    with_cable(|| {
        let error = PacketPort::open("left", u32::MAX).unwrap_err();
        assert!(matches!(error, OpenError::NoMemory { .. }), "{error:?}");
    });
}

#[test]
fn frames_that_this_machine_sends_itself_are_left_out() {
    with_cable(|| {
        let (mut a, mut b) = both(PacketPort::open);
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

/// Checksums of virtual interfaces are left to be made until somebody reads them as they are: these ports.
#[test]
fn what_hosts_on_this_machine_send_arrives_with_its_checksum() {
    in_namespace(|| {
        let [near, far] = ["192.0.2.1/24", "192.0.2.2/24"].map(|address| {
            let host = Namespace::new().unwrap();
            host.ip(&["link", "set", "lo", "up"]).unwrap();
            host.ip(&["link", "add", "eth0", "type", "veth", "peer", "name", "port"]).unwrap();
            host.ip(&["addr", "add", address, "dev", "eth0"]).unwrap();
            host.ip(&["link", "set", "eth0", "up"]).unwrap();
            host.ip(&["link", "set", "port", "up"]).unwrap();
            host
        });
        let open = |host: &Namespace| host.within(|| PacketPort::open("port", DEFAULT_FRAMES)).unwrap().unwrap();
        let mut ports = [open(&near), open(&far)];
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _stop = StopAtEnd(&stop);
            scope.spawn(|| {
                let mut slot = [0; 2048];
                while !stop.load(Relaxed) {
                    for from in 0..2 {
                        if let Received::Frame(octets) = ports[from].receive(&mut slot) {
                            ports[1 - from].send(&slot[..octets]);
                        }
                    }
                    std::thread::yield_now();
                }
            });
            let patience = Some(Duration::from_secs(30));
            let to = far.within(|| UdpSocket::bind("192.0.2.2:4660")).unwrap().unwrap();
            let from = near.within(|| UdpSocket::bind("192.0.2.1:0")).unwrap().unwrap();
            to.set_read_timeout(patience).unwrap();
            from.send_to(b"by UDP", "192.0.2.2:4660").unwrap();
            let mut reported = [0; 6];
            to.recv(&mut reported).unwrap();
            assert_eq!(&reported, b"by UDP");

            let to = far.within(|| TcpListener::bind("192.0.2.2:4660")).unwrap().unwrap();
            let connect = || TcpStream::connect_timeout(&"192.0.2.2:4660".parse().unwrap(), Duration::from_secs(30));
            let mut from = near.within(connect).unwrap().unwrap();
            let (mut to, _) = to.accept().unwrap();
            to.set_read_timeout(patience).unwrap();
            from.write_all(b"by TCP").unwrap();
            to.read_exact(&mut reported).unwrap();
            assert_eq!(&reported, b"by TCP");
        });
    });
}

/// Ends the forwarding when a test ends, however it does.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
