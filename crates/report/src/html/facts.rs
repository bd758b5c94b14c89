//! What the figures were measured on and how: environment, settings, contamination, conditions.

use ontick_record::run::Contamination;
use ontick_record::{Environment, Series};
use ontick_units::show;

use super::arguments;
use crate::compare::Named;
use crate::markup::Markup;
use crate::typeset::{count, plain_time};

/// A row of a table: its name, and what each column says.
type Row = (&'static str, Vec<String>);

pub(super) fn all(body: &mut Markup, runs: &[Named]) {
    let machines: Vec<(&str, &Environment)> =
        runs.iter().filter_map(|n| Some((n.name, n.run.environment.as_ref()?))).collect();
    let heads: Vec<String> = machines.iter().map(|(name, _)| name.to_string()).collect();
    facts(body, "Machine", &heads, environment(&machines.iter().map(|(_, e)| *e).collect::<Vec<_>>()));
    arguments::whole(body, &machines);

    let several = runs.len() > 1;
    let label = |n: &Named, s: &Series| if several { format!("{}: {}", n.name, s.name) } else { s.name.clone() };
    let heads: Vec<String> = runs.iter().flat_map(|n| n.run.series.iter().map(move |s| label(n, s))).collect();
    let series: Vec<&Series> = runs.iter().flat_map(|n| &n.run.series).collect();
    facts(body, "How it ran", &heads, settings(&series));
    facts(body, "What happened meanwhile", &heads, conditions(&series));
}

/// A table of facts; rows that say nothing are left out, and what all columns share is said once.
fn facts(body: &mut Markup, title: &str, heads: &[String], rows: Vec<Row>) {
    let rows: Vec<Row> = rows.into_iter().filter(|(_, cells)| cells.iter().any(|c| !c.is_empty())).collect();
    if rows.is_empty() {
        return;
    }
    body.leaf("h2", &[], title).open("div", &[("class", &"wide")]).open("table", &[("class", &"facts")]);
    // Many columns are read more easily as rows.
    let turned = heads.len() > MOST_COLUMNS;
    let is_shared = |row: &Row| row.1.windows(2).all(|w| w[0] == w[1]);
    let (apart, rows): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| turned && !is_shared(row));
    if heads.len() > 1 && !turned {
        body.open("thead", &[]).open("tr", &[]).leaf("th", &[], "");
        heads.iter().for_each(|h| {
            body.leaf("th", &[("scope", &"col")], h);
        });
        body.close().close();
    }
    body.open("tbody", &[]);
    for row in rows {
        body.open("tr", &[]).leaf("th", &[("scope", &"row")], row.0);
        if is_shared(&row) {
            body.leaf("td", &[("class", &"shared"), ("colspan", &row.1.len())], &row.1[0]);
        } else {
            row.1.iter().for_each(|cell| fact(body, cell));
        }
        body.close();
    }
    body.close().close().close();
    if !apart.is_empty() {
        body.open("div", &[("class", &"wide")]).open("table", &[("class", &"facts")]).open("thead", &[]);
        body.open("tr", &[]).leaf("th", &[], "");
        apart.iter().for_each(|(name, _)| {
            body.leaf("th", &[("scope", &"col")], name);
        });
        body.close().close().open("tbody", &[]);
        for (i, head) in heads.iter().enumerate() {
            body.open("tr", &[]).leaf("th", &[("scope", &"row")], head);
            apart.iter().for_each(|(_, cells)| fact(body, &cells[i]));
            body.close();
        }
        body.close().close().close();
    }
}

/// More columns than this are turned into rows.
const MOST_COLUMNS: usize = 8;

fn fact(body: &mut Markup, cell: &str) {
    body.leaf("td", &[], if cell.is_empty() { "—" } else { cell });
}

fn row<T>(name: &'static str, all: &[&T], of: impl Fn(&T) -> String) -> Row {
    (name, all.iter().map(|t| of(t)).collect())
}

fn environment(all: &[&Environment]) -> Vec<Row> {
    vec![
        row("machine", all, |e| e.machine.clone()),
        row("processor", all, |e| e.processor.clone()),
        row("architecture", all, |e| e.architecture.clone()),
        row("CPUs online", all, |e| some(u64::from(e.cpus_online))),
        row(
            "hypervisor",
            all,
            |e| if e.hypervisor.is_empty() { "none: bare metal".into() } else { e.hypervisor.clone() },
        ),
        row("system", all, |e| e.system.clone()),
        row("kernel", all, |e| [e.kernel.as_str(), e.kernel_build.as_str()].join(" ").trim().into()),
        row("preemption", all, |e| e.preemption.clone()),
        row("timer tick", all, |e| e.tick_hz.map_or(String::new(), |hz| format!("{hz} Hz"))),
        row("isolated CPUs", all, |e| none(&e.isolated)),
        row("CPUs without tick", all, |e| none(&e.nohz_full)),
        row("frequency governor", all, |e| none(&e.governor)),
        row("clock source", all, |e| e.clocksource.clone()),
        row("real-time throttling", all, |e| match e.rt_throttling.as_str() {
            "-1" => "off".into(),
            other => other.into(),
        }),
        row("changed by ontick tune", all, |e| e.tuned.join(", ")),
        row("kernel arguments", all, arguments::timing),
    ]
}

