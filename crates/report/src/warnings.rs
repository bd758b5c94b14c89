//! What a reader must see beside the figures, each said once.

use ontick_record::{Run, Series};
use ontick_units::show;

use crate::buckets::has_buckets;
use crate::number::counted;
use crate::printable::printable;

/// Notes of the run, what the system refused, and what makes figures incomplete.
pub(crate) fn warnings(run: &Run) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut say = |sentence: String| {
        if !all.contains(&sentence) {
            all.push(sentence);
        }
    };
    if run.interrupted {
        say("The run was cut short; the figures are those up to then.".into());
    }
    run.notes.iter().cloned().for_each(&mut say);
    contended(run).into_iter().for_each(&mut say);
    run.series.iter().flat_map(|s| s.settings.refused.iter().cloned()).for_each(&mut say);
    // Where there are no buckets at all, the run's notes say so.
    for s in run.series.iter().filter(|s| s.latency.overflow > 0 && has_buckets(s)) {
        let samples = counted(s.latency.overflow, "sample");
        say(format!(
            "{}: {samples} lay beyond the last bucket of the tool that recorded them; percentiles up there are the maximum or unknown.",
            s.name
        ));
    }
    for s in run.series.iter().filter(|s| s.early > 0) {
        let samples = counted(s.early, "sample");
        say(format!("{}: {samples} came before their time and count as 0; the clock behind it is coarse.", s.name));
    }
    all
}

/// Whom else measured threads had to wait for: a sentence for each such thread, of all series that met it.
fn contended(run: &Run) -> Vec<String> {
    let mut met: Vec<Vec<&Series>> = Vec::new();
    for series in run.series.iter().filter(|series| rival(series).is_some()) {
        match met.iter_mut().find(|all| rival(all[0]) == rival(series)) {
            Some(all) => all.push(series),
            None => met.push(vec![series]),
        }
    }
    met.iter().filter_map(|all| contended_by_one(all, run.series.len())).collect()
}

/// The thread for which a series had to wait most, and where.
fn rival(series: &Series) -> Option<(u32, u32, Option<u32>)> {
    series.conditions.rivals.first().map(|first| (first.pid, first.tid, series.settings.cpu))
}

/// What to say of the series, of so many in all, that had to wait for the same thread.
fn contended_by_one(met: &[&Series], of: usize) -> Option<String> {
    let ran_ns = |series: &Series| series.conditions.rivals.iter().map(|rival| rival.ran_ns).sum::<u64>();
    let most = met.iter().max_by_key(|series| ran_ns(series))?;
    let first = most.conditions.rivals.first()?;
    let process = match first.command.as_str() {
        "" => format!("process {}", first.pid),
        command => format!("{command} (process {})", first.pid),
    };
    let more = match met.iter().map(|series| series.conditions.rivals.len()).max()? as u64 - 1 {
        0 => String::new(),
        n => format!(" and {} more", counted(n, "such thread")),
    };
    let cpu = most.settings.cpu.map_or_else(|| "the measured CPU".into(), |cpu| format!("CPU {cpu}"));
    let which = match met {
        [one] => one.name.clone(),
        [one, other] => format!("{} and {}", one.name, other.name),
        all if all.len() == of => format!("all {of} series"),
        all => format!("{} of {of} series", all.len()),
    };
    let ran = show(ran_ns(most));
    let ran = match met.iter().all(|series| ran_ns(series) == ran_ns(most)) {
        true => format!("for {ran} on {cpu} meanwhile"),
        false => format!("on {cpu} meanwhile, for up to {ran} ({})", most.name),
    };
    Some(printable(&format!(
        "{which}: contended: the real-time thread {} ({}) of {process}{more} ran {ran}, and late samples may be due to that instead of the machine.",
        first.thread, first.policy
    )))
}

#[cfg(test)]
mod tests {
    use ontick_record::run::Rival;

    use super::*;

    fn met(name: &str, ran_ns: u64) -> Series {
        let rival =
            Rival { pid: 7, tid: 8, thread: "jackd".into(), policy: "fifo:70".into(), ran_ns, ..Rival::default() };
        let mut series = Series { name: name.into(), ..Series::default() };
        series.settings.cpu = Some(1);
        series.conditions.rivals.push(rival);
        series
    }

    #[test]
    fn a_thread_that_many_series_met_is_said_once() {
        let said = |series: Vec<Series>| warnings(&Run { series, ..Run::new("ontick", "delay") });
        let late = "and late samples may be due to that instead of the machine.";
        let one = "the real-time thread jackd (fifo:70) of process 7 ran";
        assert_eq!(
            said(vec![met("hybrid", 300_000), Series::default()]),
            [format!("hybrid: contended: {one} for 300us on CPU 1 meanwhile, {late}")]
        );
        assert_eq!(
            said(vec![
                met("1us, spin", 300_000),
                met("5us, spin", 400_000),
                met("10us, spin", 100_000),
                Series::default()
            ]),
            [format!("3 of 4 series: contended: {one} on CPU 1 meanwhile, for up to 400us (5us, spin), {late}")]
        );
        assert_eq!(
            said(vec![met("sum", 5_000), met("wait 1", 5_000), met("wait 2", 5_000)]),
            [format!("all 3 series: contended: {one} for 5.00us on CPU 1 meanwhile, {late}")]
        );
        let mut elsewhere = met("CPU 0", 300_000);
        elsewhere.settings.cpu = Some(0);
        assert_eq!(said(vec![elsewhere, met("CPU 1", 300_000)]).len(), 2, "another CPU is another matter");
    }
}
