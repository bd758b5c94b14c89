use ontick_switch::user::packet::Stamps;

use super::*;
use crate::arrivals::Expected;
use crate::endpoint::header::{HEADER, Header};
use crate::endpoint::listener::{Listener, Received};
use crate::endpoint::payload::payloads;
use crate::endpoint::planned::{Incoming, Way};

/// A clock on which waiting takes the time that is waited for, and what the script has beyond it.
#[derive(Debug, Default)]
struct Paper {
    now_ns: u64,
    /// How late each wait ends; the last of them holds on.
    late_ns: Vec<u64>,
    waits: usize,
    rested_ns: u64,
    steps: Vec<(u64, i64)>,
}

impl Time for Paper {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn until(&mut self, at_ns: u64) -> u64 {
        let late_ns = self.late_ns.get(self.waits).or(self.late_ns.last()).copied().unwrap_or(0);
        self.waits += 1;
        self.now_ns = self.now_ns.max(at_ns) + late_ns;
        self.now_ns
    }

    fn rest(&mut self, ns: u64) {
        self.now_ns += ns;
        self.rested_ns += ns;
    }

    fn was_set(&mut self) -> bool {
        match self.steps.first() {
            Some((at_ns, by_ns)) if self.now_ns >= *at_ns => {
                self.now_ns = self.now_ns.saturating_add_signed(*by_ns);
                self.steps.remove(0);
                true
            }
            _ => false,
        }
    }
}

#[derive(Debug, Default)]
struct Wire {
    frames: Vec<(u64, Vec<u8>)>,
    answers: Vec<Sent>,
    ahead_ns: u64,
    datagrams: bool,
    /// Reports of frames that missed their time, if each does; no more than the kernel keeps.
    reports: Option<u64>,
}

impl Transmit for Wire {
    fn transmit(&mut self, octets: &[u8], planned_ns: u64) -> Sent {
        self.frames.push((planned_ns, octets.to_vec()));
        self.reports = self.reports.map(|reports| (reports + 1).min(92));
        self.answers.pop().unwrap_or(Sent::Done)
    }

    fn address(&self) -> Option<[u8; 6]> {
        (!self.datagrams).then_some([2, 0, 0, 0, 0, 7])
    }

    fn ahead_ns(&self) -> u64 {
        self.ahead_ns
    }

    fn take_missed(&mut self) -> u64 {
        self.reports.as_mut().map_or(0, std::mem::take)
    }
}

const BASE_NS: u64 = 1_000_000_000;

fn outgoing(stream: usize, offset_ns: u64, period_ns: u64) -> Outgoing {
    Outgoing {
        stream,
        name: format!("f{stream}"),
        to: [2, 0, 0, 0, 0, stream as u8],
        pcp: 5,
        vlan: 0x123,
        offset_ns,
        period_ns,
        size: 100,
        parts: 1,
        ports: vec![0],
    }
}

fn talker(streams: Vec<Outgoing>, wire: Wire, time: Paper) -> Talker<Wire, Paper> {
    Talker::new(streams, vec![wire], time, BASE_NS, 77)
}

/// What leaves until then.
fn departures(talker: &mut Talker<Wire, Paper>, until_ns: u64) -> Vec<Departure> {
    let mut all = Vec::new();
    while talker.time.now_ns < until_ns {
        if let Turn::Departed(departure) = talker.turn() {
            all.push(departure);
        }
    }
    all
}