fn settings(all: &[&Series]) -> Vec<Row> {
    let time = |ns: Option<u64>| ns.map_or(String::new(), plain_time);
    vec![
        row("wait", all, |s| s.settings.method.clone()),
        row("interval", all, |s| {
            if s.settings.interval_ns > 0 { plain_time(s.settings.interval_ns) } else { String::new() }
        }),
        row("CPU", all, |s| match (s.settings.cpu, s.settings.peer_cpu) {
            (Some(cpu), Some(peer)) => format!("{cpu} and {peer}"),
            (Some(cpu), None) => cpu.to_string(),
            // An imported record may not say; then neither does this.
            (None, _) if s.settings.policy.is_empty() => String::new(),
            (None, _) => "any".into(),
        }),
        row("line", all, |s| s.settings.line.clone().unwrap_or_default()),
        row("watched line", all, |s| s.settings.watched_line.clone().unwrap_or_default()),
        row("lines are", all, |s| s.settings.backend.clone().unwrap_or_default()),
        row("confined to CPU", all, |s| s.settings.confined_to.clone().unwrap_or_default()),
        row("policy", all, |s| s.settings.policy.clone()),
        row("memory locked", all, |s| match (s.settings.memory_locked, s.settings.policy.is_empty()) {
            (true, _) => "yes".into(),
            (false, true) => String::new(),
            (false, false) => "no".into(),
        }),
        row("power states", all, |s| match s.settings.wake_within_ns {
            Some(0) => "none".into(),
            within_ns => within_ns.map_or(String::new(), |ns| format!("up to {}", plain_time(ns))),
        }),
        row("CPU kept awake", all, |s| if s.settings.kept_awake { "yes".into() } else { String::new() }),
        row("phase", all, |s| match s.settings.phase_ns {
            Some(ns) if s.settings.phase_choice.is_empty() => plain_time(ns),
            Some(ns) => format!("{} ({})", plain_time(ns), s.settings.phase_choice),
            None => s.settings.phase_choice.clone(),
        }),
        row("margin before the deadline", all, |s| {
            let fixed = if s.settings.margin_fixed { " (fixed)" } else { "" };
            format!("{}{fixed}", time(s.settings.margin_ns))
        }),
        row("time spent spinning", all, |s| {
            s.settings.spin_duty.map_or(String::new(), |d| format!("{:.1}\u{202f}%", d * 100.0))
        }),
        row("time watched for gaps", all, |s| time(s.settings.watched_ns)),
        row("clock", all, |s| s.settings.clock.clone()),
        row("load", all, |s| s.settings.load.clone()),
    ]
}

fn conditions(all: &[&Series]) -> Vec<Row> {
    let interrupts = |s: &Series| {
        let mut named: Vec<(&String, &u64)> = s.conditions.interrupts.iter().collect();
        named.sort_by(|a, b| b.1.cmp(a.1));
        named.iter().take(6).map(|(name, n)| format!("{name}\u{a0}{}", count(**n))).collect::<Vec<_>>().join(" · ")
    };
    // A simulation has no thread that could be observed, and other tools' output says nothing of theirs.
    let observed = |s: &Series, n: u64| match s.conditions.load_average {
        None if s.contamination == Contamination::default() => String::new(),
        _ => count(n),
    };
    vec![
        row("page faults in the timed section", all, |s| {
            observed(s, s.contamination.minor_faults + s.contamination.major_faults)
        }),
        row("times the CPU was taken away", all, |s| observed(s, s.contamination.involuntary_switches)),
        row("times it gave up the CPU itself", all, |s| observed(s, s.contamination.voluntary_switches)),
        row("samples before their time", all, |s| some(s.early)),
        row("outliers", all, |s| match s.settings.outlier_threshold_ns {
            0 => some(s.outlier_count),
            limit => format!("{} above {}", count(s.outlier_count), plain_time(limit)),
        }),
        row("load average at the end", all, |s| {
            s.conditions.load_average.map_or(String::new(), |l| l.map(|v| format!("{v:.2}")).join(" "))
        }),
        row("taken by the hypervisor", all, |s| spent(s.conditions.steal_ns)),
        row("idle time of all CPUs", all, |s| spent(s.conditions.idle_ns)),
        row("CPU frequency", all, |s| {
            s.conditions.cpu_khz.map_or(String::new(), |(low, high)| match (low / 1_000, high / 1_000) {
                (low, high) if low == high => format!("{low} MHz"),
                (low, high) => format!("{low} to {high} MHz"),
            })
        }),
        row("interrupts", all, interrupts),
    ]
}

fn spent(ns: u64) -> String {
    if ns == 0 { String::new() } else { show(ns).replace('s', "\u{202f}s").replace("m\u{202f}s", "\u{202f}ms") }
}

fn some(n: u64) -> String {
    if n == 0 { String::new() } else { count(n) }
}

fn none(text: &str) -> String {
    if text.is_empty() { "none".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_observed_is_not_said_to_be_none() {
        let mut series = Series::default();
        assert!(conditions(&[&series]).iter().all(|(_, cells)| cells[0].is_empty()));
        series.conditions.load_average = Some([0.5, 0.5, 0.5]);
        assert_eq!(conditions(&[&series])[0], ("page faults in the timed section", vec!["0".into()]));
        series.conditions.load_average = None;
        series.contamination.involuntary_switches = 2;
        assert_eq!(conditions(&[&series])[1], ("times the CPU was taken away", vec!["2".into()]));
    }
}
