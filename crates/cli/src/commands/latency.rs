//! `ontick latency …`

use clap::{Args, Subcommand};
use ontick_measure::day::Times;
use ontick_measure::timer::{self, Job, Method};
use ontick_measure::wakeup::By;
use ontick_measure::{Load, day, noise, series, wakeup};
use ontick_rt::clock::ClockId;
use ontick_rt::{Overrun, Phase, cpus};

use super::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, LimitFlags, OutputFlags, PlaceFlags};

/// Make one measurement of latency.
#[derive(Subcommand)]
pub enum Latency {
    Timer(Timer),
    Wakeup(Wakeup),
    Day(Day),
    Noise(Noise),
}

impl Latency {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Latency::Timer(timer) => timer.run(),
            Latency::Wakeup(wakeup) => wakeup.run(),
            Latency::Day(day) => day.run(),
            Latency::Noise(noise) => noise.run(),
        }
    }
}

/// What all of them take.
#[derive(Args)]
struct Common {
    #[command(flatten)]
    place: PlaceFlags,
    #[command(flatten)]
    limits: LimitFlags,
    /// Runs beside the measurement: none, cpu, memory, io, fork, net, all or cmd:COMMAND
    #[arg(long, default_value = "none")]
    load: Load,
    /// Show percentiles, histogram and maxima live on the whole terminal
    #[arg(long)]
    watch: bool,
    /// Trace the kernel meanwhile and name what made each outlier late (needs root)
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    output: OutputFlags,
}

impl Common {
    fn measurement(&self, kind: &'static str, names: Vec<String>) -> Measurement<'_> {
        Measurement {
            kind,
            names,
            cpu: self.place.place().cpu,
            load: &self.load,
            watch: self.watch,
            explain: self.explain,
            findings: Vec::new(),
            notes: self.place.note().into_iter().collect(),
        }
    }
}

/// A periodic job: how late it acts, by the method that it waits with.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick latency timer\n  sudo ontick latency timer --method all --duration 2s --load cpu\n  sudo ontick latency timer --method clock_nanosleep --interval 500us --policy fifo:80 --count 100000"
)]
pub struct Timer {
    /// hybrid, spin, clock_nanosleep, nanosleep, timerfd, epoll, posix_timer, setitimer, select, poll, futex,
    /// io_uring; or all, one after the other, each for the whole duration
    #[arg(long, default_value = "hybrid", value_parser = methods)]
    method: Methods,
    /// Period of the job, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// Deadlines after a multiple of the interval: a time, auto (the quietest), or chance
    #[arg(long, value_name = "TIME|auto|chance", default_value = "auto", value_parser = phase)]
    phase: Phase,
    /// After an overrun act on every passed deadline too, instead of skipping and counting them
    #[arg(long)]
    catch_up: bool,
    /// Most of the time that hybrid and spin may spin
    #[arg(long, value_name = "PERCENT", default_value = "90%", value_parser = flags::share)]
    duty: f64,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone)]
struct Methods(Vec<Method>);

fn methods(text: &str) -> Result<Methods, String> {
    match text {
        "all" => Ok(Methods(Method::ALL.to_vec())),
        name => name.parse().map(|method| Methods(vec![method])).map_err(|e: timer::MethodError| e.to_string()),
    }
}

fn phase(text: &str) -> Result<Phase, String> {
    match text {
        "auto" => Ok(Phase::Auto),
        "chance" => Ok(Phase::Chance),
        time => flags::time(time).map(Phase::Fixed),
    }
}

impl Timer {
    fn run(self) -> Result<Outcome, Failure> {
        let (place, limits) = (self.common.place.place(), self.common.limits.limits());
        let jobs: Vec<Job> = self
            .method
            .0
            .iter()
            .map(|method| Job {
                phase: self.phase,
                overrun: if self.catch_up { Overrun::CatchUp } else { Overrun::Skip },
                duty: self.duty,
                ..Job::new(self.interval, *method)
            })
            .collect();
        let names = jobs.iter().map(|job| job.method.to_string()).collect();
        let asked = self.common.measurement("timer", names);
        measuring::run(asked, &self.common.output, |_| true, |observer| timer::each(&jobs, place, limits, observer))
    }
}

/// Waking a thread on one CPU from another.
#[derive(Args)]
#[command(after_help = "Example:\n  sudo ontick latency wakeup --by all --duration 5s")]
pub struct Wakeup {
    /// futex, eventfd, pipe, condvar; or all, one after the other
    #[arg(long, default_value = "futex", value_parser = bells)]
    by: Bells,
    /// Time between wake-ups, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// CPU of the waking thread [default: the first other one]
    #[arg(long, value_name = "N")]
    from_cpu: Option<u32>,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone)]
