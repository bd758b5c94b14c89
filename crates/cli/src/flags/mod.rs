//! Options that several commands share, each group in one place.

mod every_sample;
mod limits;
mod machine;
mod measuring;
mod output;
mod pictures;
mod placement;

pub use every_sample::EverySampleFlags;
pub use limits::{LimitFlags, one_cycle};
pub use machine::{BoardFlag, InterfaceFlag, RootFlag, TargetFlags, cpus_of, needs_root, target, typed};
pub use measuring::MeasuringFlags;
pub use output::OutputFlags;
pub use pictures::PictureFlags;
pub use placement::{Cpu, Cpus, PlacementFlags, cpu, of_several, several, unnamed, why_there};

use ontick_units::{parse_duration, parse_interval, parse_time};

/// A time with its unit, in ns.
pub fn time(text: &str) -> Result<u64, String> {
    parse_time(text).map_err(|e| e.to_string())
}

/// How long something goes on, in ns: as above, with `m` for minutes.
pub fn duration(text: &str) -> Result<u64, String> {
    parse_duration(text).map_err(|e| e.to_string())
}

const ZERO_INTERVAL: &str = "an interval must be above 0";

/// An interval as a time or a rate, in ns.
pub fn interval(text: &str) -> Result<u64, String> {
    match parse_interval(text) {
        _ if text.trim() == "0" => Err(ZERO_INTERVAL.into()),
        Ok(0) => Err(ZERO_INTERVAL.into()),
        Err(_) if text.trim().parse::<f64>().is_ok_and(|number| number > 0.0) => {
            let number = text.trim();
            Err(format!("\"{number}\" has no unit (write {number}Hz, {number}us, {number}ms or {number}s)"))
        }
        other => other.map_err(|e| e.to_string()),
    }
}

/// A share in percent, as 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!("\"{text}\" is not a share above 0% and up to 100%")),
    }
}

/// A number of cycles, one of which may be beyond a bound: `1e9`, `1000000`.
pub fn once_in(text: &str) -> Result<u64, String> {
    match text.trim().parse::<f64>() {
        Ok(cycles) if (1e3..=1e15).contains(&cycles) => Ok(cycles.round() as u64),
        _ => Err(format!("\"{text}\" is not a number of cycles from 1e3 to 1e15 (write 1e9)")),
    }
}

/// Whole percent, with or without the sign.
pub fn whole_percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent: u64 = number.parse().map_err(|_| format!("\"{text}\" is not a whole number of percent"))?;
    // Whoever takes it knows how much is too much.
    Ok(percent.try_into().unwrap_or(u8::MAX))
}
