//! What a run means, in one sentence that never promises more than was seen.

use ontick_record::compare::below_limit;
use ontick_record::confidence::upper_95;
use ontick_record::{Case, Measurement, Run, Series, Side};
use ontick_units::{exact, show};

use crate::figures::IN_TIME_NS;
use crate::grouping::is_loaded;
use crate::number::{count, counted, decimals_needed, percent_down, plain, probability_down};
use crate::together::{is_together, members, on_cpus_like, with_all_cpus};
use crate::{delays, intervals, round_trips, streams, switching, taken, waits};

/// The verdict of a run: how often it was in time, and how sure that is.
///
/// It speaks of ontick's side under load where there is one, else of the best series; of threads or CPUs that another tool
/// measured at once, of the worst.
pub fn verdict(run: &Run) -> String {
    if let Some(switch) = &run.switch {
        return switching::verdict(switch);
    }
    if let Some(network) = &run.network {
        return streams::verdict(network);
    }
    if let Some(search) = &run.search {
        return crate::search::verdict(search);
    }
    if let Some(delays) = delays::of(run) {
        return delays.verdict();
    }
    let loops: Vec<String> = waits::of(run).iter().filter_map(waits::Loop::verdict).collect();
    if !loops.is_empty() {
        return loops.join(" ");
    }
    let of_others = crate::dips::verdict(run).or_else(|| crate::received::verdict(run));
    if let Some(verdict) = of_others.or_else(|| round_trips::verdict(run)).or_else(|| intervals::verdict(run)) {
        return verdict;
    }
    let run = &*with_all_cpus(run);
    match decisive(run) {
        Some(series) => sentence(run, series) + &each_cpu(run, series),
        None if run.series.iter().any(|series| series.latency.count() > 0) => {
            "Only the stock side was measured, so there is no verdict.".into()
        }
        None => "Nothing was measured, so there is no verdict.".into(),
    }
}

/// The series that the verdict is about.
pub(crate) fn decisive(run: &Run) -> Option<&Series> {
    // Of CPUs that were measured at once, all together count.
    let together = run.series.iter().any(is_together);
    // Where gaps were looked for, none is a result.
    let looked_for_gaps = run.measurement == Measurement::Noise && run.duration_ns > 0;
    let counts = |s: &Series| s.latency.count() > 0 || looked_for_gaps || has_no_interrupts(s);
    let measured = || run.series.iter().filter(move |s| counts(s) && (!together || is_together(s)));
    if run.measurement == Measurement::Prove {
        // A proof that was cut short may have the stock side alone, which proves nothing.
        let ours = || measured().filter(|s| s.case.side != Some(Side::Stock));
        return ours().find(|s| is_loaded(s)).or_else(|| ours().next());
    }
    if run.measurement == Measurement::PulseTable {
        return of_table(run);
    }
    // The timer that the source of the question judges by.
    if run.measurement == Measurement::KernelEvaluate {
        return measured().next();
    }
    if let Some(sum) = measured().find(|s| s.waits.is_some() || s.round_trips.is_some()) {
        return Some(sum);
    }
    if at_once(run) {
        let late = |s: &Series| match run.measurement {
            Measurement::Noise => 0.0,
            _ => 1.0 - s.share_in_time(IN_TIME_NS),
        };
        let worse = |s: &Series, than: &Series| (late(s), s.latency.max_ns) > (late(than), than.latency.max_ns);
        return measured().reduce(|worst, s| if worse(s, worst) { s } else { worst });
    }
    // The first of the best, so that equal ones keep the order of the run.
    measured().reduce(|best, s| if s.share_in_time(IN_TIME_NS) > best.share_in_time(IN_TIME_NS) { s } else { best })
}

/// Whether another tool measured the series at once, as its threads or CPUs: nobody chooses the best of these.
fn at_once(run: &Run) -> bool {
    let foreign = !run.tool.starts_with("ontick") && run.instrument.is_none();
    foreign && run.series.windows(2).all(|pair| pair[0].settings.method == pair[1].settings.method)
}

