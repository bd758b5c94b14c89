use std::time::Duration;

use ontick_netlink::{Message, messages};
use proptest::prelude::*;

use super::*;
use crate::user::testbed::{in_namespace, ip};

/// Everything up to the event that `last` tells.
fn heard(watch: &mut Watch, last: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let event = watch.next(Duration::from_secs(30)).unwrap();
        events.push(event.unwrap_or_else(|| panic!("nothing more after {events:?}")));
        if events.last().is_some_and(&last) {
            return events;
        }
    }
}

fn is(name: &str, change: Change) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Link { name: n, change: c, .. } if n == name && *c == change)
}

#[test]
fn a_link_from_its_beginning_to_its_end() {
    in_namespace(|| {
        let mut watch = Watch::begin().unwrap();
        assert_eq!(watch.links().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["lo"]);
        assert_eq!(watch.next(Duration::ZERO).unwrap(), None);

        ip("link add left type veth peer name right");
        ip("link set left up");
        heard(&mut watch, is("left", Change::AdminUp));
        assert!(
            watch.named("left").is_some_and(|link| link.up && !link.carrier && link.kind.as_deref() == Some("veth"))
        );
        let index = |watch: &Watch, name| watch.named(name).unwrap().index;
        assert_eq!(watch.named("left").unwrap().other, Some(index(&watch, "right")));

        ip("link set right up");
        heard(&mut watch, is("left", Change::CarrierUp));
        ip("link set right down");
        heard(&mut watch, is("left", Change::CarrierDown));

        ip("link add br0 type bridge");
        ip("link set left master br0");
        heard(
            &mut watch,
            |event| matches!(event, Event::Link { name, change: Change::Master { to, .. }, .. } if name == "left" && to.is_some()),
        );
        assert_eq!(watch.named("left").unwrap().master, Some(index(&watch, "br0")));
        ip("link set left nomaster");
        let events =
            heard(&mut watch, |event| matches!(event, Event::Link { change: Change::Master { to: None, .. }, .. }));
        // Leaving a bridge is reported by a message that looks like the interface's end.
        assert!(!events.iter().any(is("left", Change::Gone)));

        ip("link set left down");
        heard(&mut watch, is("left", Change::AdminDown));
        ip("link set left name other");
        heard(&mut watch, is("other", Change::Renamed { from: "left".into() }));
        ip("link del other");
        heard(&mut watch, is("other", Change::Gone));
        assert!(watch.named("other").is_none() && watch.named("left").is_none());
    });
}

#[test]
fn a_link_that_only_flickers_is_reported() {
    in_namespace(|| {
        ip("link add left type veth peer name right");
        ip("link set left up");
        ip("link set right up");
        let mut watch = Watch::begin().unwrap();
        let reported = |events: &[Event]| {
            events.iter().any(|e| matches!(e, Event::Link { name, change, .. } if name == "left" && matches!(change, Change::Flapped | Change::CarrierDown)))
        };
        ip("link set right down");
        ip("link set right up");
        // Either as one event or as two, but never as nothing.
        let events =
            heard(&mut watch, |event| is("left", Change::CarrierUp)(event) || is("left", Change::Flapped)(event));
        assert!(reported(&events), "{events:?}");
    });
}

#[test]
fn queueing_disciplines_that_come_and_go() {
    in_namespace(|| {
        ip("link add left type veth peer name right");
        ip("link set left up");
        let mut watch = Watch::begin().unwrap();
        let index = watch.named("left").unwrap().index;
        let tc = |words: &str| {
            let output = std::process::Command::new("tc").args(words.split(' ')).output().unwrap();
            assert!(output.status.success(), "tc {words}: {}", String::from_utf8_lossy(&output.stderr));
        };
        let mut traffic = |kind: &str, deleted: bool| {
            let events = heard(
                &mut watch,
                |event| matches!(event, Event::Traffic { change, .. } if change.kind == kind && change.deleted == deleted),
            );
            match events.last() {
                Some(Event::Traffic { name, change }) => (name.clone(), change.clone()),
                other => panic!("{other:?}"),
            }
        };
        tc("qdisc add dev left root handle 1: pfifo limit 5");
        let (name, change) = traffic("pfifo", false);
        assert_eq!(
            (name.as_deref(), change.index, change.place, change.filter),
            (Some("left"), index, AttachPoint::Root, false)
        );
        assert_ne!(change.by, 0);
        tc("qdisc add dev left clsact");
        assert_eq!(traffic("clsact", false).1.place, AttachPoint::Filters);
        tc("qdisc replace dev left root handle 2: bfifo limit 3000");
        assert_eq!(traffic("bfifo", false).1.place, AttachPoint::Root);
        tc("qdisc del dev left root");
        assert_eq!(traffic("bfifo", true).1.place, AttachPoint::Root);
    });
}

#[test]
fn lost_events_are_reported_and_made_up_for() {
    in_namespace(|| {
        ip("link add left type veth peer name right");
        let mut watch = Watch::begin().unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&watch, 0).unwrap();
        ip("link set left up");
        for _ in 0..50 {
            ip("link set right up");
            ip("link set right down");
        }
        ip("link add late type veth peer name later");
        ip("link del right");
        let events = heard(&mut watch, |event| *event == Event::Lost);
        // What was heard before may be anything; what comes after it tells how things are.
        heard(&mut watch, is("late", Change::Appeared));
        assert!(watch.named("left").is_none() && watch.named("late").is_some(), "{events:?}");
    });
}

proptest! {
    #[test]
    fn any_octets_are_read(mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in prop::sample::select(vec![16u16, 17, 36, 37, 44, 45])) {
        let message = Message { kind, flags: 0, sequence: 0, port: 0, body: &bytes };
        let _ = (Link::read(&message), TrafficChange::read(&message));
        // The same as a whole message of its length.
        if bytes.len() >= 16 {
            let length = bytes.len() as u32;
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            let message = messages(&bytes).next().unwrap();
            let _ = (Link::read(&message), TrafficChange::read(&message));
        }
    }
}
