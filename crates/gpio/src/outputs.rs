//! Lines that are driven at once.

use std::path::Path;

use crate::pull::Pull;
use crate::{Backend, Direction, Error, Gone, Line, Name, OnExit, Request, chardev, registers, sim};

/// Lines of any chips that this program drives together. Released, and left as was asked, when they are dropped.
///
/// What one [`write`](Self::write) changes is changed together as far as the chips allow: simulated lines at one time;
/// those of a character device by one request; of registers each bank (32 lines) by a store for those that become high and
/// one for those that become low. Chips follow each other.
///
/// ```
/// use ontick_gpio::{Group, Outputs, Request, sim};
/// # let name = format!("sim:doc-outputs-{}", std::process::id());
/// # let lines = [4, 5].map(|line| format!("{name}/{line}").parse().unwrap());
/// let mut outputs = Outputs::open(&lines, 0b01, &Request::output(false))?;
/// outputs.write(0b10, 0b11).unwrap();
/// assert_eq!(Group::open(&lines, &Request::as_is())?.read().unwrap(), 0b10);
/// # sim::remove(&name[4..])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Outputs {
    names: Vec<Name>,
    request: Request,
    parts: Vec<Part>,
}

/// Lines that are changed at once.
#[derive(Debug)]
struct Part {
    /// Their places among the names.
    places: Vec<usize>,
    port: Port,
}

#[derive(Debug)]
enum Port {
    Sim(sim::OutputPins),
    Chardev(chardev::OutputPins),
    Registers(registers::OutputPins),
    Pull(Pull),
}

/// Where a line is: those of one place are changed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Sim,
    Chardev(String),
    Registers,
    /// Each alone.
    Pull(usize),
}

impl Outputs {
    /// The most lines: one bit each.
    pub const MOST: usize = 64;

    /// Takes the lines. Bit n of `levels` is the first level of the nth, as the user sees it; bias, levels on the wire and what
    /// is left behind are those of `request`. None is driven before all of them were looked at.
    pub fn open(names: &[Name], levels: u64, request: &Request) -> Result<Self, Error> {
        Self::open_under(Path::new("/"), names, levels, request)
    }

    /// As [`Outputs::open`] of `reg:LINE` for each line, on a machine whose files are under `root`, as
    /// [`Line::open_register_under`].
    pub fn open_registers_under(root: &Path, lines: &[u32], levels: u64, request: &Request) -> Result<Self, Error> {
        let names: Vec<Name> = lines.iter().copied().map(Name::Register).collect();
        Self::open_under(root, &names, levels, request)
    }

    fn open_under(root: &Path, names: &[Name], levels: u64, request: &Request) -> Result<Self, Error> {
        let found = names.iter().enumerate().map(|(n, name)| found(n, name)).collect::<Result<Vec<_>, _>>()?;
        check(names, &found)?;
        if root == Path::new("/") {
            names.iter().try_for_each(Line::check_output)?;
        }
        let request = Request { direction: Direction::Output(false), ..*request };
        let levels = if request.active_low { !levels } else { levels };
        // Those that were taken are left as was asked, also where the next cannot be had.
        let mut outputs = Self { names: names.to_vec(), request, parts: Vec::new() };
        for (place, _) in &found {
            let places: Vec<usize> = (0..names.len()).filter(|n| found[*n].0 == *place).collect();
            if outputs.parts.iter().any(|part| part.places == places) {
                continue;
            }
            let (first, request) = (gathered(&places, levels), Request { active_low: false, ..request });
            let of_all = || places.iter().map(|n| (&names[*n], found[*n].1));
            let port = match place {
                Place::Sim => {
                    let lines: Vec<_> =
                        of_all().filter_map(|(name, line)| Some((name, sim_chip(name)?, line))).collect();
                    Port::Sim(sim::OutputPins::open(&lines, first, &request)?)
                }
                Place::Chardev(chip) => {
                    let (names, lines): (Vec<&Name>, Vec<u32>) = of_all().unzip();
                    Port::Chardev(chardev::OutputPins::open(&names, chip, &lines, first, &request)?)
                }
                Place::Registers => {
                    let lines: Vec<_> = of_all().collect();
                    Port::Registers(registers::OutputPins::open(root, &lines, first, &request)?)
                }
                Place::Pull(n) => {
                    let request = Request { direction: Direction::Output(first & 1 == 1), ..request };
                    Port::Pull(Pull::open(&names[*n], pull_chip(&names[*n]), found[*n].1, &request)?)
                }
            };
            outputs.parts.push(Part { places, port });
        }
        Ok(outputs)
    }

