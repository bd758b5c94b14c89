//! The published schema describes the documents that are written.

use std::path::Path;

use ontick_record::run::{Block, Environment, Instrument, Judged, Maxima, Outlier, Pulse, Rival};
use ontick_record::uncertainty::{Component, Source};
use ontick_record::{Run, Series, Uncertainty, store};
use serde_json::{Value, json};

/// A run that fills every field.
fn full() -> Run {
    let mut run = Run::new("ontick 0.1.0", "timer");
    run.simulated = Some("line".into());
    run.interrupted = true;
    run.environment = Some(Environment { tick_hz: Some(250), ..Environment::default() });
    let (capture, edges) = ("sigrok session".into(), 7);
    run.instrument = Some(Instrument { capture, rate_hz: Some(24_000_000), resolution_ps: 41_667, edges });
    run.facts.push("a fact".into());
    run.notes.push("a note".into());
    run.requirements.push(Judged {
        requirement: "99% < 3us".into(),
        series: "hybrid".into(),
        observed: "99.9% < 3us".into(),
        met: true,
        unproven: true,
    });
    let mut series = Series { name: "hybrid".into(), missed: 3, ..Series::default() };
    series.latency.add(400, 4, u64::MAX / 2);
    (series.latency.mean_ns, series.latency.std_dev_ns) = (Some(401.5), Some(0.5));
    let read = Component::rectangular(Source::ClockReading, 12.5).offset_by(12.5);
    series.uncertainty = Some(Uncertainty::of(vec![read, Component::observed(Source::ClockReadingSpread, 2.0)]));
    series.state_uncertainty();
    series.settings.cpu = Some(1);
    (series.settings.margin_ns, series.settings.margin_fixed) = (Some(50_000), true);
    series.settings.spin_duty = Some(f64::NAN);
    series.settings.refused.push("mlockall: no".into());
    series.maxima = Maxima { step_ns: 1_000_000_000, max_ns: vec![403], short: vec![(0, 1_000)] };
    series.outliers.push(Outlier { at_ns: 1, latency_ns: 403, cause: None });
    series.blocks.push(Block { load_average: f64::NAN, ..Block::default() });
    let mut pulse = Pulse { wanted_ns: 100_000, gap_ns: 1_000_000, subtracted_ns: Some(-41), ..Pulse::default() };
    pulse.first = vec![(0, 100_120), (1_100_040, 99_990)];
    pulse.width.add(99_990, 1, 5);
    series.pulse = Some(pulse);
    series.settings.confined_to = Some("1".into());
    series.settings.strayed_to = vec![0];
    (series.settings.load_ended, series.settings.shortest_ns) = (true, Some(1_000));
    series.conditions.load_average = Some([0.1, 0.2, 0.3]);
    series.conditions.interrupts.insert("LOC".into(), 7);
    series.conditions.cpu_khz = Some((600_000, 1_400_000));
    series.conditions.rivals.push(Rival { policy: "fifo:99".into(), ..Rival::default() });
    run.series.push(series);
    run
}

fn imported() -> impl Iterator<Item = Run> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e != "md")).map(|path| store::read_any(&path).unwrap())
}

#[test]
fn documents_fit_the_schema() {
    let schema = Run::schema();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    for run in imported().chain([full(), Run::new("ontick 0.1.0", "timer")]) {
        let document: Value = serde_json::from_str(&store::text(&run)).unwrap();
        if let Err(error) = validator.validate(&document) {
            panic!("{}: {error} at {}", run.tool, error.instance_path());
        }
    }
}

#[test]
fn what_cannot_be_read_does_not_fit_the_schema() {
    let validator = jsonschema::validator_for(&Run::schema()).unwrap();
    let document: Value = serde_json::from_str(&store::text(&full())).unwrap();
    for (path, value) in [
        ("/series/0/latency/buckets/0/2", json!(-1)),
        ("/series/0/latency/buckets/0", json!([1, 2])),
        ("/series/0/name", json!(7)),
        ("/series/0/missed", json!(1.5)),
        ("/series", json!(null)),
        ("/tool", json!(null)),
    ] {
        let mut changed = document.clone();
        *changed.pointer_mut(path).unwrap() = value;
        assert!(!validator.is_valid(&changed), "{path}");
        assert!(store::parse(&changed.to_string()).is_err(), "{path}");
    }
}
