//! What a run was measured on and how: the lines above every table.

use ontick_record::capture::Rate;
use ontick_record::run::{Instrument, Settings};
use ontick_record::{Case, Environment, Measurement, Run, Series, Side};
use ontick_units::{CpuList, exact};

use crate::grouping::load_name;
use crate::line::Line;
use crate::number::{counted, plain};
use crate::verdict::decisive;
use crate::{streams, switching};

/// What was run: `ontick prove`, `ontick latency timer`, `cyclictest`; of a capture that does not say what wrote it, its
/// kind.
pub(crate) fn title(run: &Run) -> String {
    match (run.tool.starts_with("ontick"), &run.measurement) {
        (false, measurement) if run.tool.is_empty() => {
            run.instrument.as_ref().map_or_else(|| measurement.to_string(), |instrument| instrument.capture.clone())
        }
        (false, _) => run.tool.clone(),
        (
            true,
            Measurement::Prove
            | Measurement::Pulse
            | Measurement::Sample
            | Measurement::LinkTest
            | Measurement::KernelEvaluate,
        ) => {
            format!("ontick {}", run.measurement)
        }
        (true, _) if run.switch.is_some() || run.network.is_some() || run.search.is_some() => {
            format!("ontick {}", run.measurement)
        }
        (true, Measurement::PulseTable) => "ontick pulse --table".into(),
        (true, other) => format!("ontick latency {other}"),
    }
}

/// The lines of a run: machine, job, core, and how the other side of a comparison ran.
pub(crate) fn lines(run: &Run) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(environment) = &run.environment {
        lines.push(Line { label: "machine", parts: machine(environment) });
    }
    if let Some(switch) = &run.switch {
        lines.extend(switching::lines(switch));
        lines.retain(|line| !line.parts.is_empty());
        return lines;
    }
    if let Some(network) = &run.network {
        lines.extend(streams::lines(network));
        return lines;
    }
    if let Some(search) = &run.search {
        lines.extend(crate::search::lines(search));
        return lines;
    }
    lines.extend(run.instrument.as_ref().map(|seen| instrument(run, seen)));
    lines.push(Line { label: "job", parts: job(run) });
    if run.measurement == Measurement::Prove {
        let stock = run.series.iter().find(|s| s.case.side == Some(Side::Stock));
        lines.push(Line { label: "core", parts: decisive(run).map_or(Vec::new(), |s| side(run, s)) });
        lines.push(Line { label: "stock", parts: stock.map_or(Vec::new(), |s| side(run, s)) });
    } else {
        lines.push(Line { label: "core", parts: common(run, core) });
    }
    lines.retain(|line| !line.parts.is_empty());
    lines
}

/// The machine: `Raspberry Pi 3B+ · Linux 6.12.34-rt · PREEMPT_RT · 4 CPUs · no isolation`.
pub(crate) fn machine(e: &Environment) -> Vec<String> {
    let name = [&e.machine, &e.processor, &e.architecture].into_iter().find(|s| !s.is_empty());
    let mut parts: Vec<String> = name.cloned().into_iter().collect();
    if !e.kernel.is_empty() {
        parts.push(format!("Linux {}", e.kernel));
    }
    parts.extend(match e.preemption.as_str() {
        "" => None,
        "PREEMPT_RT" => Some("PREEMPT_RT".into()),
        other => Some(format!("preemption {other}")),
    });
    if e.cpus_online > 0 {
        parts.push(format!("{} CPU{}", e.cpus_online, if e.cpus_online == 1 { "" } else { "s" }));
    }
    parts.push(match e.isolated.as_str() {
        "" => "no isolation".into(),
        cpus => format!("CPU {cpus} isolated"),
    });
    if !e.governor.is_empty() {
        parts.push(format!("governor {}", e.governor));
    }
    parts.extend(match e.hypervisor.as_str() {
        "" => None,
        "unknown" => Some("hypervisor unknown".into()),
        name => Some(format!("guest of {name}")),
    });
    if !e.tuned.is_empty() {
        parts.push("tuned".into());
    }
    parts
}

