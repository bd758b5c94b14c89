//! Candidates as they are written.

use std::fmt;
use std::str::FromStr;

use ontick_machine::Profile;
use ontick_machine::knobs::{self, Knob};
use ontick_measure::timer::Job;
use ontick_measure::{Method, Placement};
use ontick_rt::cpus;
use ontick_rt::phase::Phase;
use ontick_units::exact;

use crate::failure::Failure;
use crate::flags;

/// CPUs that are tried besides the job's own where nobody names any.
const MOST_CPUS: usize = 3;
/// How the candidate is written that keeps the CPU from idling, as the option of measurements.
const AWAKE: &str = "keep-awake";

/// What may be on.
#[derive(Debug, Clone, PartialEq)]
pub enum Candidate {
    /// A setting of the machine.
    Knob(&'static str),
    /// Another way to wait.
    Wait(Method),
    /// Another share of the time to spin, 0 to 1.
    Duty(f64),
    /// The hybrid wait with this margin before the deadline instead of one that it learns, in ns.
    Margin(u64),
    /// The CPU kept from idling.
    Awake,
    /// Deadlines elsewhere in the period, in ns.
    Phase(u64),
    /// Another CPU.
    Cpu(u32),
    /// One of a modelled machine, and the points that it gains.
    Simulated(String, f64),
    /// One of a modelled machine that takes the search every turn until it is undone.
    Hang(String),
}

impl FromStr for Candidate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(simulated) = text.strip_prefix("sim:") {
            let (name, points) = simulated.split_once('=').unwrap_or((simulated, ""));
            if points == "hang" && !name.is_empty() {
                return Ok(Self::Hang(name.into()));
            }
            let points = points.parse::<f64>().ok().filter(|points| points.abs() <= 100.0);
            return match points.filter(|_| !name.is_empty()) {
                Some(points) => Ok(Self::Simulated(name.into(), points)),
                None => Err(format!(
                    "\"{text}\": write sim:NAME=POINTS, the points from -100 to 100 that it gains, or sim:NAME=hang"
                )),
            };
        }
        let wrong = |error: String| format!("\"{text}\": {error}");
        match text.split_once('=') {
            Some(("wait", method)) => method.parse().map(Self::Wait).map_err(|e| format!("\"{text}\": {e}")),
            Some(("duty", share)) => flags::share(share).map(Self::Duty).map_err(wrong),
            Some(("margin", time)) => match flags::time(time) {
                Ok(0) => Err(wrong("a margin must be above 0".into())),
                margin => margin.map(Self::Margin).map_err(wrong),
            },
            Some(("phase", time)) => flags::time(time).map(Self::Phase).map_err(wrong),
            Some(("cpu", cpu)) => {
                cpu.parse().map(Self::Cpu).map_err(|_| format!("\"{text}\": \"{cpu}\" is not the number of a CPU"))
            }
            Some((word, _)) => Err(format!("\"{text}\": there is no {word}= (wait=, duty=, margin=, phase=, cpu=)")),
            None if text == AWAKE => Ok(Self::Awake),
            None => knobs::named(text).map(|knob| Self::Knob(knob.name)).map_err(|e| e.to_string()),
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Knob(name) => f.write_str(name),
            Self::Awake => f.write_str(AWAKE),
            Self::Wait(method) => write!(f, "wait={method}"),
            Self::Duty(share) => write!(f, "duty={}%", share * 100.0),
            Self::Margin(ns) => write!(f, "margin={}", exact(*ns)),
            Self::Phase(ns) => write!(f, "phase={}", exact(*ns)),
            Self::Cpu(cpu) => write!(f, "cpu={cpu}"),
            Self::Hang(name) => write!(f, "sim:{name}=hang"),
            Self::Simulated(name, points) => write!(f, "sim:{name}={points}"),
        }
    }
}

impl Candidate {
    pub fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated(..) | Self::Hang(_))
    }

    /// The knob, where it is one.
    pub fn knob(&self) -> Option<&'static str> {
        match self {
            Self::Knob(name) => Some(name),
            _ => None,
        }
    }

    /// The option of `latency timer` that has the loop so, for what is of the loop.
    pub fn option(&self) -> Option<String> {
        match self {
            Self::Wait(method) => Some(format!("--method {method}")),
            Self::Duty(share) => Some(format!("--duty {}%", share * 100.0)),
            Self::Margin(ns) => Some(format!("--margin {}", exact(*ns))),
            Self::Awake => Some(format!("--{AWAKE}")),
            Self::Phase(ns) => Some(format!("--phase {}", exact(*ns))),
            Self::Cpu(cpu) => Some(format!("--cpu {cpu}")),
            Self::Knob(_) | Self::Simulated(..) | Self::Hang(_) => None,
        }
    }

    /// Whether it can be set together with the others: a choice excludes another of its kind, and the settings are for
    /// the CPU of the job.
    pub fn combines(&self, all: &[Self]) -> bool {
        let same = |other: &&Self| std::mem::discriminant(*other) == std::mem::discriminant(self);
        match self {
            Self::Knob(_) | Self::Awake | Self::Simulated(..) | Self::Hang(_) => true,
            Self::Cpu(_) => false,
            Self::Wait(_) | Self::Duty(_) | Self::Margin(_) | Self::Phase(_) => all.iter().filter(same).count() == 1,
        }
    }

    /// Puts what is of the loop into a job and its place.
    pub fn put_into(&self, job: &mut Job, placement: &mut Placement) {
        match self {
            Self::Wait(method) => job.method = *method,
            Self::Duty(share) => job.duty = *share,
            Self::Margin(ns) => job.margin_ns = Some(*ns),
            Self::Awake => placement.awake = true,
            Self::Phase(ns) => job.phase = Phase::Fixed(*ns),
            Self::Cpu(cpu) => placement.cpu = Some(*cpu),
            Self::Knob(_) | Self::Simulated(..) | Self::Hang(_) => {}
        }
    }
}

