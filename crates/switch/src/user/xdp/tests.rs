use std::time::Duration;

use ontick_rt::cpus;

use super::*;
use crate::user::conformance::{self, Open, taken};
use crate::user::open::OpenError;
use crate::user::packet::{DEFAULT_FRAMES, PacketPort};
use crate::user::port::{Port, Received, Sent};
use crate::user::testbed::{frame, in_namespace, ip, with_cable};
use ontick_tsn::model::Socket;

/// How ports are opened, unless the kernel has no AF_XDP.
fn open() -> Option<Open<XdpPort>> {
    let mut missing = false;
    with_cable(|| {
        missing = match XdpPort::open("left", 64) {
            Err(OpenError::Kernel { source, .. }) => source.raw_os_error() == Some(libc::EAFNOSUPPORT),
            Err(OpenError::HiddenTags { .. }) => true,
            _ => false,
        };
    });
    if missing {
        ontick_skip::skipped!("this kernel has no AF_XDP sockets, or none that see VLAN tags on virtual Ethernet");
    }
    (!missing).then_some(XdpPort::open as Open<XdpPort>)
}

macro_rules! does {
    ($($what:ident),* $(,)?) => { $(
        #[test]
        fn $what() {
            if let Some(open) = open() {
                conformance::$what(open);
            }
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
    if let Some(open) = open() {
        conformance::the_largest_frames_come_in_whole(open, Socket::Xdp);
    }
}

#[test]
fn what_finds_no_room_is_counted() {
    if let Some(open) = open() {
        conformance::what_finds_no_room_is_counted(open, true);
    }
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    let Some(open) = open() else { return };
    conformance::a_killed_process_leaves_nothing_behind(
        open,
        "user::xdp::tests::a_killed_process_leaves_nothing_behind",
    );
}

#[test]
fn every_queue_of_the_interface_is_served() {
    let Some(open) = open() else { return };
    in_namespace(|| {
        ip("link add left numtxqueues 4 numrxqueues 4 type veth peer name right numtxqueues 4 numrxqueues 4");
        ip("link set left up");
        ip("link set right up");
        let (mut a, mut b) = (PacketPort::open("left", DEFAULT_FRAMES).unwrap(), open("right", 64).unwrap());
        // Which queue a frame takes follows from the CPU that sends it.
        for cpu in cpus::online() {
            let mut only = rustix::thread::CpuSet::new();
            only.set(cpu as usize);
            if rustix::thread::sched_setaffinity(None, &only).is_err() {
                continue;
            }
            for number in 0..1000 {
                let sent = frame(number, 100, None);
                assert_eq!((a.send(&sent), taken(&mut b)), (Sent::Done, sent), "from CPU {cpu}");
            }
        }
        assert_eq!((b.send(&frame(1, 64, None)), taken(&mut a)), (Sent::Done, frame(1, 64, None)));
    });
}

#[test]
fn addresses_that_no_bridge_forwards_stay_with_the_kernel() {
    let Some(open) = open() else { return };
    with_cable(|| {
        let mut a = PacketPort::open("left", DEFAULT_FRAMES).unwrap();
        let mut kernel = PacketPort::open("right", DEFAULT_FRAMES).unwrap();
        let mut b = open("right", DEFAULT_FRAMES).unwrap();
        // The first and the last of them, the one after, and one of another range.
        for (octets, reserved) in [
            ([0x01, 0x80, 0xc2, 0x00, 0x00, 0x00], true),
            ([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0f], true),
            ([0x01, 0x80, 0xc2, 0x00, 0x00, 0x10], false),
            ([0x01, 0x80, 0xc2, 0x00, 0x01, 0x00], false),
            ([0x01, 0x1b, 0x19, 0x00, 0x00, 0x00], false),
        ] {
            let mut sent = frame(1, 100, None);
            sent[..6].copy_from_slice(&octets);
            assert_eq!(a.send(&sent), Sent::Done);
            let seen = if reserved { taken(&mut kernel) } else { taken(&mut b) };
            assert_eq!(seen, sent);
            let other = if reserved { b.receive(&mut [0; 2048]) } else { kernel.receive(&mut [0; 2048]) };
            assert_eq!(other, Received::Nothing, "{octets:x?}");
        }
    });
}

#[test]
fn it_is_free_again_as_soon_as_it_is_closed() {
    let Some(open) = open() else { return };
    with_cable(|| {
        let attached = || ip("-d link show left").contains("xdp");
        for _ in 0..3 {
            let port = open("left", 64).unwrap();
            assert!(attached());
            drop(port);
            // A process that another test starts meanwhile has the port open, too, until it runs its program.
            assert!((0..500).any(|_| !attached()));
        }
        let _port = open("left", 64).unwrap();
        assert!(matches!(open("left", 64), Err(OpenError::InUse { .. })));
    });
}

#[test]
fn a_frame_can_be_waited_for() {
    let Some(open) = open() else { return };
    with_cable(|| {
        let (mut a, mut b) = conformance::both(open);
        assert!(!b.wait(Duration::ZERO).unwrap());
        assert_eq!(a.send(&frame(1, 64, None)), Sent::Done);
        assert!(b.wait(Duration::from_secs(30)).unwrap());
        assert_eq!(taken(&mut b), frame(1, 64, None));
        assert!(!b.wait(Duration::ZERO).unwrap());
    });
}
