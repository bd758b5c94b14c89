//! A picture of each kind that the program makes as PNG, with something in it.

use ontick_record::network::{DrawnLink, NetworkProof};
use ontick_record::run::{Dip, DipPoint, Maxima, Pulse, Waits};
use ontick_record::tail::{Bound, Level, Tail};
use ontick_record::{Case, Histogram, Measurement, Run, Series};
use ontick_report::compare::Named;
use ontick_report::network::{self, Rows};
use ontick_report::{Plot, plot};
use ontick_tsn::network::samples;
use ontick_tsn::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

use crate::sample;

/// A record that ontick kept of a real run.
fn kept(name: &str) -> Run {
    let file = format!("{}/tests/records/{name}.json", env!("CARGO_MANIFEST_DIR"));
    ontick_record::store::read(std::path::Path::new(&file)).unwrap()
}

/// The name of a picture, and the picture as SVG.
pub type Picture = (String, String);

/// One of each kind, and those of more series than one plot has room for.
pub fn all() -> Vec<Picture> {
    let mut all: Vec<Picture> = Plot::ALL.into_iter().map(|kind| of_run(&run_for(kind), kind)).collect();
    let table = kept("pulse-table");
    all.push(of_run(&table, Plot::Widths));
    all.extend([of_run(&sample::hostile(), Plot::Latency), of_run(&sample::hostile_switch(), Plot::Arrivals)]);
    let (one, other) = (sample::prove(), sample::single());
    let named = [Named { name: "one", run: &one }, Named { name: "other", run: &other }];
    all.push(("several".into(), plot::svg_of_several(&named, Plot::Percentiles)));
    all.extend(of_plan());
    all
}

fn of_run(run: &Run, kind: Plot) -> Picture {
    assert_eq!(plot::lacking(run, kind), None, "{kind:?}");
    (format!("{} of {}", kind.name(), run.measurement), plot::svg(run, kind))
}

/// A run that has what a plot shows.
fn run_for(kind: Plot) -> Run {
    match kind {
        Plot::Latency | Plot::Percentiles | Plot::Maxima | Plot::Blocks => kept("prove"),
        Plot::Widths | Plot::Persistence => kept("pulse"),
        Plot::Waveform => train(),
        Plot::Outliers => kept("timer"),
        Plot::Arrivals => kept("switch-demo"),
        Plot::Delays => delays(),
        Plot::Waits => waits(),
        Plot::Received => received(),
        Plot::Dips => dips(),
        Plot::Links => links(),
        Plot::Cpus => cpus(),
        Plot::Tail => tail(),
        Plot::Forest => searched(),
    }
}

/// A modelled search.
fn searched() -> Run {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pictures/tune-search.json");
    ontick_record::store::read(std::path::Path::new(file)).unwrap()
}

/// A train of pulses whose first were kept, the later edges later.
fn train() -> Run {
    let mut run = kept("pulse");
    let pulse = run.series[0].pulse.as_mut().unwrap();
    let period_ns = pulse.wanted_ns + pulse.gap_ns;
    pulse.first = (0..32).map(|n| (n * period_ns + 37 * n, pulse.wanted_ns + 11 * n - 60)).collect();
    run
}

fn delays() -> Run {
    let mut run = Run::new("ontick", Measurement::Delay);
    for (method, added_ns) in [("usleep", 53_000), ("spin", 40)] {
        for asked_ns in [0, 20_000, 400_000] {
            let case = Case { delay_ns: Some(asked_ns), method: Some(method.into()), ..Case::default() };
            let mut series = Series::from(case);
            series.settings.method = method.into();
            series.latency.add(added_ns, 1, 99);
            series.latency.add(added_ns * 10, 1, 1);
            run.series.push(series);
        }
    }
    run
}

fn waits() -> Run {
    let mut run = Run::new("ontick", Measurement::Timer);
    let method = Some("hybrid".to_string());
    let mut sum = Series::from(Case { method: method.clone(), sum_of_waits: Some(2), ..Case::default() });
    let mut found = Waits { count: 2, gap_ns: 125_000, ..Waits::default() };
    let mut each =
        [1, 2].map(|wait| Series::from(Case { method: method.clone(), wait: Some(wait), ..Case::default() }));
    for n in 1..400 {
        let (second_ns, largest_ns) = (100 + n, 400 + n * n);
        found.second.add(second_ns, 1, 1);
        found.largest.add(largest_ns, 1, 1);
        sum.latency.add(second_ns + largest_ns, 1, 1);
        each[0].latency.add(second_ns, 1, 1);
        each[1].latency.add(largest_ns, 1, 1);
    }
    sum.waits = Some(found);
    run.series.push(sum);
    run.series.extend(each);
    run
}

