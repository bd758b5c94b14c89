//! Pulses as text, HTML and OpenMetrics.

use ontick_record::run::Pulse;
use ontick_record::{Case, Measurement, Run, Series};
use ontick_report::{Style, html, openmetrics, rows, text, verdict};

fn series(name: &str, wanted_ns: u64, errors_ns: &[i64]) -> Series {
    let mut pulse = Pulse { wanted_ns, gap_ns: 1_000_000, measured_by: "edges".into(), ..Pulse::default() };
    let case = Case::of_name(&Measurement::PulseTable, name).unwrap_or_default();
    let mut series = Series { case, ..Series::from(name.to_string()) };
    for error_ns in errors_ns {
        pulse.width.add(wanted_ns.saturating_add_signed(*error_ns), 1, 1);
        series.latency.add(error_ns.unsigned_abs(), 1, 1);
    }
    pulse.width.mean_ns = Some(wanted_ns as f64 + errors_ns.iter().sum::<i64>() as f64 / errors_ns.len() as f64);
    series.pulse = Some(pulse);
    series
}

fn train(names: &[&str]) -> Run {
    let mut run = Run::new("ontick", "pulse");
    run.simulated = Some("line sim:bench/17 in shared memory".into());
    run.series = names.iter().map(|name| series(name, 100_000, &[-100, 300, 8_400])).collect();
    run
}

#[test]
fn shortest_average_and_longest_stand_beside_the_error() {
    let shown = text::summary(&train(&["hybrid"]), &Style::default());
    let row = shown.lines().find(|line| line.trim_start().starts_with("hybrid")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["hybrid", "99.90", "102.87", "108.40", "300ns", "8.40us", "8.40us", "0"]
    );
    assert!(shown.starts_with("simulated line sim:bench/17") && shown.contains("Measured by edges."), "{shown}");
}

#[test]
fn calibration_says_what_it_subtracted() {
    let mut run = train(&["sleep, raw", "sleep, calibrated"]);
    run.series[1].pulse.as_mut().unwrap().subtracted_ns = Some(17_250);
    let shown = text::summary(&run, &Style::default());
    assert!(shown.contains("sleep, calibrated: 17.2us subtracted from what was asked."), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn the_verdict_speaks_of_widths() {
    let mut run = train(&["hybrid"]);
    assert!(verdict(&run).starts_with("The simulated machine keeps the width of a pulse within 3 us in 66.66 %"));
    run.measurement = "pulse-table".into();
    run.series = vec![
        series("1ms, hybrid, minimised, idle", 1_000_000, &[10]),
        series("10us, sleep, minimised, idle", 10_000, &[15_000]),
        series("10us, hybrid, minimised, idle", 10_000, &[30]),
        series("10us, hybrid, stock, idle", 10_000, &[20]),
    ];
    assert!(verdict(&run).starts_with("The simulated machine, at 10us by hybrid (minimised),"), "{}", verdict(&run));
}

#[test]
fn metrics_have_the_widths_in_seconds_and_say_what_is_behind_the_line() {
    let mut run = train(&["hybrid"]);
    run.series[0].settings.backend = Some("simulated".into());
    let text = openmetrics(&run);
    for line in [
        "ontick_pulse_wanted_seconds{measurement=\"pulse\",series=\"hybrid\",method=\"\",load=\"none\",backend=\"simulated\"} 0.0001\n",
        "backend=\"simulated\",which=\"shortest\"} 9.99e-05\n",
        "backend=\"simulated\",which=\"longest\"} 0.0001084\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn nothing_in_a_record_breaks_out() {
    let evil = "</script><script>alert(1)</script> \"q\" \u{1b}[2J \n# EOF";
    for measurement in ["pulse", "pulse-table"] {
        let mut run = train(&[&format!("10us, {evil}, minimised, loaded")]);
        (run.measurement, run.simulated) = (measurement.into(), Some(evil.into()));
        let series = &mut run.series[0];
        series.pulse.as_mut().unwrap().measured_by = evil.into();
        series.pulse.as_mut().unwrap().subtracted_ns = Some(i64::MIN);
        for field in [&mut series.settings.line, &mut series.settings.backend, &mut series.settings.confined_to] {
            *field = Some(evil.into());
        }
        let shown = text::summary(&run, &Style::default()) + &rows(&run);
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
        assert!(!html(&run).contains("<script>alert"));
        assert_eq!(openmetrics(&run).matches("\n# EOF").count(), 1);
    }
}
