//! The columns of the table: their names, units, meanings, and where their values are in a record.

use ontick_arrow::{Column, Field, Kind};
use ontick_record::compare::{below_limit, missed};
use ontick_record::run::Environment;
use ontick_record::{Histogram, Side, date};

use super::Row;

/// A column.
pub struct Figure {
    pub name: &'static str,
    /// Of its values; empty where there is none.
    unit: &'static str,
    about: &'static str,
    of: Of,
}

/// A value of a row; `None` is a null, which stands for what the record does not say.
enum Of {
    Text(for<'a> fn(&Row<'a>) -> Option<&'a str>),
    Texts(for<'a> fn(&Row<'a>) -> &'a [String]),
    Count(fn(&Row) -> Option<u64>),
    Number(fn(&Row) -> Option<f64>),
    Flag(fn(&Row) -> Option<bool>),
    Time(fn(&Row) -> Option<i64>),
    Buckets(for<'a> fn(&Row<'a>) -> Option<&'a Histogram>),
}

const fn figure(name: &'static str, unit: &'static str, about: &'static str, of: Of) -> Figure {
    Figure { name, unit, about, of }
}

/// What is known of the machine by text.
const fn machine(name: &'static str, about: &'static str, of: for<'a> fn(&Row<'a>) -> Option<&'a str>) -> Figure {
    figure(name, "", about, Of::Text(of))
}

fn machine_of<'a>(row: &Row<'a>) -> Option<&'a Environment> {
    row.run.environment.as_ref()
}

