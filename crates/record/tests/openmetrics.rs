//! Prometheus and the format's reference parser read the text, and would say if it were wrong.

mod judges;

use ontick_record::openmetrics::{Distribution, Exposition, Kind, Labels};

fn text() -> String {
    let mut text = Exposition::with_prefix("ontick_");
    let labels = Labels::new(&[("series", "\"1\" \\ \u{1b}\n#")]);
    text.family("frames", Kind::Counter, "Frames \"that\"\nleft.").sample(&labels, u64::MAX);
    text.family("link_up", Kind::Gauge, "Whether a port can send.").sample(&Labels::default(), 1);
    text.family("run", Kind::Info, "The run.").sample(&labels, 1);
    let latency = text.family("latency_seconds", Kind::Histogram, "Latency.");
    let distribution = |sum_ns| {
        let below = vec![(100, 0), (3_000, 2), (10_000_000_000, 2)];
        Distribution { below, count: 3, sum_ns, ..Default::default() }
    };
    latency.histogram(&labels, distribution(Some(12_345.0)));
    latency.histogram(&Labels::new(&[("series", "without a sum")]), distribution(None));
    text.finish()
}

#[test]
fn prometheus_reads_the_text() {
    judges::openmetrics(&text());
}

#[test]
fn a_text_that_is_wrong_is_not_read() {
    if !judges::runs("promtool", &["--version"]) {
        return;
    }
    for (from, to) in [("# EOF", "# END"), ("_total{", "{{"), (" 18446744073709551615\n", " many\n")] {
        let wrong = text().replacen(from, to, 1);
        assert!(std::panic::catch_unwind(|| judges::openmetrics(&wrong)).is_err(), "{wrong}");
    }
}
