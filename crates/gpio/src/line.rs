//! An open line.

use std::fmt;

use crate::{Direction, Edge, Error, Gone, Name, OnExit, Request, chardev, sim};

/// What is behind a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A chip in shared memory: its figures say nothing about a board.
    Simulated,
    /// The kernel's character device.
    Chardev,
}

impl Backend {
    /// The name in records and beside every figure.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Simulated => "simulated",
            Backend::Chardev => "character device",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A line that this program has. Released, and an output left as was asked, when it is dropped.
#[derive(Debug)]
pub struct Line {
    name: Name,
    request: Request,
    port: Port,
}

#[derive(Debug)]
enum Port {
    Sim(sim::Pin),
    Chardev(chardev::Pin),
}

impl Line {
    /// Takes the line.
    pub fn open(name: &Name, request: &Request) -> Result<Self, Error> {
        let wanted = request.on_the_wire();
        let port = match name {
            Name::Sim { chip, line } => Port::Sim(sim::Pin::open(name, chip, *line, &wanted)?),
            Name::Chip { chip, line } => Port::Chardev(chardev::Pin::open(name, chip, *line, &wanted)?),
            Name::Own(own) => {
                let (chip, line) = chardev::find(name, own)?;
                Port::Chardev(chardev::Pin::open(name, &chip, line, &wanted)?)
            }
            Name::Register(_) => {
                let why = "this build does not know the registers of any board".into();
                return Err(Error::NotFound { name: name.clone(), why });
            }
        };
        Ok(Self { name: name.clone(), request: *request, port })
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
        }
    }

    /// Its value, as the user sees it.
    #[inline]
    pub fn read(&mut self) -> Result<bool, Gone> {
        let value = match &mut self.port {
            Port::Sim(pin) => pin.read(),
            Port::Chardev(pin) => pin.read()?,
        };
        Ok(value != self.request.active_low)
    }

    /// The next edge that was asked for, waiting for it until `deadline_ns` on the monotonic clock (0: not
    /// at all). `None` when there was none till then.
    pub fn edge(&mut self, deadline_ns: u64) -> Result<Option<Edge>, Gone> {
        let edge = match &mut self.port {
            Port::Sim(pin) => pin.edge(deadline_ns),
            Port::Chardev(pin) => pin.edge(deadline_ns)?,
        };
        Ok(edge.map(|edge| Edge { rising: edge.rising != self.request.active_low, ..edge }))
    }
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
                    Port::Chardev(pin) => pin.let_go(),
                },
            };
        }
    }
}
