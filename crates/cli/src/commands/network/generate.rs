//! `ontick network generate`

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use ontick_record::store;
use ontick_tsn::generate::{Shape, Wanted, generate, text};
use ontick_tsn::network::{LARGEST_SIZE, LONGEST_PERIOD_NS, RATES};
use ontick_units::{exact, parse_bit_rate, show_bit_rate};

use crate::failure::{Failure, Outcome};
use crate::{flags, terminal};

/// The longest delay of a cable or a node, as in the file.
const LONGEST_DELAY_NS: u64 = 1_000_000_000;

/// Draw a network with its streams by chance, as a file that `network plan` takes.
///
/// The same options give the same file on every machine; it begins with them. Talkers and listeners are stations, each as
/// likely, and so are periods of the list and sizes and deadlines of their ranges. A stream that could not keep its
/// deadline were it alone, or that would load a link of the shortest path beyond --load, is drawn anew.
///
/// Exit status: 0 drawn, 2 there is no room for so many streams.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick network generate --out network.toml\n  ontick network generate --shape mesh --switches 20 --stations 40 \\\n      --streams 500 --deadline 20%..100% --seed 7 --out network.toml\n  ontick network generate --shape line --rate 100Mbit --period 1ms,2ms \\\n      --size 64..1500 --load 40% --out network.toml"
)]
pub struct Generate {
    /// How switches are connected
    #[arg(long, value_enum, default_value = "ring")]
    shape: ShapeName,
    /// How many switches, up to 1000
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    switches: u32,
    /// How many stations in all, up to 2000, dealt to the switches in turn [default: one for each switch; in a star, none in
    /// the middle]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=2_000))]
    stations: Option<u32>,
    /// How many streams, up to 100000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    streams: u32,
    /// Listeners of each stream: a number, or a range such as 1..3
    #[arg(long, value_name = "RANGE", default_value = "1", value_parser = listeners)]
    listeners: Span<u32>,
    /// Periods, one of which each stream has
    #[arg(long, value_name = "LIST", default_value = "500us,1ms,2ms,4ms", value_delimiter = ',', value_parser = period)]
    period: Vec<u64>,
    /// Octets of data of a message: a number, or a range
    #[arg(long, value_name = "RANGE", default_value = "100..500", value_parser = size)]
    size: Span<u32>,
    /// Deadlines as a share of the period: whole percent, or a range such as 50%..100%
    #[arg(long, value_name = "RANGE", default_value = "100%", value_parser = deadline)]
    deadline: Span<u8>,
    /// What streams take of the fullest link's time at most, on shortest paths: whole percent
    #[arg(long, value_name = "SHARE", default_value = "100%", value_parser = percent)]
    load: u8,
    /// Rate of all links
    #[arg(long, value_name = "RATE", default_value = "1Gbit", value_parser = rate)]
    rate: u64,
    /// Of each cable, from connector to connector
    #[arg(long, value_name = "TIME", default_value = "50ns", value_parser = delay)]
    propagation: u64,
    /// From a frame's last bit until a node can send it on
    #[arg(long, value_name = "TIME", default_value = "2us", value_parser = delay)]
    processing: u64,
    /// Another seed draws another network
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the file here, in place of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShapeName {
    /// One behind the other
    Line,
    /// The same, and the last is connected with the first
    Ring,
    /// Each has two below it
    Tree,
    /// All with one in the middle, which has no station
    Star,
    /// Two rings through all, the second in an order by chance: four neighbours each
    Mesh,
}

impl From<ShapeName> for Shape {
    fn from(name: ShapeName) -> Self {
        match name {
            ShapeName::Line => Shape::Line,
            ShapeName::Ring => Shape::Ring,
            ShapeName::Tree => Shape::Tree,
            ShapeName::Star => Shape::Star,
            ShapeName::Mesh => Shape::Mesh,
        }
    }
}

/// A range with both its ends, in which each number is as likely.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span<T>(RangeInclusive<T>);

impl<T: Display + PartialEq> Span<T> {
    fn in_words(&self, unit: &str) -> String {
        let (least, most) = (self.0.start(), self.0.end());
        if least == most { format!("{least}{unit}") } else { format!("{least}{unit}..{most}{unit}") }
    }
}

impl Generate {
    pub fn run(self) -> Result<Outcome, Failure> {
        let network = generate(&self.wanted()).map_err(Failure::new)?;
        let text = format!("# {}\n{}", self.command(), text(&network));
        match &self.out {
            Some(path) => store::write_whole(path, text.as_bytes())?,
            None => terminal::print(&text)?,
        }
        Ok(Outcome::Met)
    }

