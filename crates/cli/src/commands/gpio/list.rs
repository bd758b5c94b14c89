//! `ontick gpio list`

use std::str::FromStr;

use clap::Args;
use ontick_gpio::list::{self, Chip, ChipName, LineInfo};
use ontick_gpio::{Bias, LookError, Name};
use ontick_report::printable;
use serde::Serialize;

use super::{render, wire};
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Show chips and lines: names, directions, users, levels; requests no line, changes nothing.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick gpio list                 every chip, with the lines that are in use\n  ontick gpio list gpiochip0       all lines of a chip\n  ontick gpio list reg             all lines of the board's registers\n  ontick gpio list GPIO17 --json"
)]
pub struct List {
    /// Only this chip with all its lines, or only this line
    #[arg(value_name = "CHIP|LINE")]
    only: Option<Only>,
    /// Print JSON (always with all lines)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone)]
enum Only {
    Chip(ChipName),
    Line(Name),
}

impl FromStr for Only {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(chip) = text.parse() {
            return Ok(Only::Chip(chip));
        }
        text.parse().map(Only::Line).map_err(|error: ontick_gpio::NameError| error.to_string())
    }
}

/// A chip, or why it could not be looked at, and the line that alone is wanted.
struct Looked {
    name: ChipName,
    chip: Result<Chip, LookError>,
    only: Option<u32>,
}

impl Looked {
    fn wanted<'a>(&self, chip: &'a Chip) -> impl Iterator<Item = &'a LineInfo> {
        let only = self.only;
        chip.lines.iter().filter(move |info| only.is_none_or(|line| place_of(info) == line))
    }
}

impl List {
    pub fn run(self) -> Result<Outcome, Failure> {
        let chips: Vec<Looked> = match &self.only {
            None => list::names().into_iter().map(looked).collect(),
            Some(Only::Chip(name)) => vec![Looked { name: name.clone(), chip: Ok(look(name)?), only: None }],
            Some(Only::Line(name)) => vec![the_line(name)?],
        };
        if self.json {
            render::document(&chips.iter().map(of_chip).collect::<Vec<_>>())?;
        } else {
            terminal::print(&text(&chips, self.only.is_some()))?;
        }
        Ok(Outcome::Met)
    }
}

fn looked(name: ChipName) -> Looked {
    Looked { chip: list::chip(&name), name, only: None }
}

fn look(name: &ChipName) -> Result<Chip, Failure> {
    list::chip(name).map_err(|why| Failure::new(format!("{name}: {why}")))
}

/// The line's chip, of which this line alone is wanted.
fn the_line(name: &Name) -> Result<Looked, Failure> {
    let Some((chip_name, line)) = list::place(name)? else {
        return Err(Failure::new(format!(
            "line {name}: not on a chip that could be listed (ontick gpio get reads it)"
        )));
    };
    let chip = look(&chip_name)?;
    let lines = chip.lines.len() as u32;
    if line >= lines {
        let (name, last) = (name.clone(), lines.saturating_sub(1));
        return Err(ontick_gpio::Error::NoSuchLine { name, chip: chip_name.to_string(), last }.into());
    }
    Ok(Looked { name: chip_name, chip: Ok(chip), only: Some(line) })
}

fn place_of(info: &LineInfo) -> u32 {
    match info.name {
        Name::Sim { line, .. } | Name::Chip { line, .. } | Name::Pull { line, .. } | Name::Register(line) => line,
        Name::Own(_) => u32::MAX,
    }
}

fn text(chips: &[Looked], all: bool) -> String {
    if chips.is_empty() {
        return "No GPIO chip here. A simulated one is made when it is used: ontick gpio wire sim:bench/4 sim:bench/17\n"
            .into();
    }
    chips.iter().map(|looked| chip_text(looked, all)).collect()
}

fn chip_text(looked: &Looked, all: bool) -> String {
    let name = &looked.name;
    let chip = match &looked.chip {
        Ok(chip) => chip,
        Err(why) => return format!("{name}  {why}\n"),
    };
    let label = chip.label.as_ref().map(|label| format!("{}, ", printable(label))).unwrap_or_default();
    let lines: Vec<&LineInfo> = looked.wanted(chip).filter(|info| all || is_of_note(info)).collect();
    let count = match chip.lines.len() {
        1 => "1 line".into(),
        lines => format!("{lines} lines"),
    };
    let mut text = format!("{name}  {label}{count}{}\n", render::note(name.backend()));
    let own = |info: &LineInfo| info.own.as_deref().map(printable).unwrap_or_default();
    let width = lines.iter().map(|info| own(info).chars().count()).max().unwrap_or(0);
    for info in lines {
        let direction = if info.output { "output" } else { "input" };
        let level = info.level.map_or("", |level| if level { "high" } else { "low" });
        let row = format!(
            "  {:>3}  {:<width$}  {direction:<6}  {level:<4}  {}",
            place_of(info),
            own(info),
            printable(&remarks(info))
        );
        text += row.trim_end();
        text += "\n";
    }
    text
}

/// Lines that somebody does something with.
fn is_of_note(info: &LineInfo) -> bool {
    info.in_use || info.output || info.wire.is_some()
}

fn remarks(info: &LineInfo) -> String {
    let mut remarks = Vec::new();
    if info.in_use {
        remarks.push(format!("used by {}", info.consumer.as_deref().unwrap_or("somebody without a name")));
    }
    if info.active_low {
        remarks.push("active-low".into());
    }
    if info.bias != Bias::AsIs {
        remarks.push(format!("bias {}", info.bias));
    }
    if let Some((other, how)) = &info.wire {
        remarks.push(format!("wired to {other}{}", wire::properties(*how)));
    }
    remarks.join(", ")
}

/// A chip in JSON.
#[derive(Serialize)]
struct ChipShown<'a> {
    chip: String,
    backend: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    lines: Vec<LineShown<'a>>,
}

/// A line in JSON.
#[derive(Serialize)]
struct LineShown<'a> {
    line: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    direction: &'static str,
    active_low: bool,
    bias: &'static str,
    /// On the wire; missing where only who takes the line is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<u8>,
    in_use: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wire: Option<WireShown>,
}

#[derive(Serialize)]
struct WireShown {
    to: String,
    delay_ns: u32,
    jitter_ns: u32,
    dead_time_ns: u32,
    loss_ppm: u32,
}

fn of_chip(looked: &Looked) -> ChipShown<'_> {
    let (name, chip) = (&looked.name, looked.chip.as_ref().ok());
    ChipShown {
        chip: name.to_string(),
        backend: name.backend(),
        label: chip.and_then(|chip| chip.label.as_deref()),
        error: looked.chip.as_ref().err().map(ToString::to_string),
        lines: chip.map(|chip| looked.wanted(chip).map(of_line).collect()).unwrap_or_default(),
    }
}

fn of_line(info: &LineInfo) -> LineShown<'_> {
    let wire = info.wire.as_ref().map(|(to, how)| WireShown {
        to: to.to_string(),
        delay_ns: how.delay_ns,
        jitter_ns: how.jitter_ns,
        dead_time_ns: how.dead_time_ns,
        loss_ppm: how.loss_ppm,
    });
    LineShown {
        line: info.name.to_string(),
        name: info.own.as_deref(),
        direction: if info.output { "output" } else { "input" },
        active_low: info.active_low,
        bias: info.bias.name(),
        level: info.level.map(u8::from),
        in_use: info.in_use,
        consumer: info.consumer.as_deref(),
        wire,
    }
}
