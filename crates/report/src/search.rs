//! A search over settings in words: what text, page and picture have in common.

use ontick_record::search::{Effect, Judge, Search, Verdict};
use ontick_units::{exact, show};

use crate::line::Line;
use crate::number::{count, counted};

/// What gains are, as the head of a column or the name of an axis.
pub(crate) fn quantity(of: &Search) -> String {
    match of.judged_by {
        Judge::Share => format!("gain, points of the share within {}", exact(of.limit_ns)),
        Judge::P99_9 => "p99.9 lower by, %".into(),
        Judge::Missed => "fewer missed cycles, points".into(),
        Judge::Max => "largest latency lower by, %".into(),
    }
}

/// A gain with its sign and as many decimals as matter beside what is worth something.
pub(crate) fn signed(of: &Search, gain: f64) -> String {
    let decimals = (1.0 - of.smallest.max(1e-6).log10().floor()).clamp(0.0, 6.0) as usize;
    let shown = format!("{gain:+.decimals$}");
    // What is rounded to nothing has no sign.
    if shown.trim_start_matches(['+', '-']).bytes().all(|b| matches!(b, b'0' | b'.')) {
        shown[1..].into()
    } else {
        shown
    }
}

/// The interval: `+0.12 to +0.55`, `above +0.12`; nothing where nothing bounds it.
pub(crate) fn interval(of: &Search, effect: &Effect) -> String {
    match (effect.low, effect.high) {
        (Some(low), Some(high)) => format!("{} to {}", signed(of, low), signed(of, high)),
        (Some(low), None) => format!("above {}", signed(of, low)),
        (None, Some(high)) => format!("below {}", signed(of, high)),
        (None, None) => "–".into(),
    }
}

/// The verdict: `no effect seen (at most +0.09)`.
pub(crate) fn verdict_of(of: &Search, effect: &Effect) -> String {
    match (effect.verdict, effect.high) {
        (Verdict::Helps, _) => "helps".into(),
        (Verdict::Hurts, _) => "hurts".into(),
        (_, Some(high)) => format!("no effect seen (at most {})", signed(of, high)),
        (_, None) if effect.quartets == 0 => "not measured".into(),
        (_, None) => "no effect seen yet".into(),
    }
}

/// The verdict on a member of the set.
pub(crate) fn verdict_on_member(of: &Search, effect: &Effect) -> String {
    match (effect.verdict, effect.high) {
        (Verdict::Helps, _) => "adds to the others".into(),
        (Verdict::Hurts, _) => "hurts beside the others: left out".into(),
        (Verdict::NoEffect, Some(high)) => format!("adds at most {}: left out", signed(of, high)),
        (Verdict::NoEffect, None) => "adds too little: left out".into(),
        (Verdict::Unsettled, Some(high)) => format!("may add at most {}", signed(of, high)),
        (Verdict::Unsettled, None) => "not settled".into(),
    }
}

