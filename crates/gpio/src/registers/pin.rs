//! An open line of a board's registers.

use std::fs::File;
use std::path::Path;

use ontick_rt::clock::ClockId;

use super::layout::{Function, Layout, Pull};
use super::lock::alone;
use super::register_window::RegisterWindow;
use super::window::Access;
use crate::board::Board;
use crate::{Bias, Direction, Edges, Error, Name, Request};

/// A line of a board's registers that this program has open.
#[derive(Debug)]
pub struct Pin {
    access: Access,
    board: Board,
    line: u32,
    device: File,
}

impl Pin {
    /// On the system whose files are under `root`.
    pub fn open(name: &Name, root: &Path, line: u32, request: &Request) -> Result<Self, Error> {
        let RegisterWindow { board, device, window } = RegisterWindow::open(name, root, line)?;
        let unsupported = |what: &str| Error::Unsupported {
            name: name.clone(),
            backend: crate::Backend::Registers(board),
            what: what.into(),
        };
        if request.edges != Edges::None {
            return Err(unsupported(
                "wait for edges: registers raise no interrupts (poll the line, or wait for it as a line of the \
                 character device)",
            ));
        }
        let instead = "registers have no filter for the level (name it as a line of the character device)";
        request.check_not_debounced(name, crate::Backend::Registers(board), instead)?;
        request.check(name, crate::Backend::Registers(board))?;
        let mut access = Access::new(window, board.layout().words(line));
        let set_up = alone(&device, || set_up(board.layout(), &mut access, line, request));
        let set_up = set_up.map_err(|error| {
            let doing = format!("waiting for another program that sets up a line of the {board}");
            Error::System { name: name.clone(), doing, error }
        })?;
        set_up.map_err(|refusal| match refusal {
            Refusal::Cannot(what) => unsupported(what),
            Refusal::Serves(function) => serves(name, board, function),
        })?;
        Ok(Self { access, board, line, device })
    }

    /// Whether the line serves a peripheral, or cannot be reached. Nothing is changed.
    pub fn check_output(name: &Name, root: &Path, line: u32) -> Result<(), Error> {
        let RegisterWindow { board, mut window, .. } = RegisterWindow::open(name, root, line)?;
        match board.layout().function(&mut window, line) {
            Function::Peripheral(function) => Err(serves(name, board, function)),
            _ => Ok(()),
        }
    }

    /// Of this board.
    pub fn board(&self) -> Board {
        self.board
    }

    /// Drives the line no more.
    pub fn let_go(&mut self) {
        let mut listen = || self.board.layout().listen(self.access.window(), self.line);
        // An output that was to be released must not stay one because somebody else sits on the lock.
        if alone(&self.device, &mut listen).is_err() {
            listen();
        }
    }

    /// One store.
    #[inline]
    pub fn write(&mut self, level: bool) {
        self.access.write(level);
    }

    /// A store for the lines of its bank that become high, and one for those that become low; bits as of [`bank`](Self::bank).
    #[inline]
    pub fn write_bank(&mut self, high: u32, low: u32) {
        self.access.write_several(high, low);
    }

    /// One load.
    #[inline]
    pub fn read(&mut self) -> bool {
        self.access.read()
    }

    /// One load: the levels of its bank, bit n of line 32 × bank + n.
    #[inline]
    pub fn bank(&mut self) -> u32 {
        self.access.bank()
    }

    /// Returns once every write before has reached the chip: a load does not overtake them.
    pub fn flush(&mut self) {
        self.access.read();
    }

    /// No edge, since none is ever asked for: see `open`.
    pub fn edge(&mut self, deadline_ns: u64) {
        ClockId::Monotonic.sleep_until(deadline_ns);
    }
}

fn serves(name: &Name, board: Board, function: &str) -> Error {
    let by = format!(
        "a peripheral of the {board} (function {function}; remove its device tree overlay, or choose another line)"
    );
    Error::InUse { name: name.clone(), by }
}

/// Why a line cannot be had like that.
enum Refusal {
    /// What it cannot do.
    Cannot(&'static str),
    /// It serves this function.
    Serves(&'static str),
}

fn set_up(layout: &dyn Layout, access: &mut Access, line: u32, request: &Request) -> Result<(), Refusal> {
    let function = layout.function(access.window(), line);
    if let (Direction::Output(_), Function::Peripheral(name)) = (request.direction, function) {
        return Err(Refusal::Serves(name));
    }
    // Whoever listens to a peripheral lets it work.
    let stays = request.direction == Direction::AsIs || matches!(function, Function::Peripheral(_));
    if stays && !layout.receives(access.window(), line) {
        return Err(Refusal::Cannot("be read as they are here: the pin's receiver is off (take the line as an input)"));
    }
    if let Some(pull) = pull(request.bias) {
        layout.pull(access.window(), line, pull).map_err(Refusal::Cannot)?;
    }
    match request.direction {
        Direction::Output(value) => {
            // The level first, or the line would show an old one for a moment.
            access.write(value);
            layout.drive(access.window(), line);
        }
        Direction::Input if !stays => layout.listen(access.window(), line),
        Direction::Input | Direction::AsIs => {}
    }
    Ok(())
}

fn pull(bias: Bias) -> Option<Pull> {
    match bias {
        Bias::AsIs => None,
        Bias::Disabled => Some(Pull::Off),
        Bias::PullDown => Some(Pull::Down),
        Bias::PullUp => Some(Pull::Up),
    }
}
