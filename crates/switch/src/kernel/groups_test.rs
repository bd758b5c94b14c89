//! Groups on a bridge of the kernel: where their frames go, and that nothing of it stays.

use std::sync::atomic::AtomicBool;

use super::reconcile;
use crate::apply::{Act, Host, Live, SwitchDir, apply, differences, revert};
use crate::user::packet::PacketPort;
use crate::user::port::{Port, Received, Sent};
use crate::user::testbed::{frame, in_namespace, ip, locked, until};

const FILE: &str = r#"
[switch]
name = "cell4"
plane = "kernel"
flood = ["p1", "p3"]
[[class]]
name = "all"
queue = 0
[[port]]
name = "p1"
[[port]]
name = "p2"
[[port]]
name = "p3"
[[port]]
name = "p4"
[[forward]]
to = "03:00:00:00:00:01"
ports = ["p2", "p4"]
"#;

const GROUP: [u8; 6] = [3, 0, 0, 0, 0, 1];

fn to(to: [u8; 6], tag: Option<u16>, number: u32) -> Vec<u8> {
    let mut frame = frame(number, 200, tag);
    frame[..6].copy_from_slice(&to);
    frame
}

/// An IGMPv2 general query, as a multicast router sends it (RFC 2236): its port is a way for all groups by default.
fn query() -> Vec<u8> {
    let mut frame = vec![0x01, 0, 0x5e, 0, 0, 1, 2, 0, 0, 0, 0, 0xd, 0x08, 0x00];
    // The header with router alert and its sum, then the query with its own.
    frame.extend([0x46, 0, 0, 32, 0, 0, 0, 0, 1, 2, 0x44, 0xd5, 192, 0, 2, 1, 224, 0, 0, 1, 0x94, 4, 0, 0]);
    frame.extend([0x11, 100, 0xee, 0x9b, 0, 0, 0, 0]);
    frame.resize(60, 0);
    frame
}

/// Those of `numbers` that came in, by what is written behind the addresses and tags; the last frame ends the list.
fn numbers(port: &mut PacketPort, last: &[u8], sent: &[Vec<u8>]) -> Vec<usize> {
    let mut came = Vec::new();
    let mut slot = [0; 2048];
    until("the last frame has come", || match port.receive(&mut slot) {
        Received::Frame(octets) if slot[..octets] == *last => true,
        Received::Frame(octets) => {
            came.extend(sent.iter().position(|frame| slot[..octets] == **frame));
            false
        }
        _ => false,
    });
    came
}

/// Everything that a switch changes, but what counts.
fn state() -> String {
    let links = ip("-d -j link show");
    let look = |argv: &[&str]| Live.query(argv).unwrap();
    format!("{links}{}{}", look(&["bridge", "-j", "mdb", "show"]), look(&["tc", "-j", "qdisc", "show"]))
}

#[test]
fn a_group_goes_where_its_entry_leads_and_nothing_stays() {
    in_namespace(|| {
        for n in 1..=4 {
            ip(&format!("link add p{n} type veth peer name q{n}"));
            ip(&format!("link set q{n} up"));
            ip(&format!("link set p{n} up"));
        }
        let place = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell4", Some(place.path())).unwrap();
        let switch = ontick_tsn::config::read(FILE).unwrap().switch;
        let settled = || !state().contains("\"operstate\":\"LOWERLAYERDOWN\"");
        until("all links are up", settled);
        let before = state();
        let plan = super::plan(&Live, &switch, 0).unwrap();
        apply(&Live, &folder, &locked(&folder), &plan, FILE).unwrap();

        let [mut q1, mut q2, mut q3, mut q4] = ["q1", "q2", "q3", "q4"].map(|name| PacketPort::open(name, 64).unwrap());
        // A multicast router behind a port changes nothing.
        assert_eq!(q3.send(&query()), Sent::Done);
        let of_group = [to(GROUP, None, 1), to(GROUP, Some(6 << 13), 2), to(GROUP, Some(7), 3)];
        let others = [to([3, 0, 0, 0, 0, 9], None, 4), to([0x01, 0, 0x5e, 1, 2, 3], None, 5)];
        let sent = [&of_group[..], &others].concat();
        let end = |port: &mut PacketPort, ends: &[u8]| assert_eq!(port.send(ends), Sent::Done);
        sent.iter().for_each(|frame| end(&mut q1, frame));
        // A last frame for each: to the group, and to all.
        let (ends_group, ends_others) = (to(GROUP, None, 6), to([0xff; 6], None, 7));
        end(&mut q1, &ends_group);
        end(&mut q1, &ends_others);
        assert_eq!(numbers(&mut q2, &ends_group, &sent), [0, 1, 2], "by the entry");
        assert_eq!(numbers(&mut q4, &ends_group, &sent), [0, 1, 2], "by the entry");
        assert_eq!(numbers(&mut q3, &ends_others, &sent), [3, 4], "by flooding");

        // What another tool takes away is put back.
        Live.act(&Act::run("bridge mdb del dev cell4 port p2 grp 03:00:00:00:00:01")).unwrap();
        let expects = || folder.plan().unwrap().steps.into_iter().flat_map(|step| step.expects).collect::<Vec<_>>();
        assert_eq!(differences(&Live, &expects()).len(), 1);
        let (stop, mut said) = (AtomicBool::new(false), Vec::new());
        let lock = folder.watch().unwrap().unwrap();
        let mut report = |sentence: &str| {
            said.push(sentence.to_owned());
            stop.store(sentence.contains("put back"), std::sync::atomic::Ordering::Relaxed);
        };
        reconcile::run(&Live, &folder, &lock, &switch, &reconcile::Options::default(), &stop, &mut report).unwrap();
        assert_eq!(said, ["p2 has no entry for 03:00:00:00:00:01 in cell4: put back (port p2: group addresses)"]);
        assert_eq!(differences(&Live, &expects()), []);

        drop((q1, q2, q3, q4));
        let reverted = revert(&Live, &folder, &locked(&folder)).unwrap().unwrap();
        assert!(reverted.complete(), "{reverted:?}");
        // A child that another test has just started holds the sockets until it runs its program.
        until(&format!("the network is as before: {before}"), || state() == before);
    });
}