/// A text that says something.
fn said(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn percentile(row: &Row, q: f64) -> Option<u64> {
    row.series.latency.quantile(q)
}

/// In the order in which they stand in the file.
pub const COLUMNS: &[Figure] = &[
    figure("file", "", "the file that the record was read from", Of::Text(|row| Some(row.file))),
    figure("measurement", "", "what was measured", Of::Text(|row| Some(row.run.measurement.as_str()))),
    figure("tool", "", "the program that measured, with its version", Of::Text(|row| said(&row.run.tool))),
    figure("started", "", "when the run began", Of::Time(|row| date::unix_ns(&row.run.started))),
    figure("duration_ns", "ns", "how long the run took", Of::Count(|row| Some(row.run.duration_ns))),
    figure("simulated", "", "what was simulated, if anything was", Of::Text(|row| row.run.simulated.as_deref())),
    figure("interrupted", "", "whether the run ended before its time", Of::Flag(|row| Some(row.run.interrupted))),
    figure(
        "requirements_met",
        "",
        "whether the run met its requirements, if it had any",
        Of::Flag(|row| (!row.run.requirements.is_empty()).then(|| row.run.met())),
    ),
    machine("machine", "board or product", |row| said(&machine_of(row)?.machine)),
    machine("processor", "processor model", |row| said(&machine_of(row)?.processor)),
    machine("architecture", "x86_64, aarch64, …", |row| said(&machine_of(row)?.architecture)),
    machine("system", "distribution", |row| said(&machine_of(row)?.system)),
    machine("kernel", "kernel release", |row| said(&machine_of(row)?.kernel)),
    machine("kernel_build", "kernel build", |row| said(&machine_of(row)?.kernel_build)),
    machine("preemption", "the kernel's preemption model", |row| said(&machine_of(row)?.preemption)),
    figure(
        "cpus_online",
        "",
        "CPUs that were online",
        Of::Count(|row| machine_of(row).map(|machine| machine.cpus_online.into())),
    ),
    machine("isolated", "isolated CPUs", |row| said(&machine_of(row)?.isolated)),
    machine("nohz_full", "CPUs without a tick", |row| said(&machine_of(row)?.nohz_full)),
    machine("governor", "frequency governor", |row| said(&machine_of(row)?.governor)),
    machine("clocksource", "the kernel's clock source", |row| said(&machine_of(row)?.clocksource)),
    figure("tick_hz", "Hz", "timer tick rate", Of::Count(|row| machine_of(row)?.tick_hz.map(u64::from))),
    machine("hypervisor", "hypervisor", |row| said(&machine_of(row)?.hypervisor)),
    machine("rt_throttling", "sched_rt_runtime_us / sched_rt_period_us", |row| said(&machine_of(row)?.rt_throttling)),
    machine("kernel_arguments", "kernel command line", |row| said(&machine_of(row)?.kernel_arguments)),
    figure(
        "tuned",
        "",
        "settings that ontick had changed",
        Of::Texts(|row| machine_of(row).map_or(&[], |machine| &machine.tuned)),
    ),
    figure("series", "", "name of the series within its run", Of::Text(|row| Some(&row.series.name))),
    figure("side", "", "side of a comparison: stock, ontick", Of::Text(|row| row.series.case.side.map(Side::as_str))),
    figure("loaded", "", "whether beside a load", Of::Flag(|row| row.series.case.loaded)),
    figure(
        "method",
        "",
        "how it was waited or done",
        Of::Text(|row| said(&row.series.settings.method).or(row.series.case.method.as_deref())),
    ),
    figure(
        "policy",
        "",
        "scheduling policy and priority",
        Of::Text(|row| said(&row.series.settings.policy).or(row.series.case.policy.as_deref())),
    ),
    figure("interval_ns", "ns", "period", Of::Count(|row| Some(row.series.settings.interval_ns).filter(|ns| *ns > 0))),
    figure("cpu", "", "the CPU that it was pinned to", Of::Count(|row| row.series.settings.cpu.map(u64::from))),
    figure("memory_locked", "", "whether memory was locked", Of::Flag(|row| Some(row.series.settings.memory_locked))),
    figure("phase_ns", "ns", "deadlines modulo the interval", Of::Count(|row| row.series.settings.phase_ns)),
    figure("phase_choice", "", "auto, fixed, chance", Of::Text(|row| said(&row.series.settings.phase_choice))),
    figure("margin_ns", "ns", "where a hybrid wait stopped sleeping", Of::Count(|row| row.series.settings.margin_ns)),
    figure(
        "margin_fixed",
        "",
        "whether that margin was chosen instead of learned",
        Of::Flag(|row| row.series.settings.margin_ns.map(|_| row.series.settings.margin_fixed)),
    ),
    figure(
        "spin_duty",
        "",
        "share of the time that was spent spinning",
        Of::Number(|row| row.series.settings.spin_duty),
    ),
    figure("clock", "", "clock and its source", Of::Text(|row| said(&row.series.settings.clock))),
    figure("load", "", "the load that ran beside", Of::Text(|row| said(&row.series.settings.load))),
    figure("line", "", "the line that was driven", Of::Text(|row| row.series.settings.line.as_deref())),
    figure("backend", "", "what is behind the lines", Of::Text(|row| row.series.settings.backend.as_deref())),
    figure("cache", "", "what was done for code and data", Of::Text(|row| row.series.case.cache.as_deref())),
    figure(
        "octets",
        "B",
        "what each frame or datagram has",
        Of::Count(|row| row.series.settings.octets.map(u64::from)),
    ),
    figure("work_bytes", "B", "memory that each cycle's work reads", Of::Count(|row| row.series.settings.work_bytes)),
    figure("delay_ns", "ns", "how long the delay was to be", Of::Count(|row| row.series.case.delay_ns)),
    figure(
        "refused",
        "",
        "what the system refused, with the reason and the remedy",
        Of::Texts(|row| &row.series.settings.refused),
    ),
    figure("samples", "", "cycles that were acted on", Of::Count(|row| Some(row.series.latency.count()))),
    figure("missed", "", "cycles that were missed", Of::Count(|row| missed(row.run, row.series))),
    figure("early", "", "samples before their time", Of::Count(|row| Some(row.series.early))),
    figure(
        "share_below_3us",
        "",
        "share of all cycles, missed ones included, that were less than 3 us late",
        Of::Number(|row| below_limit(row.series)),
    ),
    figure("min_ns", "ns", "least latency", Of::Count(|row| row.series.latency.min_ns)),
    figure("p50_ns", "ns", "median of the latency", Of::Count(|row| percentile(row, 0.5))),
    figure("p90_ns", "ns", "90th percentile", Of::Count(|row| percentile(row, 0.9))),
    figure("p99_ns", "ns", "99th percentile", Of::Count(|row| percentile(row, 0.99))),
    figure("p99_9_ns", "ns", "99.9th percentile", Of::Count(|row| percentile(row, 0.999))),
    figure("p99_99_ns", "ns", "99.99th percentile", Of::Count(|row| percentile(row, 0.9999))),
    figure("p99_999_ns", "ns", "99.999th percentile", Of::Count(|row| percentile(row, 0.99999))),
    figure("max_ns", "ns", "largest latency", Of::Count(|row| row.series.latency.max_ns)),
    figure("mean_ns", "ns", "mean, where it is exactly known", Of::Number(|row| row.series.latency.mean_ns)),
    figure(
        "std_dev_ns",
        "ns",
        "standard deviation, from buckets where it is not exactly known",
        Of::Number(|row| row.series.latency.deviation().map(|deviation| deviation.ns)),
    ),
    figure(
        "outlier_threshold_ns",
        "ns",
        "latencies above it are outliers",
        Of::Count(|row| Some(row.series.settings.outlier_threshold_ns).filter(|ns| *ns > 0)),
    ),
    figure("outliers", "", "how many there were", Of::Count(|row| Some(row.series.outlier_count))),
    figure("minor_faults", "", "page faults without I/O", Of::Count(|row| Some(row.series.contamination.minor_faults))),
    figure("major_faults", "", "page faults with I/O", Of::Count(|row| Some(row.series.contamination.major_faults))),
    figure(
        "involuntary_switches",
        "",
        "times that the CPU was taken away",
        Of::Count(|row| Some(row.series.contamination.involuntary_switches)),
    ),
    figure("steal_ns", "ns", "time that the hypervisor took", Of::Count(|row| Some(row.series.conditions.steal_ns))),
    figure(
        "load_average",
        "",
        "of one minute, at the end",
        Of::Number(|row| row.series.conditions.load_average.map(|[one, ..]| one)),
    ),
    figure(
        "contended",
        "",
        "whether a real-time thread of another process was in the way",
        Of::Flag(|row| Some(!row.series.conditions.rivals.is_empty())),
    ),
    figure(
        "width_ns",
        "ns",
        "how wide pulses were to be",
        Of::Count(|row| row.series.pulse.as_ref().map(|pulse| pulse.wanted_ns).or(row.series.case.width_ns)),
    ),
    figure(
        "beyond",
        "",
        "samples beyond the last bucket, of which no more is known",
        Of::Count(|row| Some(row.series.latency.overflow)),
    ),
    figure("buckets", "", "the histogram of the latency", Of::Buckets(|row| Some(&row.series.latency))),
    figure(
        "width_buckets",
        "",
        "the histogram of the widths of pulses",
        Of::Buckets(|row| row.series.pulse.as_ref().map(|pulse| &pulse.width)),
    ),
];

impl Figure {
    pub fn field(&self) -> Field {
        let (kind, may_be_null) = match self.of {
            Of::Text(_) => (Kind::Text, true),
            Of::Texts(_) => (Kind::List(Box::new(Field::new("item", Kind::Text))), false),
            Of::Count(_) => (Kind::U64, true),
            Of::Number(_) => (Kind::F64, true),
            Of::Flag(_) => (Kind::Bool, true),
            Of::Time(_) => (Kind::Time, true),
            Of::Buckets(_) => (Kind::List(Box::new(Field::new("item", bucket()))), true),
        };
        let field = Field::new(self.name, kind).with("description", self.about);
        let field = if self.unit.is_empty() { field } else { field.with("unit", self.unit) };
        if may_be_null { field.nullable() } else { field }
    }

    /// Adds its value in this row.
    pub fn add(&self, row: &Row, column: &mut Column) {
        match self.of {
            Of::Text(of) => or_null(column, of(row), Column::text),
            Of::Texts(of) => column.list(|items| of(row).iter().for_each(|text| items.text(text))),
            Of::Count(of) => or_null(column, of(row), Column::word),
            // A number that is none says nothing.
            Of::Number(of) => or_null(column, of(row).filter(|number| number.is_finite()), Column::number),
            Of::Flag(of) => or_null(column, of(row), Column::flag),
            Of::Time(of) => or_null(column, of(row).map(|ns| ns as u64), Column::word),
            Of::Buckets(of) => or_null(column, of(row), buckets),
        }
    }
}

fn or_null<T>(column: &mut Column, value: Option<T>, add: impl FnOnce(&mut Column, T)) {
    match value {
        Some(value) => add(column, value),
        None => column.null(),
    }
}

fn bucket() -> Kind {
    let field = |name, about| Field::new(name, Kind::U64).with("description", about);
    Kind::Struct(vec![
        field("low_ns", "the least value that it holds").with("unit", "ns"),
        field("high_ns", "the largest value that it holds").with("unit", "ns"),
        field("count", "how many samples it has"),
    ])
}

fn buckets(column: &mut Column, histogram: &Histogram) {
    column.list(|items| {
        for bucket in histogram.buckets() {
            items.words(&[bucket.low_ns, bucket.high_ns(), bucket.count]);
        }
    });
}
