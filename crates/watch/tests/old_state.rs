//! `old_state/` was written by the version before there were round trips: 12 blocks on each of CPU 0 and 1, a minute apart.
//! All of it is read, with round trips and without, and goes on.

use std::path::Path;

use ontick_record::Histogram;
use ontick_record::run::RoundTrips;
use ontick_rt::thread::Policy;
use ontick_watch::Row;
use ontick_watch::block::{Block, Job};
use ontick_watch::roundtrip::Way;
use ontick_watch::series::SeriesId;
use ontick_watch::state::State;

/// When its first block began, and a moment after its last.
const BEGAN: u32 = 1_700_002_300;
const NOW: u32 = BEGAN + 720;

fn old_state() -> tempfile::TempDir {
    let (folder, old) = (tempfile::tempdir().unwrap(), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_state"));
    for entry in std::fs::read_dir(old).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

fn open(folder: &Path, ways: &[Way]) -> State {
    let job = Job { interval_ns: 1_000_000, cycles: 20, policy: Policy::Other, outlier_ns: 200_000 };
    State::open(folder, &[0, 1], &job, ways, NOW).unwrap()
}

fn way() -> Way {
    Way {
        link: "eth1".into(),
        responder: "02:00:00:00:00:01".into(),
        period_ns: 1_000_000,
        deadline_ns: 1_000_000,
        waiting: "block".into(),
        octets: None,
    }
}

type Figures = (u32, SeriesId, u32, u32, u32, u32, u64, u32);

fn rows(state: &State, from: u32) -> Vec<Figures> {
    let of =
        |row: &Row| (row.at, row.series, row.samples, row.missed, row.p50_ns, row.p99_ns, row.max_ns, row.steal_ms);
    // All of it as one row for each series, or what there is.
    let to = if from == 0 { u32::MAX } else { NOW };
    state.history(from, to, 5_000, NOW).unwrap().iter().map(of).collect()
}

/// What the version of before showed of it.
fn assert_old(state: &State) {
    let (first, second) = (SeriesId::Cpu(0), SeriesId::Cpu(1));
    let of_cpus = |from| rows(state, from).into_iter().filter(|row| row.1 <= second).collect::<Vec<_>>();
    let hours = [
        (1_699_999_200, first, 240, 1, 1_560, 2_060, 2_060, 2),
        (1_699_999_200, second, 241, 1, 2_010, 3_010, 500_000, 2),
    ];
    assert_eq!(of_cpus(0), hours);
    let five_minutes = [
        (1_700_002_200, first, 80, 0, 1_480, 1_980, 1_980, 0),
        (1_700_002_500, first, 100, 1, 1_530, 2_020, 2_030, 2),
        (1_700_002_800, first, 60, 0, 1_560, 2_060, 2_060, 0),
        (1_700_002_200, second, 81, 0, 2_000, 500_000, 500_000, 0),
        (1_700_002_500, second, 100, 1, 1_980, 2_970, 2_980, 2),
        (1_700_002_800, second, 60, 0, 2_010, 3_010, 3_010, 0),
    ];
    assert_eq!(of_cpus(BEGAN - 10_000), five_minutes);
    let blocks = of_cpus(BEGAN);
    assert_eq!(blocks.len(), 24);
    for (n, row) in blocks[..12].iter().enumerate() {
        let (at, ns) = (BEGAN + 60 * n as u32, 1_450 + 10 * n as u32);
        let expected = (at, first, 20, u32::from(n == 5), ns, ns + 500, u64::from(ns) + 500, 2 * u32::from(n == 6));
        assert_eq!(*row, expected);
    }
    assert_eq!(blocks[12], (BEGAN, second, 21, 0, 2_000, 500_000, 500_000, 0));
    let now = state.now(NOW);
    let totals: Vec<_> =
        now.cpus.iter().map(|of| (of.cpu, of.total.samples, of.total.missed, of.total.max_ns)).collect();
    assert_eq!(totals, [(0, 240, 1, Some(2_060)), (1, 241, 1, Some(500_000))]);
    assert_eq!((now.causes.len(), now.causes[0].count, now.causes[0].detail.as_str()), (1, 1, "NET_RX"));
    let texts: Vec<_> = state.events(0, u32::MAX, 9).into_iter().map(|event| event.text).collect();
    assert_eq!(texts, ["CPU 1 was 500us late: softirq NET_RX", "the service began"]);
}

#[test]
fn a_state_of_before_is_read_with_nothing_lost() {
    let folder = old_state();
    assert_old(&open(folder.path(), &[]));
    // As it was written anew by that.
    assert_old(&open(folder.path(), &[]));
}

#[test]
fn round_trips_come_beside_what_was_there_and_outlast_a_kill() {
    let folder = old_state();
    let mut state = open(folder.path(), &[way()]);
    assert_old(&state);
    let (id, _) = state.round_trips()[0];
    let mut latency = Histogram::default();
    latency.add(80_000, 1, 18);
    let counts = RoundTrips { sent: 20, answered: 18, overdue: 1, ..RoundTrips::default() };
    for at in [BEGAN + 30, BEGAN + 700] {
        let block = Block { at, series: id, latency: latency.clone(), missed: 2, steal_ns: 0 };
        state.add_round_trips(&block, &counts);
    }
    // Nothing is closed.
    let check = |state: &State| {
        assert_old(state);
        let own = |from| rows(state, from).into_iter().filter(|row| row.1 == id).collect::<Vec<_>>();
        assert_eq!(own(0), [(1_699_999_200, id, 36, 4, 80_000, 80_000, 80_000, 0)]);
        assert_eq!(own(BEGAN).len(), 2);
        let total = state.total(id).unwrap();
        let of = total.round_trips.as_ref().unwrap();
        assert_eq!((total.latency.count(), total.missed, of.sent, of.overdue, of.lost()), (36, 4, 40, 2, 2));
        assert_eq!(state.name(id), "round trip eth1 to 02:00:00:00:00:01");
    };
    check(&state);
    drop(state);
    // Another way meanwhile has rows of its own.
    let other = open(folder.path(), &[Way { responder: "02:00:00:00:00:02".into(), ..way() }]);
    assert_ne!(other.round_trips()[0].0, id);
    assert_eq!(other.now(NOW).round_trips[0].total.samples, 0);
    drop(other);
    check(&open(folder.path(), &[way()]));
}
