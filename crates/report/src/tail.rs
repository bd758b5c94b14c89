//! What can be said of the tail of a series, in words.

use ontick_record::Run;
use ontick_record::tail::{Bound, Reason, Refusal, Tail};
use ontick_units::show;

use crate::number::count;

/// A sentence for each series whose tail was asked for: its name, and what can be said.
pub(crate) fn sentences(run: &Run) -> Vec<(&str, String)> {
    let of = |tail: &Tail, cycles: &str| match (&tail.bound, &tail.refusal) {
        (Some(bound), _) => bounded(bound, tail.once_in, cycles),
        (None, Some(refusal)) => refused(refusal, tail.once_in, cycles),
        (None, None) => "No bound was looked for.".into(),
    };
    let noun = |interval_ns: u64| if interval_ns > 0 { "cycles" } else { "samples" };
    let all = run.series.iter();
    all.filter_map(|s| Some((s.name.as_str(), of(s.tail.as_ref()?, noun(s.settings.interval_ns))))).collect()
}

fn bounded(bound: &Bound, once_in: u64, cycles: &str) -> String {
    let bursts = match bound.burst_cycles {
        0 => String::new(),
        within => format!(" Peaks within {} {cycles} count as one.", count(within)),
    };
    format!(
        "Exceeds {} less than once in {} {cycles} (95 % sure; most likely value {}). From {} peaks above {} of {} {cycles}, \
         shape {:.2}.{bursts}",
        show(bound.upper_ns),
        times(once_in),
        show(bound.fitted_ns),
        count(bound.peaks),
        show(bound.threshold_ns),
        count(bound.cycles),
        bound.shape,
    )
}

fn refused(refusal: &Refusal, once_in: u64, cycles: &str) -> String {
    let number = refusal.count.map_or_else(String::new, count);
    let why = match refusal.reason {
        Reason::NoPeaks => {
            "the record lacks the largest samples with their times: another tool measured it, or a version that did not keep \
             them, or the run did not end. Measure again to the end."
                .into()
        }
        Reason::LostPeaks => {
            "more large samples came at once than could be kept one by one. A longer interval or a quieter second CPU helps.".into()
        }
        Reason::Missed => format!(
            "{number} {cycles} were missed, which have no latency. Act on every deadline, or find what held the thread up."
        ),
        Reason::TooShort => format!("there are too few {cycles} for one in {}.", times(once_in)),
        Reason::Coarse => "many of the largest samples are equal: the clock is too coarse.".into(),
        Reason::Dependent => {
            "large samples come in bursts that are too long to count as one. Find what makes them.".into()
        }
        Reason::Changing => {
            "the run is not of one piece: large samples became more or fewer, higher or lower. Keep the machine's work the same \
             while it is measured."
                .into()
        }
        Reason::Mixture => format!(
            "the tail is a mixture: the largest {number} do not continue the tail of the others, and are too few to have one of \
             their own. Find what makes them, or measure longer."
        ),
        Reason::NoFit => "no generalised Pareto distribution fits the largest samples: several laws are mixed.".into(),
        Reason::NoMean => "the tail is so heavy that it has no mean.".into(),
        Reason::Seen => {
            return format!(
                "No bound is needed: what is exceeded once in {} {cycles} was exceeded about {number} times in the run itself, \
                 and the percentiles tell it. A bound is of what is rarer.",
                times(once_in)
            );
        }
    };
    let measure = match refusal.measure_ns {
        Some(ns) => format!(" Measure for at least {}.", duration(ns)),
        None => String::new(),
    };
    format!("No bound can be given: {why}{measure}")
}

/// `10^9`, or a plain count.
pub(crate) fn times(n: u64) -> String {
    match n.checked_ilog10() {
        Some(power) if power >= 4 && 10u64.pow(power) == n => format!("10^{power}"),
        _ => count(n),
    }
}

/// Rounded up to what one would type: `40 s`, `17 min`, `6 h`.
fn duration(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    match seconds {
        0..=120 => format!("{seconds} s"),
        121..=7_200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", count(seconds.div_ceil(3_600))),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ontick_record::tail::Level;
    use ontick_record::{Measurement, Series};

    /// A run whose tail has a bound.
    pub fn run() -> Run {
        let mut run = Run::new("ontick 0.1.0", Measurement::Timer);
        let mut series = Series { name: "hybrid".into(), ..Series::default() };
        series.settings.interval_ns = 1_000_000;
        series.latency.add(1_000, 1, 1_000_000);
        series.peaks = (1..=600).map(|i| (i * 1_000_000, 20_000 + i * 10).into()).collect();
        let level = |once_in| Level { once_in, lower_ns: 24_000, fitted_ns: 31_000, upper_ns: 41_200 };
        let bound = Bound {
            upper_ns: 41_200,
            fitted_ns: 31_000,
            cycles: 1_000_000,
            threshold_ns: 22_000,
            peaks: 400,
            shape: -0.051,
            scale_ns: 900.0,
            levels: [10_000, 1_000_000, 1_000_000_000].map(level).into(),
            ..Bound::default()
        };
        series.tail = Some(Tail { once_in: 1_000_000_000, bound: Some(bound), refusal: None });
        run.series.push(series);
        run
    }

    #[test]
    fn a_bound_says_what_it_rests_on() {
        let mut run = run();
        assert_eq!(
            sentences(&run),
            [(
                "hybrid",
                "Exceeds 41.2us less than once in 10^9 cycles (95 % sure; most likely value 31.0us). From 400 peaks above \
                 22.0us of 1 000 000 cycles, shape -0.05."
                    .to_string()
            )]
        );
        run.series[0].tail.as_mut().unwrap().bound.as_mut().unwrap().burst_cycles = 5;
        assert!(sentences(&run)[0].1.ends_with("Peaks within 5 cycles count as one."));
        run.series[0].tail = None;
        assert_eq!(sentences(&run), []);
    }

    #[test]
    fn a_refusal_says_how_long_to_measure() {
        let said = |reason, count, measure_ns| refused(&Refusal { reason, count, measure_ns }, 1_000_000, "cycles");
        assert_eq!(
            said(Reason::TooShort, None, Some(99_100_000_000)),
            "No bound can be given: there are too few cycles for one in 10^6. Measure for at least 100 s."
        );
        assert!(said(Reason::Mixture, Some(7), Some(14_000_000_000_000)).ends_with("Measure for at least 4 h."));
        assert_eq!(
            said(Reason::Seen, Some(100), None),
            "No bound is needed: what is exceeded once in 10^6 cycles was exceeded about 100 times in the run itself, and the \
             percentiles tell it. A bound is of what is rarer."
        );
        assert!(said(Reason::Missed, Some(1_200), None).contains("1 200 cycles were missed"));
    }

    #[test]
    fn powers_of_ten_are_short() {
        assert_eq!([1_000, 10_000, 12_000, 1_000_000_000].map(times), ["1 000", "10^4", "12 000", "10^9"]);
    }
}
