//! What the line itself shows.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ontick_gpio::{Edge, Edges, OnExit, sim};

use super::*;

/// A chip of the test's own, whose line 4 is modulated.
struct Bench(String);

impl Bench {
    fn new(test: &str) -> Self {
        Self(format!("modulation-{test}-{}", std::process::id()))
    }

    fn line(&self) -> Name {
        Name::Sim { chip: self.0.clone(), line: 4 }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = sim::remove(&self.0);
    }
}

fn modulation(period_us: u64, width_us: u64) -> Modulation {
    Modulation::new(period_us * 1_000, width_us * 1_000).unwrap()
}

/// Modulates the line and shows each of its edges to `look`, until that has seen enough; what was made, and the edges.
fn seen(bench: &Bench, begin: Modulation, mut look: impl FnMut(&[Edge], &Setpoint) -> bool) -> (Modulated, Vec<Edge>) {
    let (setpoint, stop) = (Arc::new(Setpoint::new(begin)), AtomicBool::new(false));
    let mut watched = Line::open(&bench.line(), &Request::input().edges(Edges::Both)).unwrap();
    let mut edges: Vec<Edge> = Vec::new();
    let made = std::thread::scope(|scope| {
        let maker = scope.spawn(|| {
            let mut nothing = |_: &crate::Live| {};
            let mut observer = Observer::new(&stop, &mut nothing);
            let request = Request::output(false).on_exit(OnExit::Low);
            modulate(&bench.line(), &request, &setpoint, Placement::stock(), None, &mut observer)
        });
        while look(&edges, &setpoint) && !maker.is_finished() {
            edges.extend(watched.edge(ClockId::Monotonic.now_ns() + 50_000_000).unwrap());
        }
        stop.store(true, Relaxed);
        maker.join().unwrap().unwrap()
    });
    edges.extend(std::iter::from_fn(|| watched.edge(0).unwrap()));
    (made, edges)
}

/// Widths of the pulses, in whole microseconds.
fn widths_us(edges: &[Edge]) -> Vec<u64> {
    edges.chunks_exact(2).map(|pulse| (pulse[1].time_ns - pulse[0].time_ns) / 1_000).collect()
}

#[test]
fn every_pulse_is_whole_and_begins_on_the_grid() {
    let bench = Bench::new("grid");
    let (made, edges) = seen(&bench, modulation(2_000, 500), |edges, _| edges.len() < 100);
    assert!(edges.iter().enumerate().all(|(n, edge)| edge.rising == (n % 2 == 0) && edge.lost == 0));
    assert_eq!((edges.len() as u64, edges.len() as u64 % 2), (made.edges, 0), "the last is made whole");
    assert_eq!(made.periods * 2, made.edges);
    assert!(widths_us(&edges).iter().all(|us| *us >= 499), "none is too short: {:?}", widths_us(&edges));
    // From the first to the last there are all periods, those left out too; only by lateness may they seem to be others.
    let (first_ns, last_ns) = (edges[0].time_ns, edges[edges.len() - 2].time_ns);
    let (least_ns, most_ns) = ((made.periods - 1) * 2_000_000, (made.periods + made.missed - 1) * 2_000_000);
    let slack_ns = made.latest_ns + 1_000_000;
    assert!(
        (least_ns..=most_ns + 2 * slack_ns).contains(&(last_ns - first_ns + slack_ns)),
        "{first_ns} to {last_ns}, {made:?}"
    );
    assert_eq!((made.backend, made.gone), (Some(Backend::Simulated), None));
    assert!(made.late <= made.edges && (made.late > 0) == (made.latest_ns > LATE_NS));
    assert!(!sim::line_states(&bench.0).unwrap()[4].level, "left low");
}

