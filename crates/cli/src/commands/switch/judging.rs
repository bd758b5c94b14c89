//! What a switch that was tried out is held against.

use ontick_record::requirement::Frames;
use ontick_record::run::Judged;
use ontick_record::switching::{Class, Switching, Trial};
use ontick_record::{Requirement, Run};

/// What is required of the load and of what comes out of it, where nothing else is asked for.
const USUAL: [&str; 2] = ["sent >= 95%", "delivered >= 95%"];

/// A share of frames, as it was written and as a number.
#[derive(Debug, Clone)]
pub struct Allowed {
    text: String,
    share: f64,
}

impl Allowed {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether so many of all are no more.
    pub fn allows(&self, some: u64, all: u64) -> bool {
        some as f64 <= self.share * all as f64
    }
}

/// Reads `10/1e6`, `0.1%`, `0`.
pub fn share(text: &str) -> Result<Allowed, String> {
    let wrong = || format!("\"{text}\" is not a share of frames: write N/M, as in 10/1e6, or a percentage, as in 0.1%");
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let share = match (text.strip_suffix('%'), text.split_once('/')) {
        (Some(percent), _) => number(percent).map(|percent| percent / 100.0),
        (None, Some((some, all))) => number(some).zip(number(all)).map(|(some, all)| some / all),
        (None, None) => number(text).filter(|none| *none == 0.0),
    };
    let share = share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(wrong)?;
    Ok(Allowed { text: text.into(), share })
}

/// Everything that is required of a switch, and whether it was met: what was asked for, and what every trial with gates
/// or shaped classes is held against.
pub fn judged(switching: &Switching, run: &Run, asked: &[Requirement], outside: &Allowed) -> Vec<Judged> {
    let mut all: Vec<Judged> = asked
        .iter()
        .map(|requirement| requirement.judge_frames(switching).unwrap_or_else(|| requirement.judge(run, &run.series)))
        .collect();
    if let Some(trial) = switching.judged() {
        all.extend(load(switching, trial, asked));
        all.extend(frames(trial, outside));
    }
    all
}

/// The usual minimum of load and of what arrives, unless another one was asked for. As many frames as go are no load
/// that could be missed.
fn load(switching: &Switching, trial: &Trial, asked: &[Requirement]) -> Vec<Judged> {
    let usual = USUAL.iter().map(|text| text.parse::<Requirement>().expect("it is well formed"));
    let needed = |requirement: &Requirement| match requirement.frames() {
        Some(Frames::Sent) if trial.sent_of_asked().is_empty() => false,
        of => asked.iter().all(|asked| asked.frames() != of),
    };
    usual.filter(needed).filter_map(|requirement| requirement.judge_frames(switching)).collect()
}

