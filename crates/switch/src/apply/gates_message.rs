//! Gates of a port straight to the kernel (rtnetlink(7), linux/pkt_sched.h): tc(8) has 1024 octets for a request with
//! taprio, in which some 28 entries of a list have room, and before iproute2 6.2 it knows no largest service data unit.

use std::io;

use ontick_netlink::{Attributes, HEADER, Protocol, Socket};
use rustix::net::netdevice;

use crate::qdisc::{HANDLE, PRIORITIES, Taprio, WIRE_OVERHEAD};

/// Octets of a request that tc can make.
const TC_HAS: usize = 1_024;
const TC_H_ROOT: u32 = u32::MAX;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STAB: u16 = 8;
const TCA_STAB_BASE: u16 = 1;

const PRIOMAP: u16 = 1;
const ENTRY_LIST: u16 = 2;
const BASE_TIME: u16 = 3;
const CLOCKID: u16 = 5;
const CYCLE_TIME: u16 = 8;
const FLAGS: u16 = 10;
const TXTIME_DELAY: u16 = 11;
const TC_ENTRY: u16 = 12;

const ENTRY: u16 = 1;
const ENTRY_CMD: u16 = 2;
const ENTRY_GATE_MASK: u16 = 3;
const ENTRY_INTERVAL: u16 = 4;

const TC_ENTRY_INDEX: u16 = 1;
const TC_ENTRY_MAX_SDU: u16 = 2;
const TC_ENTRY_FP: u16 = 3;
const TC_FP_EXPRESS: u32 = 1;
const TC_FP_PREEMPTIBLE: u32 = 2;

/// Whether tc has room for it, and words for all of it, whatever its release.
pub fn tc_can_set(taprio: &Taprio) -> bool {
    taprio.max_sdu.is_empty() && HEADER + body(0, taprio).len() <= TC_HAS
}

/// Sets the gates of a port of the calling thread's network namespace, as `tc qdisc replace` does.
pub fn replace(port: &str, taprio: &Taprio) -> io::Result<()> {
    if taprio.entries.iter().any(|(_, for_ns)| u32::try_from(*for_ns).is_err()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an entry is longer than taprio can count"));
    }
    let mut socket = Socket::open(Protocol::Route)?;
    let interface = netdevice::name_to_index(&socket, port)?;
    socket.ask(libc::RTM_NEWQDISC, FLAGS_OF_REPLACE, &body(interface, taprio), |_| ())
}

const FLAGS_OF_REPLACE: i32 = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;