/// Of a table of pulses: the shortest ones with latency minimised, under load where that was measured.
fn of_table(run: &Run) -> Option<&Series> {
    let width = |s: &Series| s.pulse.as_ref().map_or(u64::MAX, |pulse| pulse.wanted_ns);
    let measured = || run.series.iter().filter(|s| s.latency.count() > 0);
    let ours = || measured().filter(|s| s.case.side == Some(Side::Minimised));
    let shortest = ours().map(width).min()?;
    // A table that was cut short may have these without a load only.
    let rows = || ours().filter(|s| width(s) == shortest);
    let loaded = rows().any(is_loaded);
    rows()
        .filter(|s| is_loaded(s) == loaded)
        .reduce(|best, s| if s.share_in_time(IN_TIME_NS) >= best.share_in_time(IN_TIME_NS) { s } else { best })
}

/// How a measurement speaks of its samples.
struct Wording {
    acts: &'static str,
    sample: &'static str,
}

fn wording(measurement: &Measurement) -> Wording {
    match measurement {
        Measurement::Edge => Wording { acts: "detects an edge", sample: "edge" },
        Measurement::Response => Wording { acts: "answers", sample: "change" },
        Measurement::Wakeup => Wording { acts: "is awake", sample: "wake-up" },
        Measurement::NetworkTalk => Wording { acts: "hands over a message", sample: "message" },
        Measurement::GpioPlay => Wording { acts: "makes a change", sample: "change" },
        Measurement::Pulse | Measurement::PulseTable => Wording { acts: "keeps the width of a pulse", sample: "pulse" },
        Measurement::Period => Wording { acts: "keeps a period", sample: "period" },
        _ => Wording { acts: "acts", sample: "cycle" },
    }
}

fn sentence(run: &Run, series: &Series) -> String {
    let who = subject(run, series);
    if run.measurement == Measurement::Noise {
        return gaps(run, series, &who);
    }
    let Wording { acts, sample } = wording(&run.measurement);
    let (below, all) = (series.in_time(IN_TIME_NS), series.cycles());
    if below_limit(series).is_none() {
        let seen = counted(all, sample);
        return match series.latency.max_ns.map(show) {
            Some(max) => {
                format!("{who} acted on {seen}, the largest latency was {max}; the record does not hold the others.")
            }
            None => format!("{who} acted on {seen}; the record does not hold how late."),
        };
    }
    let load = match (is_loaded(series), series.settings.load_ended) {
        (true, false) => " under load",
        (true, true) => " beside a load that ended too soon",
        (false, _) => "",
    };
    let bound = upper_95(all - below, all);
    let decimals = decimals_needed(below, all);
    let sure = match below == all && bound < 0.05 {
        true => format!("less than 1 in {}", count((1.0 / bound).floor() as u64)),
        false => format!("at least {} %", probability_down(1.0 - bound, decimals)),
    };
    let mut text = match series.latency.quantile(0.99) {
        _ if below == all => {
            format!("{who} {acts} within 3 us{load}: {} without one later (95 % sure: {sure}).", counted(all, sample))
        }
        // Where hardly anything is in time, the reader wants to know what is.
        Some(p99) if below == 0 => {
            let p99 = show(p99);
            format!("{who} {acts} within {p99} in 99 % of {sample}s{load}, and in none of {} within 3 us.", count(all))
        }
        _ => {
            let share = percent_down(below, all, decimals);
            format!("{who} {acts} within 3 us in {share} % of {sample}s{load} (95 % sure: {sure}).")
        }
    };
    if series.missed > 0 {
        text.push_str(&format!(" It missed {} altogether.", counted(series.missed, sample)));
    }
    text
}

/// Of a proof on several CPUs at once: how often each was in time.
fn each_cpu(run: &Run, together: &Series) -> String {
    if run.measurement != Measurement::Prove || !is_together(together) || below_limit(together).is_none() {
        return String::new();
    }
    let share = |(cpu, series): (u32, &Series)| {
        let (below, all) = (series.in_time(IN_TIME_NS), series.cycles());
        format!("CPU {cpu} {} %", percent_down(below, all, decimals_needed(below, all)))
    };
    format!(" By CPU: {}.", members(run, together).map(share).collect::<Vec<_>>().join(", "))
}

