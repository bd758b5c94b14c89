use super::events::Kind;
use super::*;

fn explainer(events: Vec<Event>, waiting: Vec<Outlier>) -> Explainer {
    let evidence = Evidence::Counters(Counters::start(None));
    Explainer {
        evidence,
        machine: Machine::default(),
        firmware: None,
        cpu: None,
        events,
        idle_exits: IdleExits::default(),
        stacks: None,
        waiting,
    }
}

fn event(at_ns: u64) -> Event {
    Event { at_ns, cpu: 0, pid: 0, kind: Kind::PageFault }
}

/// Who had the CPU before the deadline of an outlier that waits is asked for later.
#[test]
fn events_that_may_be_asked_for_are_kept() {
    let times = || [100, 200, 300, 400].map(|ms: u64| event(ms * 1_000_000)).to_vec();
    let kept = |waiting: &[(u64, u64)], kept_ms: u64| {
        let waiting = waiting.iter().map(|&(at_ms, late_ms)| Outlier {
            at_ns: at_ms * 1_000_000,
            latency_ns: late_ms * 1_000_000,
            cause: None,
        });
        let mut explainer = explainer(times(), waiting.collect());
        explainer.forget(kept_ms * 1_000_000);
        explainer.events.iter().map(|event| event.at_ns / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(kept(&[], 0), [100, 200, 300, 400]);
    // 60 ms before are kept.
    assert_eq!(kept(&[], 360), [300, 400]);
    assert_eq!(kept(&[], 361), [400]);
    assert_eq!(kept(&[], 1_000), [0; 0]);
    // An outlier's deadline, not when it was seen.
    assert_eq!(kept(&[(900, 540)], 1_000), [300, 400]);
    assert_eq!(kept(&[(900, 10), (950, 650)], 1_000), [300, 400]);
    assert_eq!(kept(&[(900, 10)], 260), [200, 300, 400]);
}

#[test]
fn a_flood_of_events_is_cut_at_its_old_end() {
    let mut explainer = explainer((0..EVENTS_KEPT as u64 + 5).map(event).collect(), Vec::new());
    explainer.forget(0);
    assert_eq!((explainer.events.len(), explainer.events[0].at_ns), (EVENTS_KEPT, 5));
}

fn traced(cost_ns: u64) -> (tempfile::TempDir, Explainer) {
    let (folder, tracer) = tracer::tests::tracer(cost_ns);
    let explainer = Explainer { evidence: Evidence::Tracing(Box::new(tracer)), ..explainer(Vec::new(), Vec::new()) };
    (folder, explainer)
}

fn did(events: u64, lost: u64, event_cost_ns: u64, outliers: u64) -> Tracing {
    Tracing { events, lost, event_cost_ns, outliers, stacks: false }
}

/// Blocks of a series add to it; what an event costs is that of the last.
#[test]
fn what_tracing_did_is_added_at_the_end() {
    let mut findings = Findings::default();
    traced(40).1.end(&mut findings);
    assert_eq!(findings.tracing, did(35, 1_200, 40, 0));
    traced(50).1.end(&mut findings);
    assert_eq!(findings.tracing, did(70, 2_400, 50, 0));
    explainer(Vec::new(), Vec::new()).end(&mut findings);
    assert_eq!(findings.tracing.events, 70, "counters trace nothing");
    let mut with_stacks = |explainer: Explainer| {
        Explainer { stacks: Some(Stacks::new(Symbols::default())), ..explainer }.end(&mut findings);
        findings.tracing.stacks
    };
    assert!(!with_stacks(explainer(Vec::new(), Vec::new())), "nor do they keep stacks");
    assert!(with_stacks(traced(50).1));
}

#[test]
fn an_outlier_settles_after_so_long() {
    assert_eq!(settled_ns(false, 1_000_000_000), 980_000_000);
    assert_eq!(settled_ns(true, 1_000_000_000), u64::MAX);
}

/// The largest of each cause, and of all causes the largest.
#[test]
fn so_many_outliers_are_reported_in_full() {
    let reported = |outliers: &[(usize, u64)]| {
        let mut findings = Findings::default();
        for (cause, latency_ns) in outliers {
            let cause = Cause::DeviceInterrupt(format!("dev{cause}"));
            findings.add(cause, Outlier { at_ns: 1 << 40, latency_ns: *latency_ns, cause: None }, &[]);
        }
        findings.reported.iter().map(|(_, reported)| reported.latency_ns).collect::<Vec<_>>()
    };
    let of_one: Vec<(usize, u64)> = [3, 1, 9, 4, 12, 7, 10, 2, 11, 8, 5, 6].map(|ns| (0, ns)).to_vec();
    assert_eq!(reported(&of_one), [12, 11, 10, 9, 8, 7, 6, 5]);
    // Those of a cause that was seen before do not lose to another's.
    let of_two = [&of_one[..], &[(1, 1), (1, 20)]].concat();
    assert_eq!(reported(&of_two), [20, 12, 11, 10, 9, 8, 7, 6, 5, 1]);
    let of_ten: Vec<(usize, u64)> = (0..100).map(|n| (n as usize % 10, 1_000 + n)).collect();
    assert_eq!(reported(&of_ten), (1_050..1_100).rev().collect::<Vec<_>>());
    let falling: Vec<(usize, u64)> = of_ten.iter().rev().copied().collect();
    assert_eq!(reported(&falling), (1_050..1_100).rev().collect::<Vec<_>>());
}

fn cause_of(events: &[Event], outlier: Outlier) -> &'static str {
    let machine = Machine { edge_ns: 3_000, records_all: true, ..Machine::default() };
    let mut findings = Findings::default();
    explain(events, tracer::tests::TID, outlier, &machine, None, None, &mut findings);
    let [name] = &findings.tally.names(0)[..] else { panic!("one cause") };
    ["page fault", "outside the kernel", "steal", "unknown"].into_iter().find(|of| name.cause == *of).unwrap()
}

/// What happened 60 ms before the deadline still counts, and accounts up to 20 ms after the sample.
#[test]
fn an_outlier_is_explained_by_what_is_around_it() {
    const MS: u64 = 1_000_000;
    let thread = events::Task::unnamed(tracer::tests::TID);
    let at = |at_ns, kind| Event { at_ns, cpu: 0, pid: tracer::tests::TID, kind };
    let came = |at_ns| at(at_ns, Kind::Switch { prev: events::Task::unnamed(0), state: 0, next: thread });
    // Its deadline is at 100 ms.
    let outlier = Outlier { at_ns: 101 * MS, latency_ns: MS, cause: None };
    assert_eq!(cause_of(&[came(40 * MS)], outlier), "outside the kernel");
    assert_eq!(cause_of(&[came(40 * MS - 1)], outlier), "unknown");
    // Of an account of 20 ms, most was stolen.
    let closed = |at_ns| {
        let accounts = [(at_ns - 21 * MS, 20 * MS), (at_ns, 0)];
        let ran = accounts.map(|(at_ns, ns)| at(at_ns, Kind::Ran { pid: thread.pid, ns }));
        cause_of(&[&[came(60 * MS)][..], &ran].concat(), outlier)
    };
    assert_eq!([closed(121 * MS), closed(121 * MS + 1)], ["steal", "outside the kernel"]);
}

/// The ring is left alone until there are outliers: to read it costs time.
#[test]
fn without_outliers_nothing_is_read() {
    let (_folder, mut explainer) = traced(0);
    assert_eq!(explainer.explain(Vec::new(), tracer::tests::TID, true, &mut Findings::default()), []);
    assert_eq!(explainer.events, []);
    let Evidence::Tracing(tracer) = &explainer.evidence else { unreachable!("as made") };
    assert_eq!(tracer.totals().events, 35, "as before");
}

#[test]
fn a_series_says_of_tracing_only_what_was_traced() {
    let mut findings = Findings::default();
    findings.add(Cause::Steal, Outlier { at_ns: 9, latency_ns: 5_000, cause: None }, &[]);
    let described = |findings: &Findings| {
        let mut series = Series::default();
        findings.describe(&mut series);
        (series.causes.len(), series.explained.len(), series.tracing)
    };
    assert_eq!(described(&findings), (1, 1, None), "counters name causes too");
    traced(40).1.end(&mut findings);
    let tracing = did(35, 1_200, 40, 1);
    assert_eq!(described(&findings), (1, 1, Some(tracing)));
}

/// An outlier waits until the kernel has accounted the time; once the thread has ended, none does.
#[test]
fn an_outlier_is_explained_once_it_has_settled() {
    let (_folder, mut explainer) = traced(0);
    let mut findings = Findings::default();
    let outlier = |at_ns| Outlier { at_ns, latency_ns: 5_000, cause: None };
    let (early, late) = (outlier(1_012_000), outlier(u64::MAX >> 2));
    let explained = explainer.explain(vec![late, early], tracer::tests::TID, false, &mut findings);
    assert_eq!(explained, [Outlier { cause: Some(0), ..early }]);
    assert_eq!(findings.tally.names(0)[0].cause, "page fault");
    assert_eq!(explainer.waiting, [late]);
    let explained = explainer.explain(Vec::new(), tracer::tests::TID, true, &mut findings);
    assert_eq!(explained, [Outlier { cause: Some(1), ..late }]);
    assert_eq!((explainer.waiting.len(), findings.tally.total()), (0, 2));
}

/// What was asked for is not what counts: only a real-time thread is kept waiting by the fair server.
#[test]
fn a_thread_is_real_time_if_it_runs_so() {
    let mut explainer = explainer(Vec::new(), Vec::new());
    let mut looked_at = |tid| {
        explainer.machine.real_time = true;
        explainer.explain(Vec::new(), tid, false, &mut Findings::default());
        explainer.machine.real_time
    };
    let this = rustix::thread::gettid().as_raw_nonzero().get();
    assert_eq!(looked_at(this), in_force(0).unwrap().is_real_time());
    assert!(looked_at(i32::MAX), "a thread that is gone was what it was last");
}

#[test]
fn each_cause_is_journalled_once() {
    let mut findings = Findings::default();
    let add = |findings: &mut Findings, cause: Cause| {
        findings.add(cause, Outlier { at_ns: 9, latency_ns: 5_000, cause: None }, &[]).cause
    };
    assert_eq!(findings.fresh_causes(), []);
    assert_eq!(add(&mut findings, Cause::Steal), Some(0));
    assert_eq!(add(&mut findings, Cause::DeviceInterrupt("mmc0".into())), Some(1));
    let fresh: Vec<String> = findings.fresh_causes().into_iter().map(|name| name.detail).collect();
    assert_eq!(fresh, ["", "mmc0"]);
    assert_eq!(add(&mut findings, Cause::Steal), Some(0));
    assert_eq!(add(&mut findings, Cause::DeviceInterrupt("eth0".into())), Some(2));
    let fresh: Vec<String> = findings.fresh_causes().into_iter().map(|name| name.detail).collect();
    assert_eq!(fresh, ["eth0"]);
}
