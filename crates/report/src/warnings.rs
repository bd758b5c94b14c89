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
    run.series.iter().filter_map(contended).for_each(&mut say);
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

/// Whom else the measured thread had to wait for.
fn contended(series: &Series) -> Option<String> {
    let rivals = &series.conditions.rivals;
    let first = rivals.first()?;
    let process = match first.command.as_str() {
        "" => format!("process {}", first.pid),
        command => format!("{command} (process {})", first.pid),
    };
    let more = match rivals.len() as u64 - 1 {
        0 => String::new(),
        n => format!(" and {} more", counted(n, "such thread")),
    };
    let cpu = series.settings.cpu.map_or_else(|| "the measured CPU".into(), |cpu| format!("CPU {cpu}"));
    let ran = show(rivals.iter().map(|rival| rival.ran_ns).sum());
    Some(printable(&format!(
        "{}: contended: the real-time thread {} ({}) of {process}{more} ran for {ran} on {cpu} meanwhile, and late samples may be due to that instead of the machine.",
        series.name, first.thread, first.policy
    )))
}
