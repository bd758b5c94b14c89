//! How gates hold: source 004's test in one command, as anybody can run it.

use ontick_record::store;
use ontick_record::switching::{Class, Trial};
use ontick_units::show;

use crate::child::{self, Words};
use crate::goals::Goal;
use crate::page::Table;
use crate::side::Job;

/// First frame after a gate's opening.
const FIRST_P50_NS: u64 = 500;
const FIRST_P99_NS: u64 = 1_200;
/// Frames outside their window, of a million.
const OUTSIDE: f64 = 10.0;

/// What was seen, turn by turn.
pub struct Figures {
    trials: Vec<Trial>,
}

pub fn command(job: &Job, seconds: u64) -> Words {
    let (ontick, cpu) = (job.ontick.display(), job.cpu);
    let line = format!(
        "{ontick} switch demo --plane user --cpu {cpu} --rate 100% --duration {seconds}s --without-gates 0s --json"
    );
    line.split(' ').map(String::from).collect()
}

pub fn measure(job: &Job, turns: u32, seconds: u64) -> Result<Figures, String> {
    let turn = |_| {
        let printed = child::run_whether_met(&command(job, seconds))?.stdout;
        let run = store::parse(&printed).map_err(|e| format!("ontick's result: {e}"))?;
        let trial = run.switch.as_ref().and_then(|switch| switch.judged()).ok_or("ontick's result has no gates")?;
        Ok(trial.clone())
    };
    Ok(Figures { trials: (0..turns).map(turn).collect::<Result<_, String>>()? })
}

impl Figures {
    /// Names of the classes.
    fn classes(&self) -> impl Iterator<Item = &str> {
        self.trials.first().into_iter().flat_map(|trial| &trial.classes).map(|class| class.name.as_str())
    }

    fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Class> {
        self.trials.iter().flat_map(|trial| &trial.classes).filter(move |class| class.name == name)
    }

    /// A quantile of how long a class's first frames took, of each turn, the least first.
    fn first_ns(&self, name: &str, q: f64) -> Vec<u64> {
        let mut turns: Vec<u64> = self.of(name).filter_map(|class| class.first.quantile(q)).collect();
        turns.sort_unstable();
        turns
    }

    /// Its median of all turns, of the worse class.
    fn worst_first_ns(&self, q: f64) -> Option<u64> {
        self.classes().filter_map(|name| middle(&self.first_ns(name, q))).max()
    }

    fn sum(&self, of: fn(&Class) -> u64) -> u64 {
        self.trials.iter().map(|trial| trial.sum(of)).sum()
    }

    /// Frames outside whose cause is not known.
    fn unexplained(&self) -> u64 {
        let unknown = |trial: &Trial| {
            let unknown = trial.violations.iter().filter(|violation| violation.cause.is_none());
            unknown.map(|violation| violation.frames).sum::<u64>() + trial.more_violations
        };
        self.trials.iter().map(unknown).sum()
    }

    pub fn table(&self) -> Table {
        let mut table = Table::new(&["class", "frames", "outside", "first p50", "p99", "p99.9", "max", "dropped"]);
        for name in self.classes() {
            let sum = |of: fn(&Class) -> u64| self.of(name).map(of).sum::<u64>().to_string();
            let first = |q| spread(&self.first_ns(name, q));
            let max = self.first_ns(name, 1.0).last().map_or("—".into(), |ns| show(*ns));
            table.row([
                name.into(),
                sum(|class| class.received),
                sum(|class| class.outside),
                first(0.5),
                first(0.99),
                first(0.999),
                max,
                sum(|class| class.dropped),
            ]);
        }
        table
    }

    pub fn goals(&self) -> Vec<Goal> {
        let first = |q, most: u64| self.worst_first_ns(q).map(|ns| (show(ns), ns <= most));
        let (outside, received) = (self.sum(|class| class.outside), self.sum(|class| class.received));
        let judged = (received > 0).then(|| {
            let (rate, unknown) = (outside as f64 / received as f64 * 1e6, self.unexplained());
            let seen = format!("{outside} of {received} ({rate:.1} of a million), {unknown} without a cause");
            (seen, rate <= OUTSIDE && unknown == 0)
        });
        vec![
            Goal::new(
                "switch: first frame after a gate's opening, median, the worse class (virtual Ethernet)",
                format!("≤ {}", show(FIRST_P50_NS)),
                first(0.5, FIRST_P50_NS),
            ),
            Goal::new(
                "switch: the same, p99, median of the turns",
                format!("≤ {}", show(FIRST_P99_NS)),
                first(0.99, FIRST_P99_NS),
            ),
            Goal::new(
                "switch: frames outside their window by more than 1us, each with its cause",
                format!("≤ {OUTSIDE} of a million"),
                judged,
            ),
        ]
    }
}

/// The middle one, of the two in the middle the greater.
fn middle(sorted: &[u64]) -> Option<u64> {
    sorted.get(sorted.len() / 2).copied()
}

/// The middle one of some, with the least and the greatest.
fn spread(sorted: &[u64]) -> String {
    match (middle(sorted), sorted) {
        (Some(middle), [least, .., most]) => format!("{} ({} to {})", show(middle), show(*least), show(*most)),
        (Some(only), _) => show(only),
        (None, _) => "—".into(),
    }
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
            Figures { trials: vec![trial] }.goals()[2].reached
        };
        assert_eq!(met(&class, Some("the vCPU was taken")), Some(true));
        assert_eq!(met(&class, None), Some(false));
        assert_eq!(met(&Class { outside: 11, ..class }, Some("…")), Some(false));
    }

    #[test]
    fn turns_are_summed_up_and_the_middle_one_counts() {
        let class = |first_ns: u64| {
            let mut class = Class { name: "red".into(), received: 10, judged: 10, outside: 1, ..Class::default() };
            class.first.add(first_ns, 1, 1);
            class
        };
        let trials = [300, 90_000, 200].map(|ns| Trial { classes: vec![class(ns)], ..Trial::default() }).to_vec();
        let seen = Figures { trials };
        assert_eq!(seen.sum(|class| class.outside), 3);
        assert_eq!(seen.goals()[1].reached, Some(true));
        assert!(spread(&seen.first_ns("red", 0.99)).starts_with("300ns (200ns to 90"));
    }
}