#[test]
fn streams_leave_in_the_order_of_their_times_tagged_numbered_and_stamped() {
    let streams = vec![outgoing(3, 400_000, 1_000_000), outgoing(9, 100_000, 500_000)];
    let mut talker = talker(streams, Wire::default(), Paper { late_ns: vec![40], ..Paper::default() });
    let all = departures(&mut talker, BASE_NS + 1_100_000);
    let seen: Vec<_> = all.iter().map(|of| (of.stream, of.message, of.due_ns - BASE_NS, of.late_ns())).collect();
    assert_eq!(seen, [(1, 0, 100_000, 40), (0, 0, 400_000, 40), (1, 1, 600_000, 40), (1, 2, 1_100_000, 40)]);
    let (planned_ns, octets) = &talker.outlets[0].frames[1];
    assert_eq!((*planned_ns, octets.len()), (BASE_NS + 400_000, 118));
    assert_eq!(octets[..12], [2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 7]);
    // The tag: priority 5, VLAN 0x123; then the EtherType.
    assert_eq!(octets[12..18], [0x81, 0, 0xa1, 0x23, 0x88, 0xb6]);
    let (header, payload) = Header::read(&octets[18..]).unwrap();
    assert_eq!((header.plan, header.stream, header.part, header.message), (77, 3, 0, 0));
    assert_eq!((header.planned_ns, header.sent_ns), (BASE_NS + 400_000, BASE_NS + 400_040));
    assert!(payload.is_empty());
    assert_eq!(talker.counts().collect::<Vec<_>>(), [(1, 0, 0), (3, 0, 0)]);
}

#[test]
fn a_talker_that_starts_late_or_is_held_up_leaves_out_what_is_over() {
    // 2.3 periods too late; then held up for 1.5.
    let time = Paper { now_ns: BASE_NS + 2_400_000, late_ns: vec![0, 1_500_000, 0], ..Paper::default() };
    let mut talker = talker(vec![outgoing(0, 100_000, 1_000_000)], Wire::default(), time);
    let all = departures(&mut talker, BASE_NS + 5_100_000);
    let seen: Vec<_> = all.iter().map(|of| (of.message, of.skipped, of.late_ns())).collect();
    assert_eq!(seen, [(2, 2, 300_000), (4, 1, 500_000), (5, 0, 0)]);
    assert_eq!(talker.counts().next(), Some((3, 0, 3)));
}

/// Held up for longer than there is still to send, it sends nothing after the end, and left out is what was due before.
#[test]
fn nothing_is_sent_or_left_out_after_the_end() {
    let time = Paper { late_ns: vec![0, 9_500_000], ..Paper::default() };
    let mut talker = talker(vec![outgoing(0, 0, 1_000_000)], Wire::default(), time);
    let end_ns = BASE_NS + 4_000_000;
    let mut departed = 0;
    while let Some(turn) = talker.turn_until(end_ns) {
        departed += u64::from(matches!(turn, Turn::Departed(_)));
    }
    assert_eq!((departed, talker.counts().next()), (1, Some((1, 0, 3))));
}