fn received() -> Run {
    let mut run = Run::new("ontick", Measurement::LinkTest);
    for (loaded, wanted_ns) in [(false, 100_000), (false, 200_000), (true, 100_000), (true, 200_000)] {
        let mut width = Histogram::default();
        (0..40).for_each(|n| width.add(wanted_ns + n * if loaded { 2_000 } else { 300 }, 1_000, 90 - 2 * n));
        let case = Case { width_ns: Some(wanted_ns), loaded: Some(loaded), ..Case::default() };
        let mut series = Series::from(case);
        series.pulse = Some(Pulse { wanted_ns, width, ..Pulse::default() });
        run.series.push(series);
    }
    run
}

fn dips() -> Run {
    let mut run = Run::new("ontick", Measurement::Dip);
    for (method, both_ns) in [("interrupt", 20_000), ("poll", 2_000)] {
        let case = Case { method: Some(method.into()), ..Case::default() };
        let point = |width_ns| {
            let both = if width_ns >= both_ns { 100 } else { 3 };
            DipPoint { width_ns, dips: 100, both, one: 100 }
        };
        let mut series = Series::from(case);
        series.dip = Some(Dip {
            share: 0.99,
            low_ns: 1_000,
            high_ns: 500_000,
            step_ns: 1_000,
            both_ns: Some(both_ns),
            one_ns: None,
            points: [1_000, 19_000, 20_000, 250_000, 500_000].map(point).to_vec(),
        });
        run.series.push(series);
    }
    run
}

fn links() -> Run {
    let link = |name: &str, shift: u64| DrawnLink {
        name: name.into(),
        windows: vec![(0, 40_000 + shift)],
        frames: vec![(Some(0), 5_000, 20_000 + shift), (Some(1), 22_000 + shift, 39_000), (None, 60_000, 90_000)],
        names: vec!["near".into(), "far".into()],
    };
    let links = vec![link("a>s1", 0), link("s1>b", 2_000)];
    let network = NetworkProof { links, cycle_ns: 100_000, ..NetworkProof::default() };
    Run { network: Some(network), ..Run::new("ontick", Measurement::Timer) }
}

fn cpus() -> Run {
    let mut run = Run::new("ontick", Measurement::Timer);
    run.series.extend((0..4).map(|cpu| {
        let case = Case { method: Some("hybrid".into()), cpu: Some(cpu), ..Case::default() };
        let mut series = Series::from(case);
        series.latency.add(900, 1, 10_000);
        let max_ns = (0..30).map(|second| 1_000 << ((second * 7 + u64::from(cpu) * 3) % 10)).collect();
        series.maxima = Maxima { step_ns: 1_000_000_000, max_ns, ..Maxima::default() };
        series
    }));
    run
}

fn tail() -> Run {
    let mut run = Run::new("ontick", Measurement::Timer);
    let mut series = Series { name: "hybrid".into(), ..Series::default() };
    series.latency.add(1_000, 1, 1_000_000);
    series.peaks = (1..=600).map(|n| (n * 1_000_000, 20_000 + n * 10).into()).collect();
    let level = |power: u32| {
        let fitted_ns = 20_000 + 2_000 * u64::from(power);
        let spread_ns = 300 * u64::from(power * power);
        let (lower_ns, upper_ns) = (fitted_ns - spread_ns / 2, fitted_ns + spread_ns);
        Level { once_in: 10u64.pow(power), lower_ns, fitted_ns, upper_ns }
    };
    let levels = (3..10).map(level).collect();
    let bound = Bound { cycles: 1_000_000, threshold_ns: 22_000, peaks: 400, levels, ..Bound::default() };
    series.tail = Some(Tail { once_in: 1_000_000_000, bound: Some(bound), refusal: None });
    run.series.push(series);
    run
}

/// Of a planned ring: its gates, its streams, its nodes, and the load of its cables.
fn of_plan() -> Vec<Picture> {
    let ring = samples::ring(4, 9);
    let Outcome::Planned(table) = plan(&ring, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!("the ring was not planned")
    };
    let schedule = gate_control_list::schedule(&ring, &table).unwrap();
    let routes: Vec<Vec<usize>> =
        (table.placed.iter().flatten()).map(|placed| placed.hops.iter().map(|hop| hop.link).collect()).collect();
    let rows = [("links", Rows::Links), ("streams", Rows::Streams), ("nodes", Rows::Nodes)];
    let mut pictures: Vec<Picture> =
        rows.map(|(name, rows)| (format!("{name} of a plan"), network::svg(rows, &ring, &table, &schedule))).into();
    pictures.push(("the map of a plan".into(), network::topology_svg(&ring, &routes, "nine streams")));
    pictures
}
