//! `ontick latency wallclock`

use clap::Args;
use ontick_measure::wallclock::{self, Times};
use ontick_record::Measurement as Kind;
use ontick_rt::clock::ClockId;
use ontick_rt::cpus;

use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, EverySampleFlags, MeasuringFlags};

/// Measure how late a job acts at times of day, on the realtime or the TAI clock.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick latency wallclock --duration 1min\n  sudo ontick latency wallclock --at 12:00:00 --count 1"
)]
pub struct Wallclock {
    /// Act at every multiple of this since 1970, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1s", value_parser = flags::interval, conflicts_with = "at")]
    interval: u64,
    /// Once a day at this time (UTC on the realtime clock), HH:MM:SS with decimals
    #[arg(long, value_name = "HH:MM:SS", value_parser = time_of_day)]
    at: Option<u64>,
    /// realtime or tai
    #[arg(long, default_value = "realtime", value_parser = clock)]
    clock: ClockId,
    /// Only sleep, without spinning before the deadline
    #[arg(long)]
    sleep_only: bool,
    #[command(flatten)]
    every_sample: EverySampleFlags,
    #[command(flatten)]
    measuring: MeasuringFlags,
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

impl Wallclock {
    pub fn run(self) -> Result<Outcome, Failure> {
        let placement = self.measuring.placement.placement();
        let mut limits = self.measuring.limits.limits();
        if self.at.is_none() {
            limits = flags::one_cycle(limits, self.interval)?;
        }
        let (interval_ns, offset_ns) = self.at.map_or((self.interval, 0), |at| (86_400_000_000_000, at));
        let hybrid = !self.sleep_only && cpus::online().len() > 1;
        let times = Times { clock: self.clock, interval_ns, offset_ns, hybrid };
        let asked = Measurement {
            sample_file: self.every_sample.file()?,
            ..Measurement::asked(&self.measuring, limits, Kind::Wallclock, [self.clock.name().to_string()])
        };
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| {
                wallclock::measure(self.clock.name(), times, placement, limits, observer).map(|series| vec![series])
            },
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