/// That no frame is missing without being counted, in the wrong place, outside its window, or beyond its idle slope.
fn frames(trial: &Trial, allowed: &Allowed) -> Vec<Judged> {
    let judged = |requirement: &str, observed: String, met| Judged {
        requirement: requirement.into(),
        observed,
        met,
        ..Judged::default()
    };
    let sum = |of: fn(&Class) -> u64| trial.sum(of);
    let [sent, received] = [sum(|class| class.sent), sum(|class| class.received)];
    let counted = sent as i64 - received as i64 - trial.unaccounted();
    let silent: Vec<&str> =
        trial.classes.iter().filter(|class| class.received == 0).map(|class| class.name.as_str()).collect();
    let wrong = sum(|class| class.duplicates + class.out_of_order + class.damaged);
    let outside = sum(|class| class.outside);
    let mut all = vec![
        judged(
            "every frame is accounted for",
            format!("{sent} sent, {received} received, {counted} dropped and counted, {} missing", trial.unaccounted()),
            trial.unaccounted() == 0,
        ),
        judged(
            "every class in order, none doubled or changed",
            format!(
                "{} doubled, {} out of order, {} changed",
                sum(|class| class.duplicates),
                sum(|class| class.out_of_order),
                sum(|class| class.damaged)
            ),
            wrong == 0,
        ),
    ];
    if trial.gates {
        all.push(judged(
            &format!("outside their window: at most {}", allowed.text),
            format!("{outside} of {}", sum(|class| class.judged)),
            trial.share_outside().is_none_or(|share| share <= allowed.share),
        ));
    }
    if trial.is_shaped() {
        let (beyond, received) = trial.beyond();
        all.push(judged(
            &format!("beyond their idle slope: at most {}", allowed.text),
            format!("{beyond} of {received}"),
            allowed.allows(beyond, received),
        ));
    }
    if !silent.is_empty() {
        all.push(judged("every class comes through", format!("nothing of {}", silent.join(", ")), false));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::switching::Shaped;

    /// Asked for, sent and received in a second, of a window that carries 16 000.
    fn judged_of(asked_for: Option<u64>, sent: u64, received: u64, requirements: &[&str]) -> (Vec<String>, bool, bool) {
        let class = Class {
            name: "red".into(),
            octets: 1_518,
            offered: asked_for,
            windows: vec![(800_000, 200_000)],
            sent,
            received,
            dropped: sent - received,
            judged: received,
            ..Class::default()
        };
        let trial = Trial { gates: true, duration_ns: 1_000_000_000, classes: vec![class], ..Trial::default() };
        let switching =
            Switching { rate: 1_000_000_000, cycle_ns: 1_000_000, trials: vec![trial], ..Switching::default() };
        let requirements: Vec<Requirement> = requirements.iter().map(|text| text.parse().unwrap()).collect();
        let mut run = Run::new("t", "switch verify");
        run.requirements = judged(&switching, &run, &requirements, &share("10/1e6").unwrap());
        let not: Vec<String> =
            run.requirements.iter().filter(|judged| !judged.met).map(|judged| judged.requirement.clone()).collect();
        (not, run.met(), run.unproven())
    }

    #[test]
    fn a_verdict_needs_a_load() {
        assert_eq!(judged_of(Some(12_000), 12_000, 12_000, &[]), (vec![], true, false));
        assert_eq!(judged_of(Some(12_000), 600, 600, &[]), (vec!["sent >= 95%".into()], false, true));
        assert_eq!(judged_of(Some(12_000), 600, 600, &["sent > 4%"]), (vec![], true, false));
        // As many as go are no load that could be missed.
        assert_eq!(judged_of(None, 600, 600, &[]), (vec![], true, false));
    }

    #[test]
    fn a_shaped_class_keeps_to_its_idle_slope() {
        let of = |beyond| {
            let shaped = Some(Shaped { idle_slope: 20_000_000, beyond, ..Shaped::default() });
            let class =
                Class { name: "audio".into(), sent: 1_000_000, received: 1_000_000, shaped, ..Class::default() };
            let trial = Trial { duration_ns: 1_000_000_000, classes: vec![class], ..Trial::default() };
            let switching = Switching { rate: 1_000_000_000, trials: vec![trial], ..Switching::default() };
            let all = judged(&switching, &Run::new("t", "switch verify"), &[], &share("10/1e6").unwrap());
            all.into_iter().find(|judged| judged.requirement.starts_with("beyond")).unwrap()
        };
        assert!(of(10).met);
        let found = of(11);
        assert_eq!(found.requirement, "beyond their idle slope: at most 10/1e6");
        assert_eq!((found.observed.as_str(), found.met), ("11 of 1000000", false));
    }

    #[test]
    fn a_verdict_needs_frames_that_arrive() {
        assert_eq!(judged_of(Some(12_000), 12_000, 9_360, &[]), (vec!["delivered >= 95%".into()], false, false));
        // What the windows cannot carry is dropped of necessity.
        assert_eq!(judged_of(Some(24_000), 24_000, 15_800, &[]), (vec![], true, false));
        assert_eq!(
            judged_of(Some(24_000), 24_000, 15_800, &["dropped = 0"]),
            (vec!["dropped = 0".into()], false, false)
        );
        // What is broken is said before what is not proven.
        let (not, met, unproven) = judged_of(Some(24_000), 12_000, 6_000, &[]);
        assert_eq!((not.len(), met, unproven), (2, false, false));
    }
}
