//! End points and the second world, with real frames: in network namespaces, as ordinary threads, and without a word about
//! how late anything is.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ontick_network::endpoint::{
    Job, Listener, Outlet, Reader, StationTime, Talker, TalkerThread, UdpReader, fingerprint, incoming, outgoing,
};
use ontick_network::namespaces::{self, Carrier, Options, Planned};
use ontick_rt::clock::ClockId;
use ontick_rt::thread::Policy;
use ontick_switch::user::CorePlacement;
use ontick_switch::user::packet::{PacketPort, PacketReader, PacketSender, Stamps};
use ontick_switch::user::port::{Port, Sent};
use ontick_switch::user::udp::{UdpReceiver, UdpSender};
use ontick_switch::verify::namespace::{Namespace, NamespaceError};
use ontick_tsn::egress::DataPlane;
use ontick_tsn::network::{Network, samples};
use ontick_tsn::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};
use ontick_tsn::validate::Schedule;

const MILLISECOND: u64 = 1_000_000;
const ORDINARY: CorePlacement = CorePlacement { cpu: None, policy: Policy::Other, never_rest: false };

fn namespace() -> Option<Namespace> {
    match Namespace::new() {
        Ok(namespace) => Some(namespace),
        Err(NamespaceError::Privilege(what)) => {
            ontick_skip::skipped!("{what} needs root");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn planned(switches: usize, streams: usize) -> (Network, Timetable, Schedule) {
    let mut network = samples::ring(switches, streams);
    network.sync_error_ns = 1_000;
    let network = network.timed(DataPlane::User.defaults());
    let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!("no plan")
    };
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    (network, table, schedule)
}

/// A talker and a listener of one stream of the network, with a cable between them.
#[test]
fn what_a_talker_sends_a_listener_holds_against_the_plan() {
    let (Some(here), Some(there)) = (namespace(), namespace()) else { return };
    here.join("talker", &there, "listener").unwrap();
    let (network, table, schedule) = planned(3, 3);
    let stream = &network.streams[0];
    let plan = fingerprint(&network, &schedule);
    let streams = incoming(&network, &table, &schedule, stream.listeners[0]);
    let mut listener = Listener::new(streams, plan);
    let reader = there.within(|| PacketReader::open("listener", 1_024, Stamps::Software)).unwrap().unwrap();
    let mut reader = Reader::new(reader);
    let outlet = here.within(|| PacketSender::open("talker")).unwrap().unwrap();
    let base_ns = ClockId::Tai.now_ns() + 50 * MILLISECOND;
    let job = Job {
        streams: outgoing(&network, &schedule, stream.talker),
        payloads: Vec::new(),
        outlets: vec![Outlet::Packet(outlet)],
        base_ns,
        from_ns: base_ns,
        until_ns: base_ns + 3_600_000 * MILLISECOND,
        plan,
    };
    let talker = TalkerThread::start(job, ORDINARY).unwrap();
    let mut payloads = 0;
    // A busy machine takes its time.
    while listener.frames() < 50 {
        assert!(reader.wait(&mut listener, Duration::from_secs(60)).unwrap(), "nothing comes");
        reader.take(&mut listener, |message| payloads += message.payload.len() + 1);
    }
    let talked = talker.stop().unwrap();
    let (sent, refused, _) = talked.counts[0];
    assert!(refused == 0 && talked.lateness.count() == sent, "{talked:?}");
    while reader.take(&mut listener, |message| payloads += message.payload.len() + 1) > 0 {}
    let came = listener.arrivals()[0].delivered(sent);
    assert_eq!((came.received, came.duplicates, came.out_of_order, came.early), (sent, 0, 0, 0));
    assert_eq!(payloads as u64, sent);
    let strays = listener.strays();
    assert_eq!((strays.other_plan, strays.retagged, strays.overflowed), (0, 0, 0), "{strays:?}");
    // By the kernel's stamps, which cannot be before the talker's.
    let least_ns = came.latency.min_ns.unwrap();
    assert!(least_ns >= schedule.sends.iter().find(|send| send.stream == 0).unwrap().offset_ns, "{least_ns}");
}

/// To be woken for each would cost whoever sends them.
#[test]
fn a_listener_that_has_many_frames_does_not_wait_for_the_next() {
    let (Some(here), Some(there)) = (namespace(), namespace()) else { return };
    here.join("talker", &there, "listener").unwrap();
    let reader = there.within(|| PacketReader::open("listener", 1_024, Stamps::Software)).unwrap().unwrap();
    let (mut reader, mut listener) = (Reader::new(reader), Listener::new(Vec::new(), 0));
    let mut port = here.within(|| PacketPort::open("talker", 64)).unwrap().unwrap();
    let mut send = |frames: u32| (0..frames).for_each(|_| assert_eq!(port.send(&[0xff; 60]), Sent::Done));
    send(40);
    let mut take = |reader: &mut Reader, frames: u32| {
        let mut taken = 0;
        while taken < frames {
            taken += reader.take(&mut listener, |_| {});
        }
        let began = Instant::now();
        send(1);
        // It is there when the call is done, and there is nothing to wait for.
        reader.wait_for_many(&mut listener, Duration::from_secs(3_600)).unwrap();
        began.elapsed()
    };
    assert!(take(&mut reader, 40) >= Duration::from_millis(1), "it looks again by the clock");
    // One is too few: it waits for the next, and not for an hour.
    take(&mut reader, 1);
}

/// A program's own data, by datagrams.
#[test]
fn a_program_s_own_data_comes_by_datagrams_as_it_was_given() {
    let (network, table, schedule) = planned(3, 1);
    let (talker, listens) = (network.streams[0].talker, network.streams[0].listeners[0]);
    let plan = fingerprint(&network, &schedule);
    let receiver = UdpReceiver::open("127.0.0.1:0".parse().unwrap(), 1 << 20).unwrap();
    let outlet = Outlet::Udp(UdpSender::open(receiver.address().unwrap(), 5).unwrap());
    let (mut reader, mut listener) =
        (UdpReader::new(receiver), Listener::new(incoming(&network, &table, &schedule, listens), plan));
    let (time, _follows) = StationTime::tai().unwrap();
    let streams = outgoing(&network, &schedule, talker);
    let offset_ns = streams[0].offset_ns;
    let mut talker = Talker::new(streams, vec![outlet], time, ClockId::Tai.now_ns(), plan);
    for payload in [&b"one"[..], b"", b"three"] {
        let departure = talker.send_at(0, offset_ns, payload).unwrap();
        assert!(departure.begun_ns >= departure.due_ns);
    }
    let mut came = Vec::new();
    while came.len() < 3 {
        assert!(reader.wait(Duration::from_secs(30)).unwrap());
        reader.take(&mut listener, |message| came.push(message.payload.to_vec()));
    }
    assert_eq!(came, [&b"one"[..], b"", b"three"]);
    assert_eq!((listener.arrivals()[0].messages(), listener.strays().retagged), (3, 0));
}

/// What was due before the thread was set up is no message that was left out.
#[test]
fn a_talker_that_is_set_up_late_sends_for_as_long_as_it_is_asked_to() {
    let (network, _, schedule) = planned(3, 1);
    let streams = outgoing(&network, &schedule, network.streams[0].talker);
    let period_ns = streams[0].period_ns;
    let receiver = UdpReceiver::open("127.0.0.1:0".parse().unwrap(), 1 << 20).unwrap();
    let outlet = Outlet::Udp(UdpSender::open(receiver.address().unwrap(), 5).unwrap());
    let now_ns = ClockId::Tai.now_ns();
    let from_ns = now_ns - 1_000 * period_ns;
    let until_ns = from_ns + 20 * period_ns;
    let plan = fingerprint(&network, &schedule);
    let job = Job { streams, payloads: Vec::new(), outlets: vec![outlet], base_ns: from_ns, from_ns, until_ns, plan };
    let mut talker = TalkerThread::start(job, ORDINARY).unwrap();
    let (begun_ns, ended_ns) = talker.span_ns();
    assert!(begun_ns >= now_ns && ended_ns - begun_ns == 20 * period_ns, "{begun_ns} {ended_ns}");
    let (sent, refused, skipped) = talker.end().unwrap().counts[0];
    assert_eq!((sent + skipped, refused), (20, 0), "{skipped}");
}

fn with_plan(switches: usize, streams: usize, trace_ns: u64) -> Planned {
    let (network, table, schedule) = planned(switches, streams);
    Planned { network, table, schedule, trace_ns }
}

#[test]
fn a_network_in_namespaces_delivers_or_counts_every_frame() {
    if namespace().is_none() {
        return;
    }
    let planned = with_plan(4, 20, 4 * MILLISECOND);
    let (network, table) = (&planned.network, &planned.table);
    let options = |duration_ns: u64| Options {
        duration_ns,
        open_ns: duration_ns / 4,
        carrier: Carrier::User(ORDINARY),
        talkers: ORDINARY,
        guard_ns: 1_000,
    };
    let stop = AtomicBool::new(false);
    let run = |duration_ns: u64| {
        let mut seen = Vec::new();
        let mut look = |what: &str, _: f64| {
            if seen.last().is_none_or(|last| last != what) {
                seen.push(what.to_owned());
            }
        };
        let run = namespaces::prove(&planned, &options(duration_ns), &stop, &mut look).unwrap();
        assert_eq!(seen, ["with gates open", "as planned"]);
        run
    };
    // A busy machine may not come to send anything in a while.
    let durations = [200, 2_000, 20_000].map(|ms| ms * MILLISECOND);
    let (options, outcome) = durations
        .into_iter()
        .map(|duration_ns| (options(duration_ns), run(duration_ns)))
        .find(|(_, outcome)| outcome.frames > 0 && outcome.emulation.frames > 0)
        .expect("something is sent");
    assert!(outcome.emulation.most_ns() > 0);
    assert_eq!(outcome.delivered.len(), 20);
    assert!(outcome.frames > 0 && outcome.emulation.frames > 0 && outcome.emulation.most_ns() > 0);
    let due: u64 = network.streams.iter().map(|of| options.duration_ns / of.period_ns).sum();
    let sent: u64 = outcome.delivered.iter().map(|of| of.sent).sum();
    assert_eq!(sent + outcome.not_sent, due);
    // Each stream has one listener: what is missing is what was dropped. An ordinary thread misses short windows.
    assert!(outcome.missing() <= outcome.counted(), "{} of {:?}", outcome.missing(), outcome.dropped);
    for of in &outcome.delivered {
        assert_eq!((of.duplicates, of.out_of_order, of.early), (0, 0, 0), "{of:?}");
    }
    // No gate opens before its time, whatever the machine does: nothing comes before its window.
    for of in outcome.delivered.iter().filter(|of| of.received > 0) {
        let hops = &table.placed[of.stream].as_ref().unwrap().hops;
        let opens_ns = hops.iter().find(|hop| network.links[hop.link].to == of.listener).unwrap().begin_ns;
        let least_ns = of.latency.min_ns.unwrap();
        assert!(least_ns + options.guard_ns >= opens_ns, "stream {}: {least_ns} before {opens_ns}", of.stream);
    }
    assert_eq!(outcome.retagged, 0);
}

#[test]
fn a_network_that_was_ended_at_once_has_sent_nothing() {
    if namespace().is_none() {
        return;
    }
    let planned = with_plan(3, 3, 0);
    let options = Options {
        duration_ns: MILLISECOND,
        open_ns: MILLISECOND,
        carrier: Carrier::User(ORDINARY),
        talkers: ORDINARY,
        guard_ns: 0,
    };
    let stop = AtomicBool::new(true);
    let outcome = namespaces::prove(&planned, &options, &stop, &mut |_, _| {}).unwrap();
    assert!(outcome.interrupted && outcome.frames == 0 && outcome.delivered.is_empty());
}