/// The lines above the table.
pub(crate) fn lines(of: &Search) -> Vec<Line> {
    let job = vec![of.job.clone(), format!("every {}", exact(of.interval_ns)), format!("load: {}", of.load)];
    let judged = match of.judged_by {
        Judge::Share => format!("judged by the share within {}", exact(of.limit_ns)),
        Judge::P99_9 => "judged by p99.9".into(),
        Judge::Missed => "judged by missed cycles".into(),
        Judge::Max => "judged by the largest latency".into(),
    };
    let candidates = counted(of.effects.len() as u64, "candidate");
    let profile = if of.profile.is_empty() { String::new() } else { format!("profile {}", of.profile) };
    let search = vec![candidates, judged, profile, format!("seed {}", of.seed)];
    let aside = format!("{} set aside (steal above {} %)", count(of.set_aside), of.steal_limit * 100.0);
    let (label, measured) = match &of.boots {
        None => (
            "blocks",
            vec![
                format!("{} of 4 blocks of {}", counted(of.quartets, "quartet"), exact(of.block_ns)),
                format!("{} of {}", show(of.spent_ns), exact(of.time_ns)),
            ],
        ),
        Some(boots) => (
            "boots",
            vec![
                format!("{} of {} in {}", count(boots.measured), count(boots.most), counted(boots.rounds, "round")),
                format!("{} of {} in each", counted(boots.blocks, "block"), exact(of.block_ns)),
                show(of.spent_ns),
            ],
        ),
    };
    let mut lines = vec![
        Line { label: "job", parts: job },
        Line { label: "search", parts: search },
        Line { label, parts: [measured, vec![aside]].concat() },
    ];
    if let Some(base) = of.base {
        let figure = match of.judged_by {
            Judge::Share => format!("{base:.2} % within {}", exact(of.limit_ns)),
            Judge::Missed => format!("{base:.3} % missed"),
            Judge::P99_9 => format!("p99.9 {}", show(base as u64)),
            Judge::Max => format!("largest {}", show(base as u64)),
        };
        let middle = if of.boots.is_some() { "boot" } else { "block" };
        lines.push(Line { label: "base", parts: vec![format!("{figure} in the middle {middle}")] });
    }
    lines.iter_mut().for_each(|line| line.parts.retain(|part| !part.is_empty()));
    lines
}

/// What it comes to.
pub(crate) fn verdict(of: &Search) -> String {
    let helping: Vec<&str> = of.that(Verdict::Helps).map(|effect| effect.name.as_str()).collect();
    let mut text = match (helping.len(), of.effects.len()) {
        (_, 0) => "Nothing could be tried, so there is no verdict.".into(),
        (0, 1) => format!("{} is not seen to help.", of.effects[0].name),
        (0, all) => format!("None of {all} candidates is seen to help."),
        (1, 1) => format!("{} helps.", helping[0]),
        (1, all) => format!("Of {all} candidates {} helps.", helping[0]),
        (_, all) => format!("Of {all} candidates {} help.", listed(&helping)),
    };
    if let Some(together) = &of.together {
        let interval = interval(of, together);
        text += &match together.verdict {
            Verdict::Helps => format!(" Together they gain {interval}."),
            Verdict::Hurts => format!(" Together they lose: {interval}."),
            _ => format!(" That they help together is not shown ({interval})."),
        };
    }
    if of.set.len() < helping.len() {
        let set: Vec<&str> = of.set.iter().map(String::as_str).collect();
        text += &match set.is_empty() {
            true => " None of them can be set together with others.".into(),
            false => format!(" The set that remains is {}.", listed(&set)),
        };
    }
    if !of.effects.is_empty() {
        text += &format!(
            " The chance that any setting without an effect is called helpful or harmful is at most {} %.",
            of.error * 100.0
        );
    }
    text
}