struct Bells(Vec<By>);

fn bells(text: &str) -> Result<Bells, String> {
    match text {
        "all" => Ok(Bells(By::ALL.to_vec())),
        name => name.parse().map(|by| Bells(vec![by])).map_err(|e: wakeup::ByError| e.to_string()),
    }
}

impl Wakeup {
    fn run(self) -> Result<Outcome, Failure> {
        let (place, limits) = (self.common.place.place(), self.common.limits.limits());
        let (bells, interval, from) = (self.by.0, self.interval, self.from_cpu);
        let asked = self.common.measurement("wakeup", bells.iter().map(By::to_string).collect());
        measuring::run(
            asked,
            &self.common.output,
            |_| true,
            |observer| {
                series::each(&bells, observer, |by, o| {
                    wakeup::measure(by.name(), *by, interval, from, place, limits, o)
                })
            },
        )
    }
}

/// Acting at times of day, on the realtime or the TAI clock.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick latency day --duration 1min\n  sudo ontick latency day --at 12:00:00 --count 1"
)]
pub struct Day {
    /// Every multiple of this since 1970, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1s", value_parser = flags::interval, conflicts_with = "at")]
    interval: u64,
    /// Once a day at this time (UTC on the realtime clock), HH:MM:SS with decimals
    #[arg(long, value_name = "HH:MM:SS", value_parser = time_of_day)]
    at: Option<u64>,
    /// realtime or tai
    #[arg(long, default_value = "realtime", value_parser = clock)]
    clock: ClockId,
    /// Only sleep, instead of spinning the last stretch
    #[arg(long)]
    sleep_only: bool,
    #[command(flatten)]
    common: Common,
}

fn clock(text: &str) -> Result<ClockId, String> {
    match text {
        "realtime" => Ok(ClockId::Realtime),
        "tai" => Ok(ClockId::Tai),
        _ => Err(format!("there is no clock \"{text}\" (choose realtime or tai)")),
    }
}

/// `HH:MM`, `HH:MM:SS` or `HH:MM:SS.decimals`, in ns since midnight.
fn time_of_day(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is not a time of day such as 12:00:00 or 23:59:59.5");
    let parts: Vec<&str> = text.split(':').collect();
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, "0"),
        [hour, minute, second] => (hour, minute, second),
        _ => return Err(wrong()),
    };
    let whole = |text: &str, below: u64| text.parse::<u64>().ok().filter(|n| *n < below).ok_or_else(wrong);
    let seconds = second.parse::<f64>().ok().filter(|s| (0.0..60.0).contains(s)).ok_or_else(wrong)?;
    Ok((whole(hour, 24)? * 3600 + whole(minute, 60)? * 60) * 1_000_000_000 + (seconds * 1e9).round() as u64)
}

impl Day {
    fn run(self) -> Result<Outcome, Failure> {
        let (place, limits) = (self.common.place.place(), self.common.limits.limits());
        let (interval_ns, offset_ns) = self.at.map_or((self.interval, 0), |at| (86_400_000_000_000, at));
        let hybrid = !self.sleep_only && cpus::online().len() > 1;
        let times = Times { clock: self.clock, interval_ns, offset_ns, hybrid };
        let asked = self.common.measurement("day", vec![self.clock.name().into()]);
        measuring::run(
            asked,
            &self.common.output,
            |_| true,
            |observer| day::measure(self.clock.name(), times, place, limits, observer).map(|series| vec![series]),
        )
    }
}

/// How often and for how long a spinning core is taken away.
#[derive(Args)]
#[command(after_help = "Example:\n  sudo ontick latency noise --duration 30s")]
pub struct Noise {
    /// Leave out gaps shorter than this
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = flags::time)]
    over: u64,
    #[command(flatten)]
    common: Common,
}

impl Noise {
    fn run(self) -> Result<Outcome, Failure> {
        let (place, limits) = (self.common.place.place(), self.common.limits.limits());
        let asked = self.common.measurement("noise", vec!["gaps".into()]);
        measuring::run(
            asked,
            &self.common.output,
            |_| true,
            |observer| noise::measure("gaps", self.over, place, limits, observer).map(|series| vec![series]),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_read_or_explained() {
        assert_eq!(time_of_day("12:00"), Ok(43_200_000_000_000));
        assert_eq!(time_of_day("23:59:59.5"), Ok(86_399_500_000_000));
        for text in ["24:00", "12", "12:60", "12:00:60", "a:b:c", "12:00:-1", "12:00:nan"] {
            assert!(time_of_day(text).unwrap_err().contains("not a time of day"), "{text}");
        }
    }
}
