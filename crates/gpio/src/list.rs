//! Which chips and lines there are, looked at without taking any.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::{Backend, Bias, Error, LookError, Name, NameError, chardev, registers, sim};

/// A chip's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChipName {
    /// `sim:CHIP`: simulated.
    Sim(String),
    /// `gpiochip0`: a character device.
    Device(String),
    /// `reg`: the board's own registers.
    Registers,
}

/// A chip and its lines.
#[derive(Debug, Clone)]
pub struct Chip {
    /// Its name.
    pub name: ChipName,
    /// What its driver calls it.
    pub label: Option<String>,
    /// Its lines in order.
    pub lines: Vec<LineInfo>,
}

/// What is known of a line that nobody had to take for it.
#[derive(Debug, Clone)]
pub struct LineInfo {
    /// Its name as CHIP and number.
    pub name: Name,
    /// The name that the board's description gives it.
    pub own: Option<String>,
    /// Whether it is an output.
    pub output: bool,
    /// Its user's high is the wire's low.
    pub active_low: bool,
    /// What holds it, where that is known.
    pub bias: Bias,
    /// Its level on the wire. A character device tells it only to whoever takes the line.
    pub level: Option<bool>,
    /// Whether somebody has it.
    pub in_use: bool,
    /// Who.
    pub consumer: Option<String>,
    /// Of a simulated line: the line that it is wired to, and how.
    pub wire: Option<(Name, sim::Wire)>,
}

/// Every chip of this machine, the kernel's first. The board's registers, which show the lines of a chip of the kernel a
/// second time, are not among them.
pub fn names() -> Vec<ChipName> {
    let simulated = sim::list().unwrap_or_default();
    chardev::chips().into_iter().map(ChipName::Device).chain(simulated.into_iter().map(ChipName::Sim)).collect()
}

/// Looks at a chip.
pub fn chip(name: &ChipName) -> Result<Chip, LookError> {
    match name {
        ChipName::Sim(chip) => {
            let lines = sim::line_states(chip)?;
            let lines = lines.into_iter().map(|line| simulated(chip, line)).collect();
            Ok(Chip { name: name.clone(), label: None, lines })
        }
        ChipName::Device(chip) => {
            let (label, lines) = chardev::line_states(chip)?;
            let lines = (0..).zip(lines).map(|(line, state)| of_device(chip, line, state)).collect();
            Ok(Chip { name: name.clone(), label: Some(label).filter(|label| !label.is_empty()), lines })
        }
        ChipName::Registers => {
            let (board, lines) = registers::pin_states(Path::new("/"))?;
            let lines = lines.into_iter().map(of_registers).collect();
            Ok(Chip { name: name.clone(), label: Some(format!("registers of the {board}")), lines })
        }
    }
}

/// The chip and number of a line, if it is on a chip.
pub fn place(name: &Name) -> Result<Option<(ChipName, u32)>, Error> {
    Ok(match name {
        Name::Sim { chip, line } => Some((ChipName::Sim(chip.clone()), *line)),
        Name::Chip { chip, line } | Name::Pull { chip, line } => Some((ChipName::Device(chip.clone()), *line)),
        Name::Own(own) => chardev::find(name, own).map(|(chip, line)| Some((ChipName::Device(chip), line)))?,
        Name::Register(line) => Some((ChipName::Registers, *line)),
    })
}

fn simulated(chip: &str, line: sim::LineState) -> LineInfo {
    let named = |line| Name::Sim { chip: chip.into(), line };
    LineInfo {
        name: named(line.line),
        own: None,
        output: line.driven,
        active_low: false,
        bias: Bias::AsIs,
        level: Some(line.level),
        in_use: line.owner.is_some(),
        consumer: line.owner,
        wire: line.wire.map(|(other, wire)| (named(other), wire)),
    }
}

fn of_device(chip: &str, line: u32, state: chardev::LineState) -> LineInfo {
    let chardev::LineState { own, output, active_low, bias, in_use, consumer } = state;
    let name = Name::Chip { chip: chip.into(), line };
    LineInfo { name, own, output, active_low, bias, level: None, in_use, consumer, wire: None }
}

fn of_registers(state: registers::PinState) -> LineInfo {
    let registers::PinState { line, output, function, level } = state;
    LineInfo {
        name: Name::Register(line),
        own: None,
        output,
        active_low: false,
        bias: Bias::AsIs,
        level,
        in_use: function.is_some(),
        consumer: function.map(|function| format!("the board itself ({function})")),
        wire: None,
    }
}

impl ChipName {
    /// What is behind it.
    pub fn backend(&self) -> &'static str {
        match self {
            ChipName::Sim(_) => Backend::Simulated.name(),
            ChipName::Device(_) => Backend::Chardev.name(),
            ChipName::Registers => "registers",
        }
    }
}

impl FromStr for ChipName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let text = text.strip_prefix("/dev/").unwrap_or(text);
        let chip = text.strip_prefix("sim:").unwrap_or(text);
        match crate::name::is_chip(chip) {
            true if text == "reg" => Ok(ChipName::Registers),
            true if chip != text => Ok(ChipName::Sim(chip.into())),
            true if chip.starts_with("gpiochip") => Ok(ChipName::Device(chip.into())),
            _ => Err(NameError::no_chip(text)),
        }
    }
}

impl fmt::Display for ChipName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ChipName::Sim(chip) => write!(f, "sim:{chip}"),
            ChipName::Device(chip) => f.write_str(chip),
            ChipName::Registers => f.write_str("reg"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_distinguished_from_lines() {
        for (text, chip) in [
            ("sim:bench", ChipName::Sim("bench".into())),
            ("gpiochip12", ChipName::Device("gpiochip12".into())),
            ("reg", ChipName::Registers),
        ] {
            assert_eq!(text.parse(), Ok(chip.clone()));
            assert_eq!(chip.to_string(), text);
        }
        for text in ["sim:bench/4", "sim:", "sim:../x", "gpiochip0:3", "GPIO17", "reg:4", "", "sim:a b"] {
            assert!(text.parse::<ChipName>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_simulated_chip_is_listed_with_its_wires_and_users() {
        let chip = format!("test-list-{}", std::process::id());
        let line = |line| Name::Sim { chip: chip.clone(), line };
        let wire = sim::Wire { delay_ns: 5, ..sim::Wire::default() };
        sim::wire(&line(4), &line(17), wire).unwrap();
        let out = crate::Line::open(&line(4), &crate::Request::output(true)).unwrap();
        let name = ChipName::Sim(chip.clone());
        let seen = super::chip(&name).unwrap();
        let (four, seventeen) = (&seen.lines[4], &seen.lines[17]);
        assert!(names().contains(&name));
        assert!(four.output && four.in_use && four.level == Some(true));
        assert!(four.consumer.as_ref().unwrap().contains(&std::process::id().to_string()));
        assert_eq!((seventeen.output, seventeen.in_use), (false, false));
        assert_eq!(seventeen.wire, Some((line(4), wire)));
        drop(out);
        sim::remove(&chip).unwrap();
        assert!(!names().contains(&name) && super::chip(&name).is_err());
    }
}
