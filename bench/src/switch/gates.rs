//! How gates hold: source 004's test in one command, as anybody can run it.

use ontick_record::store;
use ontick_record::switching::{Class, Trial};
use ontick_record::units::show;

use crate::child::{self, Words};
use crate::goals::Goal;
use crate::page::Table;
use crate::side::Job;

/// First frame after a gate's opening.
const FIRST_P50_NS: u64 = 800;
const FIRST_P99_NS: u64 = 1_500;
/// Frames outside their window, of a million.
const OUTSIDE: f64 = 10.0;

/// What was seen.
pub struct Seen {
    trial: Trial,
}

pub fn command(job: &Job, seconds: u64) -> Words {
    let (ontick, cpu) = (job.ontick.display(), job.cpu);
    let line = format!(
        "{ontick} switch demo --plane user --cpu {cpu} --rate 100% --duration {seconds}s --without-gates 0s --json"
    );
    line.split(' ').map(String::from).collect()
}

pub fn measure(job: &Job, seconds: u64) -> Result<Seen, String> {
    let printed = child::run_whether_met(&command(job, seconds))?.stdout;
    let run = store::parse(&printed).map_err(|e| format!("ontick's result: {e}"))?;
    let trial = run.switch.as_ref().and_then(|switch| switch.gated()).ok_or("ontick's result has no gates")?;
    Ok(Seen { trial: trial.clone() })
}

impl Seen {
    fn first_ns(&self, q: f64) -> Option<u64> {
        self.trial.classes.iter().filter_map(|class| class.first.quantile(q)).max()
    }

    fn received(&self) -> u64 {
        self.trial.sum(|class| class.received)
    }

    fn per_million(&self) -> f64 {
        self.trial.share_outside().unwrap_or(0.0) * 1e6
    }

    /// Frames outside whose cause is not known.
    fn unexplained(&self) -> u64 {
        let unknown = self.trial.violations.iter().filter(|violation| violation.cause.is_none());
        unknown.map(|violation| violation.frames).sum::<u64>() + self.trial.more_violations
    }

    pub fn table(&self) -> Table {
        let mut table = Table::new(&["class", "frames", "outside", "first p50", "p99", "p99.9", "max", "dropped"]);
        for class in &self.trial.classes {
            table.row(row(class));
        }
        table
    }

    pub fn goals(&self) -> Vec<Goal> {
        let first = |q, most: u64| self.first_ns(q).map(|ns| (show(ns), ns <= most));
        let outside = self.trial.sum(|class| class.outside);
        let judged = (self.received() > 0).then(|| {
            let (received, rate, unknown) = (self.received(), self.per_million(), self.unexplained());
            let seen = format!("{outside} of {received} ({rate:.1} of a million), {unknown} without a cause");
            (seen, rate <= OUTSIDE && unknown == 0)
        });
        vec![
            Goal::new(
                "switch: first frame after a gate's opening, median, the worse class (virtual Ethernet)",
                format!("≤ {}", show(FIRST_P50_NS)),
                first(0.5, FIRST_P50_NS),
            ),
            Goal::new("switch: the same, p99", format!("≤ {}", show(FIRST_P99_NS)), first(0.99, FIRST_P99_NS)),
            Goal::new(
                "switch: frames outside their window by more than 1us, each with its cause",
                format!("≤ {OUTSIDE} of a million"),
                judged,
            ),
        ]
    }
}

fn row(class: &Class) -> Vec<String> {
    let first = |q| class.first.quantile(q).map_or("—".into(), show);
    vec![
        class.name.clone(),
        class.received.to_string(),
        class.outside.to_string(),
        first(0.5),
        first(0.99),
        first(0.999),
        first(1.0),
        class.dropped.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::switching::Violation;

    #[test]
    fn frames_outside_need_a_cause() {
        let class =
            Class { name: "red".into(), received: 1_000_000, judged: 1_000_000, outside: 10, ..Class::default() };
        let violation =
            |cause: Option<&str>| Violation { frames: 10, cause: cause.map(Into::into), ..Violation::default() };
        let met = |class: &Class, cause| {
            let trial = Trial { classes: vec![class.clone()], violations: vec![violation(cause)], ..Trial::default() };
            Seen { trial }.goals()[2].reached
        };
        assert_eq!(met(&class, Some("the vCPU was taken")), Some(true));
        assert_eq!(met(&class, None), Some(false));
        assert_eq!(met(&Class { outside: 11, ..class }, Some("…")), Some(false));
    }
}