/// Gaps are not attempts that can be in time or late: how many, and how long, is what they say.
fn gaps(run: &Run, series: &Series, who: &str) -> String {
    let seen = counted(series.latency.count(), "time");
    let max = series.latency.max_ns.map_or_else(|| "is not known".into(), show);
    // What is watched is less than the run: setting up and rests are not.
    let watched = taken::watched(run, series);
    let over = match watched {
        Some(ns) => format!(" in {} watched", plain(ns)),
        None if run.duration_ns > 0 => format!(" in {}", plain(run.duration_ns)),
        None => String::new(),
    };
    let lengths = match series.latency.quantile(0.5) {
        Some(p50) => format!("half of the gaps up to {}, the longest {max}", show(p50)),
        None => format!("the longest gap {max}"),
    };
    let taken = taken::sentence(run, series).map(|taken| format!(" {taken}")).unwrap_or_default();
    match (has_no_interrupts(series), series.latency.count()) {
        (true, 0) => format!("{who} lost its CPU to no firmware, hardware or hypervisor{over}: no gap was found."),
        // What the tracer hwlat finds is not the kernel's.
        (true, _) => format!("{who} lost its CPU to firmware, hardware or a hypervisor {seen}{over}: {lengths}."),
        (false, 0) if watched == Some(0) => "No time was watched, so nothing is known of gaps.".into(),
        (false, 0) => format!("Nothing took the CPU away from a spinning thread{over}: no gap was found."),
        (false, _) => format!("{who} took the CPU away from a spinning thread {seen}{over}: {lengths}.{taken}"),
    }
}

/// Whether the tracer hwlat found the gaps, by which none at all is a result.
fn has_no_interrupts(series: &Series) -> bool {
    series.settings.method.starts_with("hwlat")
}