/// What follows the header of `RTM_NEWQDISC` for the root of an interface.
fn body(interface: u32, taprio: &Taprio) -> Vec<u8> {
    // struct tcmsg: family and padding, then interface, handle, parent, info.
    let handle = u32::from_str_radix(HANDLE.trim_end_matches(':'), 16).expect("a constant") << 16;
    let mut body: Vec<u8> = [0, interface, handle, TC_H_ROOT, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    let overhead = Attributes::default().with(TCA_STAB_BASE, &size_spec(WIRE_OVERHEAD));
    let all = Attributes::default().text(TCA_KIND, "taprio").unmarked(TCA_OPTIONS, &options(taprio));
    body.extend(all.unmarked(TCA_STAB, &overhead).octets());
    body
}

/// struct tc_sizespec with nothing but an overhead, as `stab overhead` makes it.
fn size_spec(overhead: u32) -> [u8; 24] {
    let mut spec = [0; 24];
    spec[4..8].copy_from_slice(&overhead.to_ne_bytes());
    spec
}

fn options(taprio: &Taprio) -> Attributes {
    let mut options = Attributes::default();
    if let Some(clock) = &taprio.clock {
        let clock = match clock.as_str() {
            "REALTIME" => libc::CLOCK_REALTIME,
            "MONOTONIC" => libc::CLOCK_MONOTONIC,
            _ => libc::CLOCK_TAI,
        };
        options = options.with(CLOCKID, &clock.to_ne_bytes());
    }
    if taprio.flags != 0 {
        options = options.number(FLAGS, taprio.flags);
    }
    if let Some(delay_ns) = taprio.delay_ns {
        options = options.number(TXTIME_DELAY, delay_ns);
    }
    options = options
        .with(PRIOMAP, &priority_map(taprio))
        .with(BASE_TIME, &taprio.base_ns.to_ne_bytes())
        .with(CYCLE_TIME, &taprio.cycle_ns.to_ne_bytes());
    for class in 0..taprio.max_sdu.len().max(taprio.preemptible.len()) {
        options = options.nested(TC_ENTRY, &of_class(taprio, class));
    }
    let entries = taprio.entries.iter().fold(Attributes::default(), |entries, (gates, for_ns)| {
        // TC_TAPRIO_CMD_SET_GATES.
        let entry = Attributes::default().with(ENTRY_CMD, &[0]).number(ENTRY_GATE_MASK, *gates);
        entries.unmarked(ENTRY, &entry.number(ENTRY_INTERVAL, *for_ns as u32))
    });
    options.nested(ENTRY_LIST, &entries)
}

/// What a class has of its own.
fn of_class(taprio: &Taprio, class: usize) -> Attributes {
    let mut of_class = Attributes::default().number(TC_ENTRY_INDEX, class as u32);
    if let Some(sdu) = taprio.max_sdu.get(class) {
        of_class = of_class.number(TC_ENTRY_MAX_SDU, *sdu);
    }
    if let Some(preemptible) = taprio.preemptible.get(class) {
        of_class = of_class.number(TC_ENTRY_FP, if *preemptible { TC_FP_PREEMPTIBLE } else { TC_FP_EXPRESS });
    }
    of_class
}

/// struct tc_mqprio_qopt: how many classes, the class of each priority, no hardware, and each class's transmit queues.
fn priority_map(taprio: &Taprio) -> Vec<u8> {
    let mut map = vec![taprio.queues.len() as u8];
    map.extend(taprio.map);
    map.push(0);
    let queues: Vec<_> = taprio.all_queues().collect();
    let of_all = |value: &dyn Fn(&std::ops::Range<u16>) -> u16| {
        (0..PRIORITIES).flat_map(|class| queues.get(class).map_or(0, value).to_ne_bytes()).collect::<Vec<u8>>()
    };
    map.extend(of_all(&|queues| queues.len() as u16));
    map.extend(of_all(&|queues| queues.start));
    map
}

#[cfg(test)]
mod tests {
    use ontick_netlink::request;

    use super::*;

    fn taprio(entries: usize) -> Taprio {
        Taprio {
            map: [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
            queues: vec![0, 1, 3],
            counts: vec![1, 2, 1],
            base_ns: 1_735_689_710_649_397_214,
            cycle_ns: 1_000_000 * entries as u64,
            entries: (0..entries).map(|i| (1 << (i % 3), 1_000_000)).collect(),
            clock: Some("TAI".into()),
            flags: 0,
            delay_ns: None,
            max_sdu: vec![],
            preemptible: vec![],
        }
    }

    /// iproute2 6.1 does, without a sequence number; taken down by strace(1).
    #[test]
    fn it_is_what_tc_sends() {
        let theirs = include_str!("gates_message_by_tc.txt").split_ascii_whitespace();
        let mut theirs: Vec<u8> = theirs.map(|octet| u8::from_str_radix(octet, 16).unwrap()).collect();
        // The interface.
        theirs[HEADER + 4] = 2;
        let flags = libc::NLM_F_ACK | FLAGS_OF_REPLACE;
        assert_eq!(request(libc::RTM_NEWQDISC, flags, 0, &body(2, &taprio(2))), theirs);
    }

    #[test]
    fn tc_has_room_for_a_few_entries() {
        assert!(tc_can_set(&taprio(20)) && !tc_can_set(&taprio(30)));
    }

    #[test]
    fn an_entry_that_is_too_long_is_refused() {
        let mut long = taprio(1);
        long.entries[0].1 = 5_000_000_000;
        assert_eq!(replace("lo", &long).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
