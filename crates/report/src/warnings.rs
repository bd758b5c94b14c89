//! What a reader must see beside the figures, each said once.

use ontick_record::Run;

use crate::number::counted;

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
    run.series.iter().flat_map(|s| s.settings.refused.iter().cloned()).for_each(&mut say);
    for s in run.series.iter().filter(|s| s.latency.overflow > 0) {
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