    /// The names they were opened by, from bit 0 on.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// What is behind them, each once.
    pub fn backends(&self) -> Vec<Backend> {
        let mut backends = Vec::new();
        for part in &self.parts {
            let backend = match &part.port {
                Port::Sim(_) => Backend::Simulated,
                Port::Chardev(_) => Backend::Chardev,
                Port::Registers(pins) => Backend::Registers(pins.board()),
                Port::Pull(_) => Backend::GpioSim,
            };
            if !backends.contains(&backend) {
                backends.push(backend);
            }
        }
        backends
    }

    /// Drives the lines of `changed` to their `levels`, as the user sees them: bit n is the line with name n. Where one no
    /// longer answers, its place among the names comes with what it answered.
    #[inline]
    pub fn write(&mut self, levels: u64, changed: u64) -> Result<(), (usize, Gone)> {
        let levels = if self.request.active_low { !levels } else { levels };
        for part in &mut self.parts {
            let changed = gathered(&part.places, changed);
            if changed == 0 {
                continue;
            }
            let levels = gathered(&part.places, levels);
            let written = match &mut part.port {
                Port::Sim(pins) => {
                    pins.write(levels, changed);
                    Ok(())
                }
                Port::Chardev(pins) => pins.write(levels, changed),
                Port::Registers(pins) => {
                    pins.write(levels, changed);
                    Ok(())
                }
                Port::Pull(pull) => pull.write(levels & 1 == 1),
            };
            written.map_err(|gone| (part.places[0], gone))?;
        }
        Ok(())
    }

    fn let_go(&mut self) {
        for part in &mut self.parts {
            match &mut part.port {
                Port::Sim(pins) => pins.let_go(),
                // A line that is gone cannot be left in any state.
                Port::Chardev(pins) => drop(pins.let_go()),
                Port::Registers(pins) => pins.let_go(),
                // Something always pulls.
                Port::Pull(_) => {}
            }
        }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        match self.request.on_exit {
            OnExit::Keep => {}
            OnExit::Low => drop(self.write(0, u64::MAX)),
            OnExit::High => drop(self.write(u64::MAX, u64::MAX)),
            OnExit::Input => self.let_go(),
        }
    }
}

/// The bits at these places, one behind the other.
#[inline]
fn gathered(places: &[usize], bits: u64) -> u64 {
    places.iter().enumerate().fold(0, |all, (n, place)| all | (bits >> place & 1) << n)
}

fn found(n: usize, name: &Name) -> Result<(Place, u32), Error> {
    Ok(match name {
        Name::Sim { line, .. } => (Place::Sim, *line),
        Name::Register(line) => (Place::Registers, *line),
        Name::Pull { line, .. } => (Place::Pull(n), *line),
        Name::Chip { chip, line } => (Place::Chardev(chip.clone()), *line),
        Name::Own(own) => {
            let (chip, line) = chardev::find(name, own)?;
            (Place::Chardev(chip), line)
        }
    })
}

fn sim_chip(name: &Name) -> Option<&str> {
    match name {
        Name::Sim { chip, .. } => Some(chip),
        _ => None,
    }
}

fn pull_chip(name: &Name) -> &str {
    match name {
        Name::Pull { chip, .. } => chip,
        _ => "",
    }
}

/// Refuses what no chips could do.
fn check(names: &[Name], found: &[(Place, u32)]) -> Result<(), Error> {
    let Some(first) = names.first() else {
        return Err(Error::NotFound {
            name: Name::Own(String::new()),
            why: "no line is named that is to be driven".into(),
        });
    };
    if names.len() > Outputs::MOST {
        return Err(Error::NotFound { name: first.clone(), why: "at most 64 lines are driven together".into() });
    }
    let same = |n: usize, other: usize| {
        names[n] == names[other] || found[n] == found[other] && matches!(found[n].0, Place::Chardev(_))
    };
    match (1..names.len()).find(|n| (0..*n).any(|other| same(*n, other))) {
        Some(twice) => Err(Error::NotFound { name: names[twice].clone(), why: "is to be driven twice".into() }),
        None => Ok(()),
    }
}
