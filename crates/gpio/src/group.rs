//! Lines that are read at once.

use std::path::Path;

use crate::{Backend, Direction, Edges, Error, Gone, Name, Request, chardev, registers, sim};

/// Lines of one chip that this program has as inputs and reads together.
///
/// What one [`read`](Self::read) returns belongs together as far as the chip allows: simulated lines are caught in one
/// instant; a character device is asked once for all of them; of registers each bank (32 lines) is one load, and banks
/// are read one after the other.
#[derive(Debug)]
pub struct Group {
    names: Vec<Name>,
    /// Bits of lines that are high as the user sees it when the wire is low.
    inverted: u64,
    port: Port,
}

#[derive(Debug)]
enum Port {
    Sim(sim::Pins),
    Chardev(chardev::Pins),
    Registers(registers::Pins),
}

impl Group {
    /// The most lines of a group: one bit each.
    pub const MOST: usize = 64;

    /// Takes the lines, all of one chip. `request` is for every one of them, and for reading.
    pub fn open(names: &[Name], request: &Request) -> Result<Self, Error> {
        Self::open_under(Path::new("/"), names, request)
    }

    /// As [`Group::open`] of `reg:LINE` for each line, on a machine whose files are under `root`, as
    /// [`Line::open_register_under`](crate::Line::open_register_under).
    pub fn open_registers_under(root: &Path, lines: &[u32], request: &Request) -> Result<Self, Error> {
        let names: Vec<Name> = lines.iter().copied().map(Name::Register).collect();
        Self::open_under(root, &names, request)
    }

    fn open_under(root: &Path, names: &[Name], request: &Request) -> Result<Self, Error> {
        check(names, request)?;
        let wanted = request.on_the_wire();
        let port = match &names[0] {
            Name::Sim { chip, .. } => {
                let lines = lines_of(names, |name| sim_line(name, chip))?;
                Port::Sim(sim::Pins::open(names, chip, &lines, &wanted)?)
            }
            Name::Register(_) => {
                let lines = lines_of(names, register)?;
                Port::Registers(registers::Pins::open(names, root, &lines, &wanted)?)
            }
            Name::Pull { .. } => {
                let why = "what pulls a line is driven, not read: name the line itself".into();
                return Err(Error::NotFound { name: names[0].clone(), why });
            }
            Name::Chip { .. } | Name::Own(_) => {
                let (chip, _) = chardev_line(&names[0])?;
                let lines = names.iter().map(|name| match chardev_line(name)? {
                    (own, line) if own == chip => Ok(line),
                    _ => Err(elsewhere(name)),
                });
                let lines: Vec<u32> = lines.collect::<Result<_, _>>()?;
                Port::Chardev(chardev::Pins::open(names, &chip, &lines, &wanted)?)
            }
        };
        let inverted = if request.active_low { u64::MAX >> (Self::MOST - names.len()) } else { 0 };
        Ok(Self { names: names.to_vec(), inverted, port })
    }

    /// The names they were opened by, from bit 0 on.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// What is behind them.
    pub fn backend(&self) -> Backend {
        match &self.port {
            Port::Sim(_) => Backend::Simulated,
            Port::Chardev(_) => Backend::Chardev,
            Port::Registers(pins) => Backend::Registers(pins.board()),
        }
    }

    /// Their values as the user sees them: bit n is the line with name n. `EAGAIN` when simulated lines changed so
    /// often that no instant could be caught.
    #[inline]
    pub fn read(&mut self) -> Result<u64, Gone> {
        let levels = match &mut self.port {
            Port::Sim(pins) => pins.read()?,
            Port::Chardev(pins) => pins.read()?,
            Port::Registers(pins) => pins.read(),
        };
        Ok(levels ^ self.inverted)
    }
}

/// Refuses what no chip could do.
fn check(names: &[Name], request: &Request) -> Result<(), Error> {
    let Some(first) = names.first() else {
        return Err(Error::NotFound { name: Name::Own(String::new()), why: "a group without lines".into() });
    };
    let refuse = |what: &str| {
        Err(Error::Unsupported { name: first.clone(), backend: backend_of(first), what: format!("{what} as a group") })
    };
    if names.len() > Group::MOST {
        return refuse("be more than 64");
    }
    if matches!(request.direction, Direction::Output(_)) {
        return refuse("be driven");
    }
    if request.edges != Edges::None {
        return refuse("notify edges");
    }
    if request.debounce.is_some() {
        return refuse("be debounced");
    }
    match names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)) {
        Some((_, twice)) => Err(Error::NotFound { name: twice.clone(), why: "is in the group twice".into() }),
        None => Ok(()),
    }
}

/// What a refusal calls lines of this name; of registers it is not known yet which board's.
fn backend_of(name: &Name) -> Backend {
    match name {
        Name::Sim { .. } => Backend::Simulated,
        _ => Backend::Chardev,
    }
}

fn lines_of(names: &[Name], line: impl Fn(&Name) -> Option<u32>) -> Result<Vec<u32>, Error> {
    names.iter().map(|name| line(name).ok_or_else(|| elsewhere(name))).collect()
}

fn elsewhere(name: &Name) -> Error {
    Error::NotFound { name: name.clone(), why: "lines that are read at once must be of one chip".into() }
}

fn sim_line(name: &Name, wanted: &str) -> Option<u32> {
    match name {
        Name::Sim { chip, line } if chip == wanted => Some(*line),
        _ => None,
    }
}

fn register(name: &Name) -> Option<u32> {
    match name {
        Name::Register(line) => Some(*line),
        _ => None,
    }
}

fn chardev_line(name: &Name) -> Result<(String, u32), Error> {
    match name {
        Name::Chip { chip, line } => Ok((chip.clone(), *line)),
        Name::Own(own) => chardev::find(name, own),
        _ => Err(elsewhere(name)),
    }
}