#[test]
fn what_the_kernel_does_not_take_is_counted_and_its_number_is_gone() {
    let wire = Wire { answers: vec![Sent::Done, Sent::Busy], ..Wire::default() };
    let mut talker = talker(vec![outgoing(0, 0, 1_000_000)], wire, Paper::default());
    let all = departures(&mut talker, BASE_NS + 2_000_000);
    assert_eq!(all.iter().map(|of| of.sent).collect::<Vec<_>>(), [Sent::Busy, Sent::Done, Sent::Done]);
    assert_eq!(talker.counts().next(), Some((2, 1, 0)));
    let number = |frame: &(u64, Vec<u8>)| Header::read(&frame.1[18..]).unwrap().0.message;
    assert_eq!(talker.outlets[0].frames.iter().map(number).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_payload_follows_the_header_over_all_frames_of_a_message() {
    let large = Outgoing { size: 1_700, parts: 2, ..outgoing(0, 0, 1_000_000) };
    let mut talker = talker(vec![large], Wire::default(), Paper::default());
    let room = 1_500 - HEADER + 200 - HEADER;
    let payload: Vec<u8> = (0..room).map(|n| n as u8).collect();
    assert_eq!(talker.set_payload(0, &payload), Ok(()));
    talker.turn();
    while talker.outlets[0].frames.is_empty() {
        talker.turn();
    }
    let frames = &talker.outlets[0].frames;
    let parts: Vec<_> = frames.iter().map(|(_, octets)| Header::read(&octets[18..]).unwrap()).collect();
    assert_eq!(parts.iter().map(|(header, _)| header.part).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(parts.iter().flat_map(|(_, payload)| *payload).copied().collect::<Vec<u8>>(), payload);
    let too_long = talker.set_payload(0, &vec![0; room + 1]).unwrap_err();
    assert!(too_long.to_string().starts_with("1621 octets are too many for stream f0"), "{too_long}");
    assert!(talker.set_payload(1, &[]).is_err());
}

/// Shortly before the message, so that it is the newest; without one it carries what it carried before.
#[test]
fn a_message_carries_what_the_program_put_there_last() {
    let (mut writer, reader) = payloads(60);
    let time = Paper { late_ns: vec![0, 40], ..Paper::default() };
    let mut talker = talker(vec![outgoing(0, 100_000, 1_000_000)], Wire::default(), time).taking(vec![reader]);
    writer.put(b"too early");
    writer.put(b"first");
    let begun_ns: Vec<_> = departures(&mut talker, BASE_NS + 1_100_000).iter().map(Departure::late_ns).collect();
    writer.put(b"second");
    departures(&mut talker, BASE_NS + 2_100_000);
    let frames = &talker.outlets[0].frames;
    let carried: Vec<_> = frames.iter().map(|(_, octets)| Header::read(&octets[18..]).unwrap().1).collect();
    assert_eq!(carried, [&b"first"[..], b"first", b"second"]);
    // Taking it is over before it is due.
    assert_eq!((begun_ns, talker.time.waits), (vec![40, 40], 6));
}

#[test]
fn a_program_s_own_message_leaves_at_its_offset_of_the_next_period() {
    let time = Paper { now_ns: BASE_NS + 5_200_000, ..Paper::default() };
    let mut talker = talker(vec![outgoing(0, 100_000, 1_000_000)], Wire::default(), time);
    let sent = |talker: &mut Talker<Wire, Paper>, offset_ns| {
        let departure = talker.send_at(0, offset_ns, b"own").unwrap();
        (departure.message, departure.due_ns - BASE_NS, departure.late_ns())
    };
    assert_eq!(sent(&mut talker, 150_000), (0, 6_150_000, 0));
    assert_eq!(sent(&mut talker, 150_000), (1, 7_150_000, 0));
    // Later in the same period would be a second message of it.
    assert_eq!(sent(&mut talker, 400_000), (2, 8_400_000, 0));
    assert_eq!(Header::read(&talker.outlets[0].frames[2].1[18..]).unwrap().1, b"own");
    talker.outlets[0].answers = vec![Sent::Down];
    assert!(talker.send_at(0, 0, b"").unwrap_err().to_string().contains("the link is down"));
}

#[test]
fn with_launch_times_messages_are_handed_over_ahead_and_datagrams_have_no_frame() {
    let wire = Wire { ahead_ns: 300_000, datagrams: true, ..Wire::default() };
    let mut talker = talker(vec![outgoing(0, 500_000, 1_000_000)], wire, Paper::default());
    let all = departures(&mut talker, BASE_NS + 1_200_000);
    assert_eq!(all.iter().map(|of| of.begun_ns - BASE_NS).collect::<Vec<_>>(), [200_000, 1_200_000]);
    let (planned_ns, octets) = &talker.outlets[0].frames[0];
    assert_eq!((*planned_ns, octets.len()), (BASE_NS + 500_000, 100));
    assert!(Header::read(octets).is_some());
}

/// Set back by 3.25 periods: the same times come again, under new numbers.
#[test]
fn a_clock_that_is_set_moves_the_times_and_not_the_numbers() {
    let steps = vec![(BASE_NS + 5_000_000, -3_250_000), (BASE_NS + 4_000_000, 10_000_000)];
    let mut talker = talker(vec![outgoing(0, 0, 1_000_000)], Wire::default(), Paper { steps, ..Paper::default() });
    let all = departures(&mut talker, BASE_NS + 15_000_000);
    let times: Vec<u64> = all.iter().map(|of| (of.due_ns - BASE_NS) / 1_000_000).collect();
    assert_eq!(times, [0, 1, 2, 3, 4, 5, 2, 3, 4, 14, 15]);
    assert!(all.iter().enumerate().all(|(n, of)| of.message == n as u64 && of.skipped == 0 && of.late_ns() == 0));
}

/// By less than a period: the next time of the plan is the one that was just used.
#[test]
fn a_clock_that_is_set_back_a_little_has_no_time_twice() {
    let steps = vec![(BASE_NS + 5_000_000, -200_000)];
    let mut talker = talker(vec![outgoing(0, 0, 1_000_000)], Wire::default(), Paper { steps, ..Paper::default() });
    let all = departures(&mut talker, BASE_NS + 8_000_000);
    let times: Vec<u64> = all.iter().map(|of| (of.due_ns - BASE_NS) / 1_000_000).collect();
    assert_eq!(times, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    // A listener has every one, and none twice.
    let (deadline_ns, way) = (1_000_000, Way { link: 0, links: 1 });
    let expected = Expected { stream: 0, listener: 1, parts: 1, deadline_ns, planned_ns: None, window_ns: None };
    let name = String::new();
    let incoming = Incoming { expected, name, pcp: 5, vlan: 0x123, offset_ns: 0, period_ns: 1_000_000, way };
    let mut listener = Listener::new(vec![incoming], 77);
    for (planned_ns, octets) in &talker.outlets[0].frames {
        let (data, tag, stamps) = (&octets[18..], Some((5, 0x123)), Stamps::Software);
        let received = Received { data, tag, is_tagged_kind: true, at_ns: planned_ns + 1_000, stamps };
        assert!(listener.came(received).is_some_and(|message| !message.is_duplicate));
    }
    let of = &listener.arrivals()[0];
    assert_eq!((of.span(), of.messages(), of.delivered(9).duplicates), (9, 9, 0));
}

#[test]
fn a_program_s_own_messages_have_no_time_twice_either() {
    let steps = vec![(BASE_NS + 5_000_000, -200_000)];
    let time = Paper { now_ns: BASE_NS + 4_500_000, steps, ..Paper::default() };
    let mut talker = talker(vec![outgoing(0, 0, 1_000_000)], Wire::default(), time);
    let due: Vec<u64> = (0..3).map(|_| talker.send_at(0, 0, b"own").unwrap().due_ns - BASE_NS).collect();
    assert_eq!(due, [5_000_000, 6_000_000, 7_000_000]);
}

/// The kernel keeps few reports of them, so it is asked for more than one at the end.
#[test]
fn every_frame_that_missed_its_launch_time_is_counted() {
    for period_ns in [100_000, 10_000_000] {
        let wire = Wire { reports: Some(0), ..Wire::default() };
        let mut talker = talker(vec![outgoing(0, 0, period_ns)], wire, Paper::default());
        let sent = departures(&mut talker, BASE_NS + 999 * period_ns);
        assert_eq!((sent.len(), talker.count_missed()), (1_000, 1_000), "{period_ns}");
    }
}

/// A dense plan has no time to sleep; one who never does is taken off its CPU.
#[test]
fn a_talker_without_a_gap_rests_once_a_second_all_the_same() {
    let mut talker = talker(vec![outgoing(0, 0, 4_000)], Wire::default(), Paper::default());
    while talker.time.now_ns < BASE_NS {
        talker.turn();
    }
    talker.time.rested_ns = 0;
    let all = departures(&mut talker, BASE_NS + 3_100_000_000);
    assert_eq!(talker.time.rested_ns, 3 * SHORTEST_REST_NS);
    assert!(all.iter().all(|of| of.skipped == 0 && of.late_ns() == 0));
}
