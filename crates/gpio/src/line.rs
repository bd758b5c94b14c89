//! An open line.

use std::path::Path;

use crate::pull::{self, Pull};
use crate::{Backend, Direction, Edge, Error, Gone, Name, OnExit, Request, chardev, registers, sim};

/// A line that this program has. Released, and an output left as was asked, when it is dropped.
#[derive(Debug)]
pub struct Line {
    name: Name,
    request: Request,
    port: Port,
}

#[derive(Debug)]
enum Port {
    Sim(Box<sim::Pin>),
    Chardev(chardev::Pin),
    Pull(Pull),
    Registers(registers::Pin),
}

impl Line {
    /// Takes the line.
    pub fn open(name: &Name, request: &Request) -> Result<Self, Error> {
        let wanted = request.on_the_wire();
        let port = match name {
            Name::Sim { chip, line } => Port::Sim(Box::new(sim::Pin::open(name, chip, *line, &wanted)?)),
            Name::Chip { chip, line } => Port::Chardev(chardev::Pin::open(name, chip, *line, &wanted)?),
            Name::Own(own) => {
                let (chip, line) = chardev::find(name, own)?;
                Port::Chardev(chardev::Pin::open(name, &chip, line, &wanted)?)
            }
            Name::Pull { chip, line } => Port::Pull(Pull::open(name, chip, *line, &wanted)?),
            Name::Register(line) => Port::Registers(registers::Pin::open(name, Path::new("/"), *line, &wanted)?),
        };
        Ok(Self { name: name.clone(), request: *request, port })
    }

    /// Whether the line could be had as an output now. Nothing is driven: of several lines each can be checked before the
    /// first one is.
    pub fn check_output(name: &Name) -> Result<(), Error> {
        match name {
            Name::Sim { chip, line } => sim::Pin::check_output(name, chip, *line),
            Name::Register(line) => registers::Pin::check_output(name, Path::new("/"), *line),
            // The kernel refuses a line that is in use, however it is asked for.
            Name::Chip { .. } | Name::Own(_) | Name::Pull { .. } => Self::open(name, &Request::as_is()).map(drop),
        }
    }

    /// As [`Line::check_output`] of `reg:LINE`, on such a machine as [`Line::open_register_under`] has.
    pub fn check_register_under(root: &Path, line: u32) -> Result<(), Error> {
        registers::Pin::check_output(&Name::Register(line), root, line)
    }

    /// As [`Line::open`] of `reg:LINE`, on a machine whose `/dev`, `/proc` and `/sys` are under `root`: for tests, and to
    /// tell what an access costs apart from the chip. Files of the size of the registers do for devices.
    pub fn open_register_under(root: &Path, line: u32, request: &Request) -> Result<Self, Error> {
        let name = Name::Register(line);
        let pin = registers::Pin::open(&name, root, line, &request.on_the_wire())?;
        Ok(Self { name, request: *request, port: Port::Registers(pin) })
    }

    /// The name it was opened by.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// What is behind it.
    pub fn backend(&self) -> Backend {
        match &self.port {
            Port::Sim(_) => Backend::Simulated,
            Port::Chardev(_) => Backend::Chardev,
            Port::Pull(_) => Backend::GpioSim,
            Port::Registers(pin) => Backend::Registers(pin.board()),
        }
    }

    /// Drives it to `value`, as the user sees it.
    #[inline]
    pub fn write(&mut self, value: bool) -> Result<(), Gone> {
        let value = value != self.request.active_low;
        match &mut self.port {
            Port::Sim(pin) => {
                pin.write(value);
                Ok(())
            }
            Port::Chardev(pin) => pin.write(value),
            Port::Pull(pull) => pull.write(value),
            Port::Registers(pin) => {
                pin.write(value);
                Ok(())
            }
        }
    }

    /// Its value, as the user sees it.
    #[inline]
    pub fn read(&mut self) -> Result<bool, Gone> {
        let value = match &mut self.port {
            Port::Sim(pin) => pin.read(),
            Port::Chardev(pin) => pin.read()?,
            Port::Pull(pull) => pull.read()?,
            Port::Registers(pin) => pin.read(),
        };
        Ok(value != self.request.active_low)
    }

    /// Returns once what was written has reached the chip: a write to registers may still be on its way when it
    /// returns (see [`registers`]).
    #[inline]
    pub fn flush(&mut self) -> Result<(), Gone> {
        match &mut self.port {
            Port::Sim(_) | Port::Chardev(_) | Port::Pull(_) => {}
            Port::Registers(pin) => pin.flush(),
        }
        Ok(())
    }

    /// The next edge that was asked for, waiting for it until `deadline_ns` on the monotonic clock (0: not
    /// at all). `None` when there was none till then.
    pub fn edge(&mut self, deadline_ns: u64) -> Result<Option<Edge>, Gone> {
        let edge = match &mut self.port {
            Port::Sim(pin) => pin.edge(deadline_ns),
            Port::Chardev(pin) => pin.edge(deadline_ns)?,
            // What pulls a line does not learn of edges.
            Port::Pull(_) => {
                ontick_rt::clock::ClockId::Monotonic.sleep_until(deadline_ns);
                None
            }
            Port::Registers(pin) => {
                pin.edge(deadline_ns);
                None
            }
        };
        Ok(edge.map(|edge| Edge { rising: edge.rising != self.request.active_low, ..edge }))
    }
}

/// What of a line is simulated, if anything is: by ontick in shared memory, or by the kernel.
pub fn simulated_by(name: &Name) -> Option<&'static str> {
    let of_gpio_sim = |chip: &str| pull::simulated(chip).map(|_| "the kernel's gpio-sim");
    match name {
        Name::Sim { .. } => Some("shared memory"),
        Name::Pull { .. } => Some("the kernel's gpio-sim"),
        Name::Chip { chip, .. } => of_gpio_sim(chip),
        Name::Own(own) => chardev::find(name, own).ok().and_then(|(chip, _)| of_gpio_sim(&chip)),
        Name::Register(_) => None,
    }
}

/// What of these lines is simulated, for the reader of the figures.
pub fn simulation_note(lines: &[&Name]) -> Option<String> {
    let by = |simulator: &str| {
        let of_it = lines.iter().filter(|name| simulated_by(name) == Some(simulator));
        let names: Vec<String> = of_it.map(ToString::to_string).collect();
        let word = if names.len() == 1 { "line" } else { "lines" };
        (!names.is_empty()).then(|| format!("{word} {} in {simulator}", names.join(", ")))
    };
    let reported: Vec<String> = ["shared memory", "the kernel's gpio-sim"].into_iter().filter_map(by).collect();
    (!reported.is_empty()).then(|| reported.join("; "))
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Direction::Output(_) = self.request.direction {
            // A line that is gone cannot be left in any state.
            let _ = match self.request.on_exit {
                OnExit::Keep => Ok(()),
                OnExit::Low => self.write(false),
                OnExit::High => self.write(true),
                OnExit::Input => match &mut self.port {
                    Port::Sim(pin) => {
                        pin.let_go();
                        Ok(())
                    }
                    Port::Registers(pin) => {
                        pin.let_go();
                        Ok(())
                    }
                    Port::Chardev(pin) => pin.let_go(),
                    // Something always pulls.
                    Port::Pull(_) => Ok(()),
                },
            };
        }
    }
}