/// What more time would decide; `None` where all is settled.
pub(crate) fn more_time(of: &Search) -> Option<String> {
    let all = of.effects.iter().chain(&of.together).chain(&of.members);
    let open: Vec<&Effect> = all.filter(|effect| effect.verdict == Verdict::Unsettled).collect();
    let mut names: Vec<&str> = open.iter().map(|effect| effect.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let names = match names.len() {
        0 => return None,
        1..=6 => listed(&names),
        n => format!("{} and {} more", names[..5].join(", "), n - 5),
    };
    Some(match of.wants_ns() {
        Some(ns) if of.boots.is_some() => {
            let boots = of.wants_boots().unwrap_or_default();
            format!("Not settled: {names}. That would take about {boots} more boots ({}).", rough(ns))
        }
        Some(ns) => format!("Not settled: {names}. That would take about {} more.", rough(ns)),
        None => format!("Not settled: {names}. No time would, if what comes is as what came."),
    })
}

fn rough(ns: u64) -> String {
    match ns.div_ceil(1_000_000_000) {
        s if s < 90 => format!("{s} s"),
        s if s < 5_400 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h", s.div_ceil(3_600)),
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ontick_record::search::{Boots, Skipped};

    pub(crate) fn effect(name: &str, verdict: Verdict, gain: f64, bounds: (Option<f64>, Option<f64>)) -> Effect {
        let wants_ns = (verdict == Verdict::Unsettled).then_some(400_000_000_000);
        let (low, high) = bounds;
        Effect {
            name: name.into(),
            verdict,
            gain: Some(gain),
            low,
            high,
            gain_of_all: Some(gain),
            quartets: 20,
            set_aside: 1,
            wants_ns,
        }
    }

    pub(crate) fn search() -> Search {
        Search {
            judged_by: Judge::Share,
            limit_ns: 3_000,
            smallest: 0.1,
            error: 0.05,
            seed: 7,
            time_ns: 1_200_000_000_000,
            spent_ns: 310_000_000_000,
            block_ns: 500_000_000,
            interval_ns: 1_000_000,
            job: "CPU 1 · fifo:99 · hybrid".into(),
            load: "none".into(),
            profile: "dedicated-core".into(),
            quartets: 120,
            set_aside: 3,
            steal_limit: 0.05,
            base: Some(97.25),
            effects: vec![
                effect("irq-affinity", Verdict::Helps, 1.25, (Some(0.5), Some(2.0))),
                effect("stat-interval", Verdict::Helps, 0.5, (Some(0.1), None)),
                effect("compaction", Verdict::NoEffect, -0.01, (Some(-0.1), Some(0.09))),
                effect("workqueues", Verdict::Unsettled, 0.2, (None, None)),
                effect("governor", Verdict::Hurts, -3.0, (Some(-4.0), Some(-1.0))),
            ],
            boots: None,
            skipped: vec![Skipped { name: "boost".into(), why: "this machine does not have it".into() }],
            set: vec!["irq-affinity".into()],
            together: Some(effect("irq-affinity + stat-interval", Verdict::Helps, 1.3, (Some(0.6), Some(2.1)))),
            members: vec![effect("stat-interval", Verdict::NoEffect, 0.02, (Some(-0.2), Some(0.08)))],
        }
    }

    #[test]
    fn every_verdict_has_its_words() {
        let of = search();
        let words: Vec<String> = of.effects.iter().map(|effect| verdict_of(&of, effect)).collect();
        assert_eq!(words, ["helps", "helps", "no effect seen (at most +0.09)", "no effect seen yet", "hurts"]);
        let intervals: Vec<String> = of.effects.iter().map(|effect| interval(&of, effect)).collect();
        assert_eq!(intervals, ["+0.50 to +2.00", "above +0.10", "-0.10 to +0.09", "–", "-4.00 to -1.00"]);
        assert_eq!(signed(&of, -0.001), "0.00");
    }

    #[test]
    fn the_verdict_names_what_helps_and_what_remains() {
        let said = verdict(&search());
        assert!(said.starts_with("Of 5 candidates irq-affinity and stat-interval help."), "{said}");
        assert!(said.contains("gain +0.60 to +2.10") && said.contains("remains is irq-affinity."), "{said}");
        assert!(said.ends_with("at most 5 %."), "{said}");
        assert_eq!(more_time(&search()).unwrap(), "Not settled: workqueues. That would take about 7 min more.");
    }

    #[test]
    fn a_search_by_restarts_counts_boots() {
        let boots = Boots { measured: 31, most: 60, rounds: 7, blocks: 20, settle_ns: 0 };
        let of = Search { boots: Some(boots), ..search() };
        let said = lines(&of).iter().map(|line| line.parts.join(" ")).collect::<Vec<_>>().join("\n");
        assert!(said.contains("31 of 60 in 7 rounds 20 blocks of 500ms in each"), "{said}");
        assert!(said.contains("in the middle boot"), "{said}");
        assert_eq!(more_time(&of).unwrap(), "Not settled: workqueues. That would take about 40 more boots (7 min).");
    }

    #[test]
    fn nothing_found_is_said_too() {
        let none = Search { effects: Vec::new(), set: Vec::new(), together: None, members: Vec::new(), ..search() };
        assert_eq!(verdict(&none), "Nothing could be tried, so there is no verdict.");
        assert_eq!(more_time(&none), None);
    }
}