fn subject(run: &Run, series: &Series) -> String {
    // What another tool wrote, or was seen of a line, was as a rule measured elsewhere.
    let machine = match run.simulated.is_some() {
        true => "The simulated machine",
        false if run.tool.starts_with("ontick") && run.instrument.is_none() => "This machine",
        false => "The machine measured",
    };
    let ours = run.measurement == Measurement::Prove && series.case.side == Some(Side::Ontick);
    if let Case { width_ns: Some(width), method: Some(method), side: Some(side), .. } = &series.case {
        return format!("{machine}, at {} by {method} ({}),", exact(*width), side.as_str());
    }
    if is_together(series) {
        let by = series.case.method.as_ref().map_or_else(|| ",".into(), |method| format!(", by {method},"));
        return format!("{machine}, on {} CPUs at once{by}", on_cpus_like(run, series));
    }
    match run.series.len() {
        1 => machine.into(),
        _ if ours => machine.into(),
        _ => format!("{machine}, by {},", series.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(late: u64, in_time: u64) -> Run {
        let mut run = Run::new("ontick", "timer");
        let mut series = Series { name: "hybrid".into(), ..Default::default() };
        series.latency.add(400, 1, in_time);
        series.latency.add(9_000, 1, late);
        run.series.push(series);
        run
    }

    #[test]
    fn an_exceedance_gives_a_share_and_its_bound() {
        let text = verdict(&run(90, 99_910));
        assert_eq!(text, "This machine acts within 3 us in 99.91 % of cycles (95 % sure: at least 99.89 %).");
    }

    #[test]
    fn a_proof_on_several_cpus_speaks_of_all_and_of_each() {
        let mut run = Run::new("ontick", Measurement::Prove);
        for (side, cpu, late) in
            [(Side::Stock, 1, 900), (Side::Stock, 2, 900), (Side::Ontick, 1, 1), (Side::Ontick, 2, 4)]
        {
            let case = Case { side: Some(side), loaded: Some(true), cpu: Some(cpu), ..Case::default() };
            let mut series = Series::from(case);
            series.settings.load = "cpu".into();
            series.latency.add(400, 1, 1_000 - late);
            series.latency.add(9_000, 1, late);
            run.series.push(series);
        }
        let text = verdict(&run);
        assert_eq!(
            text,
            "This machine, on 2 CPUs at once, acts within 3 us in 99.75 % of cycles under load (95 % sure: at least 99.47 %). \
             By CPU: CPU 1 99.90 %, CPU 2 99.60 %."
        );
    }

    #[test]
    fn a_missed_cycle_was_not_in_time() {
        let mut missing = run(0, 900);
        missing.series[0].missed = 100;
        let text = verdict(&missing);
        assert!(text.contains("within 3 us in 90.00 % of cycles (95 % sure: at least 88.30 %)"), "{text}");
    }

    #[test]
    fn without_an_exceedance_the_sentence_counts() {
        let text = verdict(&run(0, 30_000));
        assert!(text.contains("30 000 cycles without one later (95 % sure: less than 1 in 10 014)"), "{text}");
    }

    #[test]
    fn one_late_in_a_hundred_million_is_not_all() {
        let text = verdict(&run(1, 99_999_999));
        assert!(text.contains("99.999999 %") && !text.contains("100"), "{text}");
    }

    #[test]
    fn few_samples_make_no_claim_of_one_in_one() {
        let text = verdict(&run(0, 3));
        assert!(text.contains("3 cycles without one later (95 % sure: at least 36.84 %)"), "{text}");
    }

    #[test]
    fn a_machine_that_is_never_in_time_learns_what_it_does() {
        let text = verdict(&run(2_000, 0));
        assert_eq!(text, "This machine acts within 9.00us in 99 % of cycles, and in none of 2 000 within 3 us.");
    }

    #[test]
    fn a_summary_claims_no_share() {
        let mut summary = run(0, 0);
        (summary.series[0].latency.overflow, summary.series[0].latency.max_ns) = (1_000, Some(41_000));
        let text = verdict(&summary);
        assert!(text.contains("1 000 cycles") && text.contains("41.0us") && !text.contains('%'), "{text}");
    }

    #[test]
    fn each_measurement_speaks_of_its_samples() {
        let begins = |measurement: &str| verdict(&Run { measurement: measurement.into(), ..run(0, 30_000) });
        for (measurement, acts, samples) in [
            ("timer", "acts", "30 000 cycles"),
            ("edge", "detects an edge", "30 000 edges"),
            ("response", "answers", "30 000 changes"),
            ("wakeup", "is awake", "30 000 wake-ups"),
            ("pulse", "keeps the width of a pulse", "30 000 pulses"),
            ("period", "keeps a period", "30 000 periods"),
        ] {
            let text = begins(measurement);
            assert!(text.starts_with(&format!("This machine {acts} within 3 us: {samples} without")), "{text}");
        }
    }

    /// A series of pulses of a table, named as `ontick pulse --table` names it.
    fn of_width(wanted_ns: u64, side: Side, load: &str, late: u64) -> Series {
        let mut series = run(late, 30_000).series.remove(0);
        series.case = Case {
            width_ns: Some(wanted_ns),
            method: Some("spin".into()),
            side: Some(side),
            loaded: Some(!load.is_empty()),
            ..Case::default()
        };
        series.name = series.case.to_string();
        series.pulse = Some(ontick_record::run::Pulse { wanted_ns, ..Default::default() });
        series.settings.load = load.into();
        series
    }

    #[test]
    fn a_table_of_pulses_is_judged_by_its_shortest_under_load() {
        let mut table = Run::new("ontick", Measurement::PulseTable);
        table.series = vec![
            of_width(10_000, Side::Stock, "cpu", 0),
            of_width(100_000, Side::Minimised, "cpu", 0),
            of_width(10_000, Side::Minimised, "", 0),
            of_width(10_000, Side::Minimised, "cpu", 20_000),
            of_width(10_000, Side::Minimised, "io", 10_000),
            of_width(10_000, Side::Minimised, "net", 20_000),
            of_width(1_000, Side::Minimised, "cpu", 0),
        ];
        table.series[6].latency = Default::default();
        assert!(std::ptr::eq(decisive(&table).unwrap(), &table.series[4]));
        let text = verdict(&table);
        let begins =
            "This machine, at 10us by spin (minimised), keeps the width of a pulse within 3 us in 75.00 % of pulses";
        assert!(text.starts_with(begins), "{text}");
        table.series.truncate(3);
        assert!(std::ptr::eq(decisive(&table).unwrap(), &table.series[2]), "one that was cut short");
        table.series.truncate(1);
        assert!(decisive(&table).is_none());
    }

    #[test]
    fn of_threads_that_ran_at_once_the_worst_is_spoken_of() {
        let mut both = run(1, 9);
        both.tool = "jitterdebugger".into();
        both.series.push(Series { name: "worse".into(), ..run(2, 8).series.remove(0) });
        both.series.push(Series { name: "better".into(), ..run(0, 10).series.remove(0) });
        assert!(verdict(&both).starts_with("The machine measured, by worse, "), "{}", verdict(&both));
        // Methods were compared, and one can be chosen.
        both.series[2].settings.method = "spin".into();
        assert!(verdict(&both).starts_with("The machine measured, by better, "), "{}", verdict(&both));
        // Of gaps the longest is the worst, and what is not known of them is left out.
        let mut noise = Run { measurement: "noise".into(), tool: "rtla".into(), ..run(0, 0) };
        for (name, samples, max_ns) in [("0", 10, 6_000), ("1", 5, 8_000)] {
            let mut series = Series { name: name.into(), ..Series::default() };
            (series.latency.overflow, series.latency.max_ns) = (samples, Some(max_ns));
            noise.series.push(series);
        }
        let text = verdict(&noise);
        assert!(text.contains(", by 1,") && text.ends_with("5 times: the longest gap 8.00us."), "{text}");
        noise.series.truncate(2);
        noise.series[1].latency.max_ns = None;
        assert!(verdict(&noise).ends_with("10 times: the longest gap is not known."), "{}", verdict(&noise));
        noise.measurement = "timer".into();
        assert!(verdict(&noise).ends_with("10 cycles; the record does not hold how late."), "{}", verdict(&noise));
    }

    #[test]
    fn of_equals_the_first_is_spoken_of() {
        let mut both = run(5, 5);
        both.series.push(Series { name: "spin".into(), ..run(5, 5).series.remove(0) });
        assert!(verdict(&both).starts_with("This machine, by hybrid, "), "{}", verdict(&both));
    }

    #[test]
    fn of_a_proof_the_machine_with_ontick_is_the_subject() {
        let mut proof = Run { measurement: "prove".into(), ..run(0, 30_000) };
        let of = |side| Case { side: Some(side), loaded: Some(false), ..Case::default() };
        proof.series[0].case = of(Side::Stock);
        proof.series.push(Series { case: of(Side::Ontick), ..run(0, 30_000).series.remove(0) });
        assert!(verdict(&proof).starts_with("This machine acts within 3 us: "), "{}", verdict(&proof));
        let mut names = run(0, 30_000);
        names.series[0].name = "10us, spin, minimised".into();
        assert!(verdict(&names).starts_with("This machine acts "), "names are not read");
    }

    #[test]
    fn a_length_that_is_not_known_is_not_reported() {
        let noise = Run { measurement: "noise".into(), ..run(5, 10) };
        assert!(verdict(&noise).contains("15 times: half of the gaps"), "{}", verdict(&noise));
    }

    #[test]
    fn gaps_without_interrupts_are_not_the_kernels() {
        let mut noise = Run { measurement: "noise".into(), ..run(5, 10) };
        noise.series[0].settings.method = "hwlat, interrupts off".into();
        let text = verdict(&noise);
        assert!(text.starts_with("This machine lost its CPU to firmware, hardware or a hypervisor 15 times"), "{text}");
        noise.series[0].latency = Default::default();
        assert!(verdict(&noise).contains("no gap was found"), "{}", verdict(&noise));
    }

    #[test]
    fn no_gap_at_all_is_a_result() {
        let noise = Run { measurement: "noise".into(), duration_ns: 2_000_000_000, ..run(0, 0) };
        let text = verdict(&noise);
        assert_eq!(text, "Nothing took the CPU away from a spinning thread in 2s: no gap was found.");
        let mut watched = noise.clone();
        watched.series[0].settings.watched_ns = Some(1_800_000_000);
        let text = verdict(&watched);
        assert_eq!(text, "Nothing took the CPU away from a spinning thread in 1.8s watched: no gap was found.");
        watched.series[0].settings.watched_ns = Some(0);
        assert_eq!(verdict(&watched), "No time was watched, so nothing is known of gaps.");
        // As the journal of a run that was killed while it began.
        assert!(verdict(&Run { duration_ns: 0, ..noise }).starts_with("Nothing was measured"));
    }

    #[test]
    fn gaps_are_counted() {
        let mut noise = Run { measurement: "noise".into(), duration_ns: 2_000_000_000, ..run(5, 10) };
        noise.simulated = Some("virtual time".into());
        let text = verdict(&noise);
        assert!(
            text.starts_with("The simulated machine took the CPU away from a spinning thread 15 times in 2s"),
            "{text}"
        );
        noise.series[0].settings.watched_ns = Some(900_000_000);
        let text = verdict(&noise);
        assert!(text.contains(" 15 times in 900ms watched: "), "{text}");
    }

    /// Some of the samples had none.
    #[test]
    fn a_load_that_ended_too_soon_is_said_and_is_no_load() {
        let mut run = run(90, 99_910);
        run.series[0].settings.load = "cmd:sleep 3".into();
        assert!(verdict(&run).contains("of cycles under load (95 %"), "{}", verdict(&run));
        run.series[0].settings.load_ended = true;
        let text = verdict(&run);
        assert!(text.contains("of cycles beside a load that ended too soon (95 %"), "{text}");
    }

    #[test]
    fn what_another_tool_measured_is_not_this_machine() {
        let mut imported = run(90, 99_910);
        imported.tool = "cyclictest 2.5".into();
        assert!(
            verdict(&imported).starts_with("The machine measured acts within 3 us in 99.91 %"),
            "{}",
            verdict(&imported)
        );
    }

    /// As one is that was ended within its first block.
    #[test]
    fn a_proof_without_ontick_s_side_has_no_verdict() {
        let mut proof = Run { measurement: Measurement::Prove, ..run(90, 10) };
        proof.series[0].case = Case { side: Some(Side::Stock), loaded: Some(false), ..Case::default() };
        assert_eq!(verdict(&proof), "Only the stock side was measured, so there is no verdict.");
        assert!(decisive(&proof).is_none());
        proof.series.push(run(0, 100).series.remove(0));
        proof.series[1].case = Case { side: Some(Side::Ontick), loaded: Some(false), ..Case::default() };
        assert!(std::ptr::eq(decisive(&proof).unwrap(), &proof.series[1]));
    }

    #[test]
    fn nothing_measured_is_said() {
        assert!(verdict(&run(0, 0)).starts_with("Nothing was measured"));
        assert!(verdict(&Run::new("ontick", "prove")).starts_with("Nothing was measured"));
    }

    #[test]
    fn the_best_of_several_is_named_and_missed_cycles_are_not_hidden() {
        let mut both = run(0, 10);
        both.series.insert(0, Series { name: "sleep".into(), missed: 3, ..run(5, 5).series.remove(0) });
        assert!(verdict(&both).starts_with("This machine, by hybrid, acts"), "{}", verdict(&both));
        both.series.truncate(1);
        assert!(verdict(&both).ends_with("It missed 3 cycles altogether."), "{}", verdict(&both));
    }
}
