//! `ontick latency timer`

use clap::Args;
use ontick_measure::timer::{self, Job, Method};
use ontick_record::Measurement as Kind;
use ontick_rt::{Overrun, Phase};

use super::mechanisms::{self, Mechanisms};
use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};

/// Measure how late a periodic job acts, by the method that it waits with.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick latency timer\n  sudo ontick latency timer --method all --duration 2s --load cpu\n  sudo ontick latency timer --method clock_nanosleep --interval 500us \\\n      --policy fifo:80 --count 100000"
)]
pub struct Timer {
    /// hybrid, spin, clock_nanosleep, nanosleep, timerfd, epoll, posix_timer, setitimer, select, poll, futex,
    /// io_uring; or all, one after the other, each for the whole duration
    #[arg(long, default_value = "hybrid", value_parser = methods)]
    method: Mechanisms<Method>,
    /// Period of the job, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// Offset of the deadlines from multiples of the interval: a time, auto (the quietest), or chance
    #[arg(long, value_name = "TIME|auto|chance", default_value = "auto", value_parser = phase)]
    phase: Phase,
    /// After an overrun, act also on every passed deadline, instead of skipping and counting it
    #[arg(long)]
    catch_up: bool,
    /// Largest share of the time that hybrid and spin may spend spinning
    #[arg(long, value_name = "PERCENT", default_value = "90%", value_parser = flags::share)]
    duty: f64,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

fn methods(text: &str) -> Result<Mechanisms<Method>, String> {
    mechanisms::read(text, &Method::ALL)
}

fn phase(text: &str) -> Result<Phase, String> {
    match text {
        "auto" => Ok(Phase::Auto),
        "chance" => Ok(Phase::Chance),
        time => flags::time(time).map(Phase::Fixed),
    }
}

impl Timer {
    pub fn run(self) -> Result<Outcome, Failure> {
        let (placement, limits) = (self.measuring.placement.placement(), self.measuring.limits.limits());
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
        let asked = Measurement::asked(&self.measuring, Kind::Timer, self.method.names());
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| timer::each(&jobs, placement, limits, observer),
        )
    }
}