    fn wanted(&self) -> Wanted {
        let (least, most) = (*self.listeners.0.start() as usize, *self.listeners.0.end() as usize);
        Wanted {
            shape: self.shape.into(),
            switches: self.switches as usize,
            stations: self.stations.map(|stations| stations as usize),
            streams: self.streams as usize,
            listeners: least..=most,
            periods_ns: self.period.clone(),
            sizes: self.size.0.clone(),
            deadlines: self.deadline.0.clone(),
            load: self.load,
            rate: self.rate,
            propagation_ns: self.propagation,
            processing_ns: self.processing,
            seed: self.seed,
        }
    }

    /// The words that draw this network, also where defaults become others.
    fn command(&self) -> String {
        let shape = self.shape.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let periods: Vec<String> = self.period.iter().map(|ns| exact(*ns)).collect();
        let words = [
            ("shape", shape),
            ("switches", self.switches.to_string()),
            ("stations", self.wanted().stations().to_string()),
            ("streams", self.streams.to_string()),
            ("listeners", self.listeners.in_words("")),
            ("period", periods.join(",")),
            ("size", self.size.in_words("")),
            ("deadline", self.deadline.in_words("%")),
            ("load", format!("{}%", self.load)),
            ("rate", show_bit_rate(self.rate)),
            ("propagation", exact(self.propagation)),
            ("processing", exact(self.processing)),
            ("seed", self.seed.to_string()),
        ];
        words.iter().fold("ontick network generate".into(), |text, (name, value)| format!("{text} --{name} {value}"))
    }
}

/// A number, or two with `..` between them, both from a range.
fn span<T: Copy + Display + PartialOrd + FromStr>(
    text: &str,
    within: RangeInclusive<T>,
    one: impl Fn(&str) -> Option<T>,
    unit: &str,
) -> Result<Span<T>, String> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (within.start(), within.end());
    let wrong = || {
        format!(
            "\"{text}\" is neither a number nor a range from {from}{unit} to {to}{unit} (write {from}{unit}..{to}{unit})"
        )
    };
    let read = |text: &str| one(text.trim()).filter(|number| within.contains(number)).ok_or_else(wrong);
    match (read(least)?, read(most)?) {
        (least, most) if least > most => Err(format!("\"{text}\": the lower end comes first")),
        (least, most) => Ok(Span(least..=most)),
    }
}

fn listeners(text: &str) -> Result<Span<u32>, String> {
    span(text, 1..=1_999, |number| number.parse().ok(), "")
}

fn size(text: &str) -> Result<Span<u32>, String> {
    span(text, 1..=LARGEST_SIZE as u32, |number| number.parse().ok(), "")
}

fn deadline(text: &str) -> Result<Span<u8>, String> {
    span(text, 1..=100, |share| flags::whole_percent(share).ok(), "%")
}

fn percent(text: &str) -> Result<u8, String> {
    match flags::whole_percent(text)? {
        percent @ 1..=100 => Ok(percent),
        _ => Err(format!("\"{text}\" is not from 1% to 100%")),
    }
}

fn period(text: &str) -> Result<u64, String> {
    match flags::time(text)? {
        0 => Err("a period must be above 0".into()),
        ns if ns > LONGEST_PERIOD_NS => Err(format!("\"{text}\" is more than a minute")),
        ns => Ok(ns),
    }
}

fn delay(text: &str) -> Result<u64, String> {
    match flags::time(text)? {
        ns if ns > LONGEST_DELAY_NS => Err(format!("\"{text}\" is more than a second")),
        ns => Ok(ns),
    }
}

fn rate(text: &str) -> Result<u64, String> {
    match parse_bit_rate(text).map_err(|error| error.to_string())? {
        rate if RATES.contains(&rate) => Ok(rate),
        _ => Err(format!("\"{text}\" is not from 1Mbit to 1000Gbit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_number_or_two_in_order() {
        assert_eq!(size("64"), Ok(Span(64..=64)));
        assert_eq!(size("64..1500"), Ok(Span(64..=1_500)));
        assert_eq!(deadline("50%..100%"), Ok(Span(50..=100)));
        assert_eq!(deadline("50..100"), Ok(Span(50..=100)));
        assert_eq!(
            (size("64..1500").unwrap().in_words(""), deadline("9").unwrap().in_words("%")),
            ("64..1500".into(), "9%".into())
        );
        let said = |result: Result<Span<u32>, String>| result.unwrap_err();
        assert_eq!(said(size("500..100")), "\"500..100\": the lower end comes first");
        for wrong in ["0..5", "5..", "..5", "5-9", "1..1500001", ""] {
            let ends = "is neither a number nor a range from 1 to 1500000 (write 1..1500000)";
            assert_eq!(said(size(wrong)), format!("\"{wrong}\" {ends}"));
        }
        assert!(deadline("101%").is_err() && percent("0%").is_err() && percent("300%").is_err());
        assert!(period("0s").is_err() && period("61s").is_err() && delay("2s").is_err() && rate("100kbit").is_err());
    }
}
