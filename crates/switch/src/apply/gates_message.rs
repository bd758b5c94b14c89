//! Gates of a port straight to the kernel (rtnetlink(7), linux/pkt_sched.h): tc(8) has 1024 octets for a request with
//! taprio, in which some 28 entries of a list have room, and before iproute2 6.2 it knows no largest service data unit.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netdevice, recv, send, socket_with,
};

use crate::link::u32_at;
use crate::qdisc::{HANDLE, PRIORITIES, Taprio, WIRE_OVERHEAD};

/// Octets of a request that tc can make.
const TC_HAS: usize = 1_024;
/// Of struct nlmsghdr.
const HEADER: usize = 16;
const NLA_F_NESTED: u16 = 1 << 15;
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
    taprio.max_sdu.is_empty() && request(0, taprio).len() <= TC_HAS
}

/// Sets the gates of a port of the calling thread's network namespace, as `tc qdisc replace` does.
pub fn replace(port: &str, taprio: &Taprio) -> io::Result<()> {
    if taprio.entries.iter().any(|(_, for_ns)| u32::try_from(*for_ns).is_err()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an entry is longer than taprio can count"));
    }
    // Protocol 0 is NETLINK_ROUTE.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    let interface = netdevice::name_to_index(&socket, port)?;
    send(&socket, &request(interface, taprio), SendFlags::empty())?;
    let mut answer = [0; 4_096];
    loop {
        let (octets, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
        // A struct nlmsgerr: the number of the error, negative, or zero.
        match u32_at(&answer[..octets], HEADER) {
            Some(0) => return Ok(()),
            Some(error) => return Err(io::Error::from_raw_os_error((error as i32).wrapping_neg())),
            None => continue,
        }
    }
}

/// `RTM_NEWQDISC` for the root of an interface.
fn request(interface: u32, taprio: &Taprio) -> Vec<u8> {
    let mut to = vec![0; HEADER];
    // struct tcmsg: family and padding, then interface, handle, parent, info.
    let handle = u32::from_str_radix(HANDLE.trim_end_matches(':'), 16).expect("a constant") << 16;
    for word in [0, interface, handle, TC_H_ROOT, 0] {
        to.extend(word.to_ne_bytes());
    }
    attribute(&mut to, TCA_KIND, b"taprio\0");
    nest(&mut to, TCA_OPTIONS, |to| options(to, taprio));
    nest(&mut to, TCA_STAB, |to| attribute(to, TCA_STAB_BASE, &size_spec(WIRE_OVERHEAD)));
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
    let length = to.len() as u32;
    to[..4].copy_from_slice(&length.to_ne_bytes());
    to[4..6].copy_from_slice(&libc::RTM_NEWQDISC.to_ne_bytes());
    to[6..8].copy_from_slice(&flags.to_ne_bytes());
    to
}

/// struct tc_sizespec with nothing but an overhead, as `stab overhead` makes it.
fn size_spec(overhead: u32) -> [u8; 24] {
    let mut spec = [0; 24];
    spec[4..8].copy_from_slice(&overhead.to_ne_bytes());
    spec
}

fn options(to: &mut Vec<u8>, taprio: &Taprio) {
    if let Some(clock) = &taprio.clock {
        let clock = match clock.as_str() {
            "REALTIME" => libc::CLOCK_REALTIME,
            "MONOTONIC" => libc::CLOCK_MONOTONIC,
            _ => libc::CLOCK_TAI,
        };
        attribute(to, CLOCKID, &clock.to_ne_bytes());
    }
    if taprio.flags != 0 {
        attribute(to, FLAGS, &taprio.flags.to_ne_bytes());
    }
    if let Some(delay_ns) = taprio.delay_ns {
        attribute(to, TXTIME_DELAY, &delay_ns.to_ne_bytes());
    }
    attribute(to, PRIOMAP, &priority_map(taprio));
    attribute(to, BASE_TIME, &taprio.base_ns.to_ne_bytes());
    attribute(to, CYCLE_TIME, &taprio.cycle_ns.to_ne_bytes());
    for class in 0..taprio.max_sdu.len().max(taprio.preemptible.len()) {
        // The kernel asks of this one that it says so.
        nest(to, TC_ENTRY | NLA_F_NESTED, |to| {
            attribute(to, TC_ENTRY_INDEX, &(class as u32).to_ne_bytes());
            if let Some(sdu) = taprio.max_sdu.get(class) {
                attribute(to, TC_ENTRY_MAX_SDU, &sdu.to_ne_bytes());
            }
            if let Some(preemptible) = taprio.preemptible.get(class) {
                let fp = if *preemptible { TC_FP_PREEMPTIBLE } else { TC_FP_EXPRESS };
                attribute(to, TC_ENTRY_FP, &fp.to_ne_bytes());
            }
        });
    }
    nest(to, ENTRY_LIST | NLA_F_NESTED, |to| {
        for (gates, for_ns) in &taprio.entries {
            nest(to, ENTRY, |to| {
                // TC_TAPRIO_CMD_SET_GATES.
                attribute(to, ENTRY_CMD, &[0]);
                attribute(to, ENTRY_GATE_MASK, &gates.to_ne_bytes());
                attribute(to, ENTRY_INTERVAL, &(*for_ns as u32).to_ne_bytes());
            });
        }
    });
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

fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend((4 + value.len() as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

fn nest(to: &mut Vec<u8>, kind: u16, content: impl FnOnce(&mut Vec<u8>)) {
    let begin = to.len();
    attribute(to, kind, &[]);
    content(to);
    let length = (to.len() - begin) as u16;
    to[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
}

#[cfg(test)]
mod tests {
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
        assert_eq!(request(2, &taprio(2)), theirs);
    }

    #[test]
    fn tc_has_room_for_a_few_entries() {
        assert!(tc_can_set(&taprio(20)) && !tc_can_set(&taprio(30)));
        let long = request(2, &taprio(1_024));
        assert_eq!(long.len(), u32::from_ne_bytes(long[..4].try_into().unwrap()) as usize);
    }

    #[test]
    fn an_entry_that_is_too_long_is_refused() {
        let mut long = taprio(1);
        long.entries[0].1 = 5_000_000_000;
        assert_eq!(replace("lo", &long).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
