//! What the lines themselves show.

use ontick_gpio::{Edge, Edges, Line, OnExit, sim};
use ontick_record::capture::Moment;

use super::*;

/// A chip of the test's own.
struct Bench(String);

impl Bench {
    fn new(test: &str) -> Self {
        Self(format!("play-{test}-{}", std::process::id()))
    }

    fn lines(&self, count: u32) -> Vec<Name> {
        (0..count).map(|n| Name::Sim { chip: self.0.clone(), line: 4 + n }).collect()
    }

    fn job(&self, lines: u32, moments: Moments, times: Option<u64>) -> Job {
        let request = Request::output(false).on_exit(OnExit::Keep);
        Job { lines: self.lines(lines), request, moments: Arc::new(moments), times }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = sim::remove(&self.0);
    }
}

fn moments(first: u64, changes: &[(u64, u64)], length_us: u64) -> Moments {
    let changes = changes.iter().map(|(at_us, levels)| Moment { at_ns: at_us * 1_000, levels: *levels }).collect();
    Moments { first, changes, length_ns: length_us * 1_000 }
}

fn play(job: &Job, limits: Limits) -> Result<(Series, Vec<String>), Error> {
    let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
    let mut observer = Observer::new(&stop, &mut look);
    let series = measure("changes", job, Placement::stock(), limits, &mut observer)?;
    Ok((series, observer.take_facts()))
}

fn forever() -> Limits {
    Limits::new(Length::Duration(u64::MAX))
}

/// Plays, and returns the edges of each line: when, counted from the first of all, and which way.
fn edges(job: &Job, limits: Limits) -> (Series, Vec<Vec<Edge>>) {
    // The levels at the beginning are no edges.
    drop(ontick_gpio::Outputs::open(&job.lines, job.moments.first, &job.request).unwrap());
    let watch = |name: &Name| Line::open(name, &Request::input().edges(Edges::Both)).unwrap();
    let mut watched: Vec<Line> = job.lines.iter().map(watch).collect();
    let (series, facts) = play(job, limits).unwrap();
    assert!(facts.iter().any(|fact| fact.starts_with("the longest write of a change took ")), "{facts:?}");
    let all = |line: &mut Line| std::iter::from_fn(|| line.edge(0).unwrap()).collect();
    (series, watched.iter_mut().map(all).collect())
}

fn rising(edges: &[Edge]) -> Vec<bool> {
    edges.iter().map(|edge| edge.rising).collect()
}

#[test]
fn changes_are_made_in_their_order_those_of_a_moment_at_one_time_and_none_early() {
    let bench = Bench::new("order");
    let wanted = [(300, 0b11), (500, 0b10), (900, 0b01), (1_000, 0b00)];
    let job = bench.job(2, moments(0b00, &wanted, 1_500), Some(1));
    let begun_ns = ontick_rt::clock::ClockId::Monotonic.now_ns();
    let (series, seen) = edges(&job, forever());
    assert_eq!([rising(&seen[0]), rising(&seen[1])], [vec![true, false, true, false], vec![true, false]]);
    assert_eq!((seen[0][0].time_ns, seen[0][2].time_ns), (seen[1][0].time_ns, seen[1][1].time_ns));
    assert_eq!((series.latency.count(), series.missed, series.early), (4, 0, 0));
    let times = seen[0].iter().map(|edge| edge.time_ns).zip([300, 500, 900, 1_000]);
    assert!(times.into_iter().all(|(time_ns, at_us)| time_ns >= begun_ns + at_us * 1_000), "{begun_ns}: {seen:?}");
    let settings = series.settings;
    assert_eq!((settings.method.as_str(), settings.backend.as_deref()), ("hybrid", Some("simulated")));
    let names: Vec<String> = job.lines.iter().map(ToString::to_string).collect();
    assert_eq!(settings.line, Some(names.join(", ")));
}

#[test]
fn what_is_played_again_goes_back_to_its_first_levels() {
    let bench = Bench::new("again");
    // Ends high: that is taken back before the second time, and stays after the last.
    let job = bench.job(1, moments(0, &[(100, 1), (200, 0), (300, 1)], 400), Some(3));
    let (series, seen) = edges(&job, forever());
    assert_eq!(series.latency.count(), 3 * 3 + 2);
    assert_eq!(rising(&seen[0]), [true, false].into_iter().cycle().take(11).collect::<Vec<_>>());
    assert!(sim::line_states(&bench.0).unwrap()[4].level);
    // Ends as it began: nothing is to be taken back.
    let job = bench.job(1, moments(0, &[(100, 1), (200, 0)], 200), Some(3));
    assert_eq!(edges(&job, forever()).0.latency.count(), 6);
}

#[test]
fn the_last_levels_last_to_the_end() {
    let bench = Bench::new("last");
    let mut job = bench.job(1, moments(0, &[(100, 1)], 300_000), Some(1));
    job.request = job.request.on_exit(OnExit::Low);
    let begun_ns = ontick_rt::clock::ClockId::Monotonic.now_ns();
    let (_, seen) = edges(&job, forever());
    assert_eq!(rising(&seen[0]), [true, false]);
    assert!(seen[0][1].time_ns >= begun_ns + 300_000_000);
}

#[test]
fn a_run_without_end_ends_with_its_time_and_makes_nothing_after_it() {
    let bench = Bench::new("endless");
    let job = bench.job(1, moments(0, &[(100, 1), (1_000, 0)], 2_000), None);
    let (series, seen) = edges(&job, Limits::new(Length::Duration(50_000_000)));
    let count = series.latency.count();
    assert_eq!(seen[0].len() as u64, count);
    // Its time counts from the first change, which may be late.
    let most = (50_000_000 + series.latency.max_ns.unwrap()) / 2_000_000 * 2 + 2;
    assert!((2..=most).contains(&count), "{count} of {most}");
}

#[test]
fn changes_closer_than_can_be_made_are_late_and_all_made() {
    let bench = Bench::new("close");
    let changes: Vec<(u64, u64)> = (0..2_000).map(|n| (n / 1_000, (n + 1) % 2)).collect();
    let mut close = moments(0, &changes, 10);
    close.changes.iter_mut().zip(0..).for_each(|(change, n)| change.at_ns = n);
    let (series, seen) = edges(&bench.job(1, close, Some(1)), forever());
    assert_eq!((series.latency.count(), seen[0].len()), (2_000, 2_000));
    assert!(series.latency.max_ns.unwrap() > 1_000);
}

#[test]
fn what_cannot_be_played_is_refused_before_a_line_is_touched() {
    let bench = Bench::new("refused");
    let refused = |moments: Moments, times| {
        let error = play(&bench.job(1, moments, times), forever()).map(drop).unwrap_err().to_string();
        assert!(sim::line_states(&bench.0).is_err(), "the chip was made");
        error
    };
    assert!(refused(moments(0, &[], 500), Some(1)).contains("nothing ever changes"));
    let cut = || moments(0, &[(100, 1)], 100);
    assert!(refused(cut(), Some(2)).contains("let it end with a later time"));
    assert!(refused(cut(), None).contains("let it end with a later time"));
}