#[test]
fn a_change_begins_with_a_period_and_cuts_none_short() {
    let bench = Bench::new("change");
    let (first, second, third) = (modulation(2_000, 400), modulation(5_000, 3_000), modulation(1_000, 100));
    let mut set_ns = Vec::new();
    let (made, edges) = seen(&bench, first, |edges, setpoint| {
        // While a pulse lasts, so that one which took it up at once would show it.
        for (count, wanted) in [(21, second), (41, third)] {
            if edges.len() == count && set_ns.len() == count / 40 {
                setpoint.set(wanted);
                set_ns.push(ClockId::Monotonic.now_ns());
            }
        }
        edges.len() < 70
    });
    assert_eq!(made.periods as usize * 2, edges.len());
    // The number of the first pulse that certainly has what was set then: the one before may have been about to rise.
    let after = |ns: u64| edges.iter().step_by(2).filter(|edge| edge.time_ns <= ns).count() + 1;
    let (second_from, third_from) = (after(set_ns[0]), after(set_ns[1]));
    assert!((11..=14).contains(&second_from) || made.latest_ns > 1_000_000, "{second_from}");
    let pulses: Vec<(u64, u64)> =
        edges.chunks_exact(2).map(|pulse| (pulse[0].time_ns, pulse[1].time_ns - pulse[0].time_ns)).collect();
    // However late the thread is: no pulse is shorter than it should be, and none begins sooner after the one before.
    for (n, (rose_ns, width_ns)) in pulses.iter().enumerate() {
        let (period_ns, least_ns) = match n {
            _ if n + 1 < second_from => (2_000_000, 400_000),
            _ if (second_from..third_from - 1).contains(&n) => (5_000_000, 3_000_000),
            _ => (1_000_000, 100_000),
        };
        assert!(*width_ns + 1_000 >= least_ns, "pulse {n}: {width_ns} ns");
        if let Some((next_ns, _)) = pulses.get(n + 1) {
            assert!(next_ns - rose_ns + made.latest_ns + 2_000 >= period_ns, "period {n}: {} ns", next_ns - rose_ns);
        }
    }
    let narrow = pulses[third_from..].iter().filter(|(_, width_ns)| *width_ns < 2_900_000).count();
    assert!(narrow > 0 && third_from < pulses.len(), "{third_from} of {}", pulses.len());
}

#[test]
fn all_or_nothing_has_no_edges() {
    let bench = Bench::new("all");
    let changed = AtomicBool::new(false);
    let (made, edges) = seen(&bench, modulation(1_000, 1_000), |edges, setpoint| {
        if edges.len() == 1 && !changed.swap(true, Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            setpoint.set(modulation(1_000, 0));
        }
        edges.len() < 2
    });
    assert_eq!((made.edges, edges.len()), (0, 2), "up with the first period, and down with the last change");
    assert!(made.periods >= 2 && edges[1].time_ns - edges[0].time_ns >= 19_000_000);
}

#[test]
fn it_ends_after_its_time_and_makes_no_period_more() {
    let bench = Bench::new("limit");
    let (setpoint, stop) = (Arc::new(Setpoint::new(modulation(10_000, 1_000))), AtomicBool::new(false));
    let mut nothing = |_: &crate::Live| {};
    let mut observer = Observer::new(&stop, &mut nothing);
    let request = Request::output(false).on_exit(OnExit::High);
    let limit_ns = Some(100_000_000);
    let made = modulate(&bench.line(), &request, &setpoint, Placement::stock(), limit_ns, &mut observer).unwrap();
    // From the end of the first pulse on.
    assert!(made.periods + made.missed <= 11 && made.periods >= 1, "{made:?}");
    let line = &sim::line_states(&bench.0).unwrap()[4];
    assert_eq!((line.level, u64::from(line.edges)), (true, made.edges + 1));
}

#[test]
fn a_line_that_cannot_be_had_is_refused() {
    let bench = Bench::new("taken");
    let _taken = Line::open(&bench.line(), &Request::output(false)).unwrap();
    let (setpoint, stop) = (Arc::new(Setpoint::new(modulation(1_000, 100))), AtomicBool::new(false));
    let mut nothing = |_: &crate::Live| {};
    let mut observer = Observer::new(&stop, &mut nothing);
    let (line, request) = (bench.line(), Request::output(false));
    let error = modulate(&line, &request, &setpoint, Placement::stock(), None, &mut observer).unwrap_err();
    assert!(error.to_string().contains("in use by"), "{error}");
}