/// The job: `act every 1ms · 12 blocks of 5s, stock and ontick in turn · load: none, then cpu`.
fn job(run: &Run) -> Vec<String> {
    let intervals = common(run, |s| (s.interval_ns > 0).then(|| exact(s.interval_ns)).into_iter().collect());
    let every = intervals.first().map_or(String::new(), |interval| format!(" every {interval}"));
    let mut parts = vec![match &run.measurement {
        Measurement::Prove | Measurement::Timer | Measurement::KernelEvaluate => {
            format!("act{every}{}{}", waits(run), work(run))
        }
        Measurement::Wakeup => format!("wake the other CPU{every}"),
        Measurement::Wallclock => format!("act at a time of day{every}"),
        Measurement::Edge => format!("detect a line change{every}"),
        Measurement::Response => format!("answer a line's change{every}"),
        Measurement::RoundTrip => format!("have an answer by the network{every}{}", octets(run)),
        Measurement::Delay => "delays, asked for and got".into(),
        Measurement::Noise => "spin and watch for gaps".into(),
        Measurement::Pulse => pulses(run),
        Measurement::Period => periods(run),
        Measurement::Intervals => "times between edges".into(),
        Measurement::Dip => "detect dips of an input".into(),
        Measurement::LinkTest => "send pulses over a wire".into(),
        Measurement::NetworkTalk => "hand messages over as planned".into(),
        Measurement::GpioPlay => "change lines as a file has it".into(),
        Measurement::PulseTable => "pulses of four widths, as in source 003".into(),
        other => format!("{other}{every}"),
    }];
    parts.extend(blocks(run));
    if run.interrupted {
        parts.push(format!("interrupted after {}", plain(run.duration_ns)));
    } else if run.duration_ns > 0 && parts.len() == 1 {
        parts.push(format!("{}{}", plain(run.duration_ns), if run.series.len() > 1 { " in all" } else { "" }));
    }
    let mut loads: Vec<&str> = Vec::new();
    for load in run.series.iter().map(|s| load_name(&s.settings.load)) {
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    if run.series.iter().any(|s| !s.settings.load.is_empty()) {
        parts.push(format!("load: {}", loads.join(", then ")));
    }
    // An imported file may tell nothing of the job.
    if parts == ["act"] { Vec::new() } else { parts }
}

/// `, 4 waits in each cycle`
fn waits(run: &Run) -> String {
    let waits = run.series.iter().find_map(|s| s.waits.as_ref());
    waits.map_or_else(String::new, |waits| format!(", {} waits in each cycle", waits.count))
}

/// `, 60 octets each way`
fn octets(run: &Run) -> String {
    let octets = run.series.iter().find_map(|s| s.settings.octets);
    octets.map_or_else(String::new, |octets| format!(", {octets} octets each way"))
}

/// `, then read 32 KiB`
fn work(run: &Run) -> String {
    let bytes = run.series.iter().find_map(|s| s.settings.work_bytes);
    bytes.map_or_else(String::new, |bytes| format!(", then read {} KiB of memory", bytes >> 10))
}

/// `pulses of 100us on line sim:bench/17, 1ms apart`
fn pulses(run: &Run) -> String {
    let Some(series) = run.series.iter().find(|s| s.pulse.is_some()) else { return "pulses".into() };
    let pulse = series.pulse.as_ref().expect("it was found for having one");
    let line = series.settings.line.as_ref().map_or(String::new(), |line| format!(" on line {line}"));
    let apart = if pulse.gap_ns > 0 { format!(", {} apart", exact(pulse.gap_ns)) } else { String::new() };
    format!("pulses of {}{line}{apart}", exact(pulse.wanted_ns))
}

/// `edges every 1ms on line D0`
fn periods(run: &Run) -> String {
    let Some(series) = run.series.iter().find(|s| s.pulse.is_some()) else { return "edges".into() };
    let wanted_ns = series.pulse.as_ref().map_or(0, |pulse| pulse.wanted_ns);
    let line = series.settings.line.as_ref().map_or(String::new(), |line| format!(" on line {line}"));
    format!("edges every {}{line}", exact(wanted_ns))
}

/// The instrument that saw it: `24 MHz, ±41.7 ns · sigrok session · 2000 edges`.
fn instrument(run: &Run, instrument: &Instrument) -> Line {
    let rate = match instrument.rate_hz {
        Some(hertz) => Rate::new(hertz).to_string(),
        None if run.tool.starts_with("ontick") => "the machine itself".into(),
        None => "rate not known".into(),
    };
    let finest = if instrument.rate_hz.is_some() { "" } else { " at best" };
    let parts = vec![
        format!("{rate}, ±{}{finest}", instrument.resolution()),
        instrument.capture.clone(),
        counted(instrument.edges, "edge"),
    ];
    Line { label: "instrument", parts }
}

/// The blocks of an interleaved comparison: how many, and how long each was asked to be.
fn blocks(run: &Run) -> Option<String> {
    // Those of several CPUs are measured at once.
    let first = run.series.iter().find_map(|s| s.case.cpu);
    let blocks: usize = run.series.iter().filter(|s| s.case.cpu == first).map(|s| s.blocks.len()).sum();
    let (longest, interval_ns) = run
        .series
        .iter()
        .flat_map(|s| s.blocks.iter().map(|b| (b.samples, s.settings.interval_ns)))
        .max_by_key(|(samples, interval)| samples.saturating_mul(*interval))?;
    let each = longest.saturating_mul(interval_ns);
    let length = if each > 0 { format!(" of {}", plain(each)) } else { String::new() };
    let sides = match run.measurement {
        Measurement::Prove => "stock and ontick",
        _ => "every case",
    };
    // A run that was cut short may have one alone.
    let in_turn = if blocks > 1 { format!(", {sides} in turn") } else { String::new() };
    Some(format!("{}{length}{in_turn}", counted(blocks as u64, "block")))
}

/// How a thread ran: `CPU 3 · FIFO 99 · memory locked · hybrid wait (margin 61us) · phase 480us`.
pub(crate) fn core(s: &Settings) -> Vec<String> {
    let mut parts = Vec::new();
    match (s.cpu, s.peer_cpu) {
        (Some(cpu), Some(peer)) => parts.push(format!("CPU {cpu} and {peer}")),
        (Some(cpu), None) => parts.push(format!("CPU {cpu}")),
        // An imported file may say nothing at all; then nothing is claimed.
        (None, _) if !s.policy.is_empty() => parts.push("not pinned".into()),
        (None, _) => {}
    }
    if !s.strayed_to.is_empty() {
        let cpus: Vec<String> = s.strayed_to.iter().map(u32::to_string).collect();
        parts.push(format!("also ran on CPU {}", cpus.join(", ")));
    }
    parts.extend(s.observer.as_ref().map(|observer| format!("observed by {observer}")));
    parts.extend(s.confined_to.as_ref().map(|cpus| format!("confined to CPU {cpus}")));
    parts.extend((!s.policy.is_empty()).then(|| policy(&s.policy)));
    parts.extend(s.memory_locked.then(|| "memory locked".into()));
    parts.extend(s.wake_within_ns.map(power_states));
    parts.extend(s.kept_awake.then(|| "CPU kept awake".into()));
    if !s.method.is_empty() {
        let margin = s.margin_ns.map(|m| format!("{}margin {}", if s.margin_fixed { "fixed " } else { "" }, plain(m)));
        let duty = s.spin_duty.map(|d| format!("spins {:.0} % of the time", d * 100.0));
        let price: Vec<String> = margin.into_iter().chain(duty).collect();
        let price = if price.is_empty() { String::new() } else { format!(" ({})", price.join(", ")) };
        // `noise` says in words what it does, and hardware times itself: neither waits.
        let itself = s.method.contains(' ') || matches!(s.method.as_str(), "pwm" | "spi");
        let wait = if itself { "" } else { " wait" };
        parts.push(format!("{}{wait}{price}", s.method));
    }
    if let Some(phase) = s.phase_ns {
        let choice = match s.phase_choice.as_str() {
            "" => String::new(),
            "chance" => " (left to chance)".into(),
            other => format!(" ({other})"),
        };
        parts.push(format!("phase {}{choice}", plain(phase)));
    }
    parts
}

/// Those that the CPUs may enter, which take no longer than this to leave, in ns.
pub(crate) fn power_states(within_ns: u64) -> String {
    match within_ns {
        0 => "no power states".into(),
        ns => format!("power states up to {}", plain(ns)),
    }
}

/// How one side of a comparison ran: on several CPUs, what their threads have in common.
fn side(run: &Run, series: &Series) -> Vec<String> {
    if series.case.cpu.is_none() {
        return core(&series.settings);
    }
    let like = |other: &&Series| Case { cpu: series.case.cpu, ..other.case.clone() } == series.case;
    let all: Vec<&Series> = run.series.iter().filter(like).collect();
    let cpus: CpuList = all.iter().filter_map(|series| series.case.cpu).collect();
    let common = common_of(all.into_iter(), core).into_iter().filter(|part| !part.starts_with("CPU "));
    std::iter::once(format!("CPU {cpus}")).chain(common).collect()
}

fn policy(text: &str) -> String {
    match text.split_once(':') {
        // Records have them in ns.
        Some(("deadline", times)) => {
            let times = times.split('/').map(|time| time.parse().map_or_else(|_| time.to_owned(), plain));
            format!("DEADLINE {}", times.collect::<Vec<_>>().join("/"))
        }
        Some((name, priority)) => format!("{} {priority}", name.to_uppercase()),
        None => format!("SCHED_{}", text.to_uppercase()),
    }
}

/// What all series of a run have in common, in the order of the first. Those that a run did not come to before it was cut
/// short do not count: nothing is known of them.
fn common(run: &Run, describe: fn(&Settings) -> Vec<String>) -> Vec<String> {
    let unknown = |settings: &Settings| *settings == Settings { load: settings.load.clone(), ..Settings::default() };
    common_of(run.series.iter().filter(|series| !(run.interrupted && unknown(&series.settings))), describe)
}

fn common_of<'a>(all: impl Iterator<Item = &'a Series>, describe: fn(&Settings) -> Vec<String>) -> Vec<String> {
    let mut series = all.map(|s| describe(&s.settings));
    let first = series.next().unwrap_or_default();
    series.fold(first, |mut common, next| {
        common.retain(|part| next.contains(part));
        common
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::run::{Block, Pulse};
    use ontick_record::switching::Switching;

    #[test]
    fn what_a_killed_run_did_not_come_to_hides_nothing_of_the_rest() {
        let mut killed = run("timer", &[("hybrid", "none", "hybrid"), ("timerfd", "none", "timerfd")]);
        killed.interrupted = true;
        killed.series[1].settings = Settings { load: "none".into(), ..Settings::default() };
        assert!(job(&killed)[0].starts_with("act every 1ms"), "{:?}", job(&killed));
    }

    /// A run of series with these names, loads and methods, each of 10 s at 1 kHz.
    fn run(measurement: &str, series: &[(&str, &str, &str)]) -> Run {
        let mut run = Run::new("ontick 0.1.0", measurement);
        for (name, load, method) in series {
            let mut series = Series::from(name.to_string());
            series.case = Case::of_name(&run.measurement, name).unwrap_or_default();
            series.settings = Settings {
                interval_ns: 1_000_000,
                cpu: Some(3),
                load: (*load).into(),
                method: (*method).into(),
                ..Default::default()
            };
            series.latency.add(400, 1, 10_000);
            run.series.push(series);
        }
        run
    }

    fn shown(run: &Run) -> Vec<(&'static str, String)> {
        lines(run).into_iter().map(|line| (line.label, line.parts.join(" · "))).collect()
    }

    #[test]
    fn a_capture_without_a_tool_is_called_by_its_kind() {
        let mut run = Run::new("", Measurement::Pulse);
        assert_eq!(title(&run), "pulse");
        let instrument = ontick_record::run::Instrument { capture: "value change dump".into(), ..Default::default() };
        run.instrument = Some(instrument);
        assert_eq!(title(&run), "value change dump");
    }

    #[test]
    fn a_policy_has_its_times_with_their_units() {
        assert_eq!(policy("deadline:100000/1000000/1000000"), "DEADLINE 100us/1ms/1ms");
        assert_eq!(policy("deadline:250000000/1500000000/2000000000"), "DEADLINE 250ms/1.5s/2s");
        assert_eq!((policy("fifo:80"), policy("other")), ("FIFO 80".into(), "SCHED_OTHER".into()));
    }

    #[test]
    fn a_title_names_the_command_that_measured() {
        let titled = |measurement| title(&Run::new("ontick 0.1.0", measurement));
        assert_eq!(
            ["prove", "pulse", "pulse-table", "sample", "kernel evaluate", "timer"].map(titled),
            [
                "ontick prove",
                "ontick pulse",
                "ontick pulse --table",
                "ontick sample",
                "ontick kernel evaluate",
                "ontick latency timer"
            ]
        );
        assert_eq!(title(&Run::new("cyclictest 2.5", "timer")), "cyclictest 2.5");
        let mut switch = Run::new("ontick 0.1.0", "switch verify");
        switch.switch = Some(Switching::default());
        assert_eq!(title(&switch), "ontick switch verify");
    }

    #[test]
    fn a_comparison_shows_both_sides_and_its_blocks() {
        let mut prove = run("prove", &[("stock, idle", "none", "sleep"), ("ontick, loaded", "cpu: stress", "hybrid")]);
        for series in &mut prove.series {
            series.blocks = vec![Block { samples: 5_000, ..Default::default() }, Block::default()];
        }
        prove.duration_ns = 20_000_000_000;
        prove.environment = Some(Environment { cpus_online: 4, ..Default::default() });
        assert_eq!(
            shown(&prove),
            [
                ("machine", "4 CPUs · no isolation".into()),
                ("job", "act every 1ms · 4 blocks of 5s, stock and ontick in turn · load: none, then cpu".into()),
                ("core", "CPU 3 · hybrid wait".into()),
                ("stock", "CPU 3 · sleep wait".into()),
            ]
        );
    }

    /// There is no core that the verdict is about, and nothing was in turn.
    #[test]
    fn a_proof_that_was_ended_within_its_first_block_shows_the_stock_side_alone() {
        let mut prove = run("prove", &[("stock, idle", "none", "sleep")]);
        prove.series[0].blocks = vec![Block { samples: 5_000, ..Default::default() }];
        (prove.interrupted, prove.duration_ns) = (true, 6_000_000_000);
        assert_eq!(
            shown(&prove),
            [
                ("job", "act every 1ms · 1 block of 5s · interrupted after 6s · load: none".into()),
                ("stock", "CPU 3 · sleep wait".into()),
            ]
        );
    }

    #[test]
    fn a_comparison_on_several_cpus_shows_them_and_counts_blocks_once() {
        let mut prove =
            run("prove", &[("a", "none", "sleep"), ("b", "none", "sleep"), ("c", "none", "x"), ("d", "none", "x")]);
        let sides = [Side::Stock, Side::Stock, Side::Ontick, Side::Ontick];
        for ((series, side), cpu) in prove.series.iter_mut().zip(sides).zip([1, 2, 1, 2]) {
            series.case = Case { side: Some(side), loaded: Some(false), cpu: Some(cpu), ..Case::default() };
            (series.settings.cpu, series.settings.phase_ns) = (Some(cpu), Some(u64::from(cpu)));
            series.blocks = vec![Block { samples: 5_000, ..Default::default() }; 3];
        }
        prove.duration_ns = 20_000_000_000;
        let shown = shown(&prove);
        let line = |label: &str| shown.iter().find(|(of, _)| *of == label).unwrap().1.clone();
        assert!(line("job").contains("6 blocks of 5s, stock and ontick in turn"), "{}", line("job"));
        assert_eq!((line("core"), line("stock")), ("CPU 1-2 · x wait".into(), "CPU 1-2 · sleep wait".into()));
    }

    #[test]
    fn other_runs_show_what_their_series_have_in_common() {
        let mut timer = run("timer", &[("sleep", "", "sleep"), ("spin", "", "spin")]);
        timer.duration_ns = 20_000_000_000;
        assert_eq!(shown(&timer), [("job", "act every 1ms · 20s in all".into()), ("core", "CPU 3".into())]);
        timer.series.truncate(1);
        assert_eq!(shown(&timer)[0].1, "act every 1ms · 20s");
        timer.series[0].blocks = vec![Block { samples: 5_000, ..Default::default() }];
        assert_eq!(shown(&timer)[0].1, "act every 1ms · 1 block of 5s");
        timer.interrupted = true;
        timer.series[0].blocks = vec![Block::default()];
        assert_eq!(shown(&timer)[0].1, "act every 1ms · 1 block · interrupted after 20s");
    }

    #[test]
    fn two_series_beside_one_load_name_it_once() {
        let timer = run("wakeup", &[("a", "cpu: x", "sleep"), ("b", "cpu: x", "sleep")]);
        assert_eq!(shown(&timer)[0].1, "wake the other CPU every 1ms · load: cpu");
        let mixed = run("wakeup", &[("a", "", "sleep"), ("b", "cpu: x", "sleep")]);
        assert_eq!(shown(&mixed)[0].1, "wake the other CPU every 1ms · load: none, then cpu");
    }

    #[test]
    fn a_file_that_tells_nothing_of_its_job_has_no_line_of_it() {
        let mut imported = run("timer", &[("all", "", "")]);
        imported.series[0].settings = Settings::default();
        assert_eq!(shown(&imported), []);
    }

    #[test]
    fn pulses_are_described_by_the_first_that_has_one() {
        let mut pulse = run("pulse", &[("none", "", "pwm"), ("one", "", "pwm")]);
        assert_eq!(shown(&pulse)[0].1, "pulses");
        pulse.series[1].pulse = Some(Pulse { wanted_ns: 100_000, gap_ns: 1_000_000, ..Default::default() });
        pulse.series[1].settings.line = Some("sim:bench/17".into());
        assert_eq!(shown(&pulse)[0].1, "pulses of 100us on line sim:bench/17, 1ms apart");
    }

    #[test]
    fn an_instrument_says_how_finely_it_saw() {
        let mut pulse = run("pulse", &[("D0 high", "", "")]);
        (pulse.tool, pulse.series[0].settings) = ("sigrok 0.5.2".into(), Settings::default());
        pulse.series[0].pulse = Some(Pulse { wanted_ns: 100_000, ..Default::default() });
        let (capture, edges) = ("sigrok session".into(), 2_000);
        pulse.instrument = Some(Instrument { capture, rate_hz: Some(24_000_000), resolution_ps: 41_667, edges });
        let said = shown(&pulse);
        assert_eq!(said[0], ("instrument", "24 MHz, ±41.7 ns · sigrok session · 2 000 edges".into()));
        assert_eq!(said[1], ("job", "pulses of 100us".into()));
        pulse.measurement = Measurement::Period;
        pulse.series[0].settings.line = Some("D0".into());
        pulse.instrument.as_mut().unwrap().rate_hz = None;
        assert_eq!(shown(&pulse)[0].1, "rate not known, ±41.7 ns at best · sigrok session · 2 000 edges");
        assert_eq!(shown(&pulse)[1].1, "edges every 100us on line D0");
    }

    #[test]
    fn hardware_that_times_itself_does_not_wait() {
        let by = |method: &str| core(&Settings { method: method.into(), ..Default::default() });
        assert_eq!(
            ["spi", "pwm", "busy loop", "spin"].map(|m| by(m).concat()),
            ["spi", "pwm", "busy loop", "spin wait"]
        );
    }

    #[test]
    fn power_states_are_described_where_they_were_limited() {
        let with = |wake_within_ns| core(&Settings { wake_within_ns, ..Default::default() }).concat();
        assert_eq!([None, Some(0), Some(50_000)].map(with), ["", "no power states", "power states up to 50us"]);
    }

    #[test]
    fn one_cpu_is_no_plural_and_none_is_not_reported() {
        let with = |cpus_online| machine(&Environment { cpus_online, ..Default::default() });
        assert_eq!(with(1), ["1 CPU", "no isolation"]);
        assert_eq!(with(0), ["no isolation"]);
    }

    #[test]
    fn times_lose_their_idle_zeros_only() {
        let shown = [61_000, 5_000_000_000, 1_500_000, 100_000, 400, 0].map(plain);
        assert_eq!(shown, ["61us", "5s", "1.5ms", "100us", "400ns", "0ns"]);
    }

    #[test]
    fn a_thread_that_says_nothing_is_not_described() {
        assert!(core(&Settings::default()).is_empty());
        let stock = Settings { policy: "other".into(), method: "nanosleep".into(), ..Default::default() };
        assert_eq!(core(&stock), ["not pinned", "SCHED_OTHER", "nanosleep wait"]);
    }

    #[test]
    fn a_machine_names_what_it_runs_under() {
        let e =
            Environment { machine: "KVM".into(), hypervisor: "kvm".into(), isolated: "3".into(), ..Default::default() };
        assert_eq!(machine(&e), ["KVM", "CPU 3 isolated", "guest of kvm"]);
    }
}