/// The candidates of a command line, each once. Knobs of a profile are those that have a place in it, and that can be changed
/// within a moment.
pub fn expand(words: &[String], profile: Profile, method: Method, cpu: u32) -> Result<Vec<Candidate>, Failure> {
    let mut all: Vec<Candidate> = Vec::new();
    let is_tried = |knob: &&Knob| knob.profiles.contains(&profile) && !knobs::is_slow(knob);
    let knobs = || knobs::all().filter(is_tried).map(|knob| Candidate::Knob(knob.name));
    let words: Vec<&str> = if words.is_empty() { vec!["knobs"] } else { words.iter().map(String::as_str).collect() };
    for word in words {
        match word {
            "knobs" => all.extend(knobs()),
            "loop" => all.extend(of_loop(method, cpu)),
            other => all.push(other.parse().map_err(Failure::new)?),
        }
    }
    let mut once: Vec<Candidate> = Vec::new();
    for candidate in all {
        if !once.iter().any(|known| known.to_string() == candidate.to_string()) {
            once.push(candidate);
        }
    }
    let simulated = once.iter().filter(|candidate| candidate.is_simulated()).count();
    if simulated > 0 && simulated < once.len() {
        return Err(Failure::new("candidates of a modelled machine (sim:) are searched by themselves: name no others"));
    }
    Ok(once)
}

/// The usual alternatives of a loop that waits by `method` on `cpu`.
fn of_loop(method: Method, cpu: u32) -> Vec<Candidate> {
    let mut all = match method {
        Method::Hybrid => vec![Candidate::Wait(Method::Spin), Candidate::Duty(0.5), Candidate::Awake],
        _ => vec![Candidate::Wait(Method::Hybrid), Candidate::Awake],
    };
    let others = cpus::allowed().into_iter().filter(|other| *other != cpu);
    all.extend(others.take(MOST_CPUS).map(Candidate::Cpu));
    all
}

/// A number above 0, with or without the sign of percent.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent),
        _ => Err(format!("\"{text}\" is not a number of percent above 0 and below 100")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_read_back() {
        for text in [
            "governor",
            "wait=spin",
            "duty=50%",
            "margin=40us",
            "keep-awake",
            "phase=100us",
            "cpu=3",
            "sim:good=2",
            "sim:bad=-0.5",
            "sim:x=hang",
        ] {
            assert_eq!(text.parse::<Candidate>().unwrap().to_string(), text);
        }
        for (text, part) in [
            ("nonsense", "no knob"),
            ("wait=usleep", "clock_nanosleep"),
            ("duty=200%", "share"),
            ("margin=0us", "above 0"),
            ("margin=40", "unit"),
            ("cpu=x", "not the number"),
            ("colour=red", "no colour="),
            ("sim:x", "sim:NAME=POINTS"),
            ("sim:=1", "sim:NAME=POINTS"),
            ("sim:x=NaN", "sim:NAME=POINTS"),
            ("sim:=hang", "sim:NAME=POINTS"),
        ] {
            let error = text.parse::<Candidate>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_list_has_each_once_and_words_stand_for_several() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let all =
            expand(&words(&["governor", "knobs", "governor"]), Profile::ThroughputSafe, Method::Hybrid, 0).unwrap();
        let governors = all.iter().filter(|candidate| **candidate == Candidate::Knob("governor")).count();
        assert!(governors == 1 && all.len() > 5, "{all:?}");
        assert_eq!(expand(&[], Profile::ThroughputSafe, Method::Hybrid, 0).unwrap().len(), all.len());
        let mixed = expand(&words(&["sim:a=1", "governor"]), Profile::ThroughputSafe, Method::Hybrid, 0);
        assert!(mixed.unwrap_err().to_string().contains("by themselves"));
        assert!(
            expand(&words(&["loop"]), Profile::ThroughputSafe, Method::Select, 0)
                .unwrap()
                .contains(&Candidate::Wait(Method::Hybrid))
        );
    }

    #[test]
    fn what_is_of_the_loop_has_an_option() {
        let option = |text: &str| text.parse::<Candidate>().unwrap().option();
        assert_eq!(option("margin=40us").as_deref(), Some("--margin 40us"));
        assert_eq!(option("duty=50%").as_deref(), Some("--duty 50%"));
        assert_eq!(option("wait=spin").as_deref(), Some("--method spin"));
        assert_eq!(option("governor"), None);
    }

    #[test]
    fn of_two_ways_to_wait_neither_is_set_with_others() {
        let of = |all: &[&str]| -> Vec<Candidate> { all.iter().map(|text| text.parse().unwrap()).collect() };
        let all = of(&["wait=spin", "wait=select", "duty=50%", "cpu=1", "governor", "margin=40us"]);
        let combine: Vec<bool> = all.iter().map(|candidate| candidate.combines(&all)).collect();
        assert_eq!(combine, [false, false, true, false, true, true]);
    }
}
