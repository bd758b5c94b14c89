//! What a run means, in one sentence that never promises more than was seen.

use ontick_record::{Run, Series, bound::upper_95};

use crate::figures::IN_TIME_NS;
use crate::grouping::is_loaded;
use crate::number::{count, counted, percent_down, probability_down, telling_decimals};

/// The verdict of a run: how often it was in time, and how sure that is.
///
/// It speaks of ontick's side under load where there is one, else of the best series.
pub fn verdict(run: &Run) -> String {
    match decisive(run) {
        Some(series) => sentence(run, series),
        None => "Nothing was measured, so nothing can be said.".into(),
    }
}

/// The series that the verdict is about.
pub(crate) fn decisive(run: &Run) -> Option<&Series> {
    let measured = || run.series.iter().filter(|s| s.latency.count() > 0);
    if run.measurement == "prove" {
        let ours = || measured().filter(|s| s.name.starts_with("ontick"));
        return ours().find(|s| is_loaded(s)).or_else(|| ours().next()).or_else(|| measured().next());
    }
    // The first of the best, so that equal ones keep the order of the run.
    measured().reduce(
        |best, s| {
            if s.latency.share_below(IN_TIME_NS) > best.latency.share_below(IN_TIME_NS) { s } else { best }
        },
    )
}

/// How a measurement speaks of its samples.
struct Wording {
    acts: &'static str,
    sample: &'static str,
}

fn wording(measurement: &str) -> Wording {
    match measurement {
        "wakeup" => Wording { acts: "is awake", sample: "wake-up" },
        "noise" => Wording { acts: "gets its CPU back", sample: "gap" },
        _ => Wording { acts: "acts", sample: "cycle" },
    }
}

fn sentence(run: &Run, series: &Series) -> String {
    let Wording { acts, sample } = wording(&run.measurement);
    let (below, all) = (series.latency.below(IN_TIME_NS), series.latency.count());
    let who = subject(run, series);
    let load = if is_loaded(series) { " under load" } else { "" };
    let bound = upper_95(all - below, all);
    let mut text = if below == all {
        let seen = counted(all, sample);
        let one_in = count((1.0 / bound).floor() as u64);
        format!("{who} {acts} within 3 us{load}: {seen} without one later (95 % sure: less than 1 in {one_in}).")
    } else {
        let decimals = telling_decimals(below, all);
        let share = percent_down(below, all, decimals);
        let sure = probability_down(1.0 - bound, decimals);
        format!("{who} {acts} within 3 us in {share} % of {sample}s{load} (95 % sure: at least {sure} %).")
    };
    if series.missed > 0 {
        text.push_str(&format!(" It missed {} altogether.", counted(series.missed, sample)));
    }
    text
}

fn subject(run: &Run, series: &Series) -> String {
    let machine = if run.simulated.is_some() { "The simulated machine" } else { "This machine" };
    let ours = run.measurement == "prove" && series.name.starts_with("ontick");
    match run.series.len() {
        1 => machine.into(),
        _ if ours => machine.into(),
        _ => format!("{machine}, by {},", series.name),
    }
}

/// Times inside a sentence as print sets them: `61us` becomes `61 µs`, `3 us` becomes `3 µs`.
pub(crate) fn typeset(text: &str) -> String {
    let mut set = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let number_before = set.ends_with(|c: char| c.is_ascii_digit());
        let words = rest.strip_prefix(' ').unwrap_or(rest);
        let unit = ["ns", "us", "ms", "s"].into_iter().find(|u| {
            words.strip_prefix(u).is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
        });
        match unit.filter(|_| number_before) {
            Some(unit) => {
                set.push('\u{202f}');
                set.push_str(if unit == "us" { "µs" } else { unit });
                rest = &words[unit.len()..];
            }
            None => {
                set.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    // A number stays with its percent sign.
    set.replace(" %", "\u{202f}%")
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
    fn print_sets_units() {
        let set = typeset("hybrid wait (margin 61us) · within 3 us in 9.5 % of 2 sessions, 5s each · Pi3us2");
        assert_eq!(
            set.replace('\u{202f}', "_"),
            "hybrid wait (margin 61_µs) · within 3_µs in 9.5_% of 2 sessions, 5_s each · Pi3us2"
        );
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
