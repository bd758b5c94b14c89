//! Where a board's registers are, and who may map them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::tree::Tree;
use super::window::Window;
use super::{am335x, bcm, rp1};
use crate::board::Board;
use crate::rights::remedy;
use crate::{Error, Name};

/// The registers behind a line, mapped.
#[derive(Debug)]
pub struct RegisterWindow {
    /// Of this board.
    pub board: Board,
    /// The device that offers them.
    pub device: File,
    /// They themselves.
    pub window: Window,
}

/// A stretch of a device file.
#[derive(Debug)]
struct Stretch {
    path: PathBuf,
    offset: u64,
    bytes: usize,
}

impl RegisterWindow {
    /// Of this line, on the system whose `/dev`, `/proc` and `/sys` are under `root`.
    pub fn open(name: &Name, root: &Path, line: u32) -> Result<Self, Error> {
        let not_found = |why| Error::NotFound { name: name.clone(), why };
        let (board, tree) = recognise(name, root)?;
        if line >= board.lines() {
            return Err(Error::NoSuchLine { name: name.clone(), chip: "reg".into(), last: board.lines() - 1 });
        }
        let offers = offers(board, &tree, root, line);
        if !is_clocked(name, root, board, line)? {
            return Err(not_found(asleep(line)));
        }
        let mut refusal = None;
        for stretch in &offers {
            match stretch.map() {
                Ok((device, window)) => return Ok(Self { board, device, window }),
                Err(failure) if failure.is_absent() => {}
                // The first is the one that fewer rights are needed for.
                Err(failure) => refusal = refusal.or(Some((stretch, failure))),
            }
        }
        Err(match refusal {
            Some((stretch, failure)) => failure.explain(name, &stretch.path),
            None => not_found(nowhere(board, &offers)),
        })
    }
}

/// The board of the system whose files are under `root`, and its device tree.
pub fn recognise(name: &Name, root: &Path) -> Result<(Board, Tree), Error> {
    let not_found = |machine: &str| Error::NotFound { name: name.clone(), why: stranger(machine) };
    let tree = Tree::under(root).ok_or_else(|| not_found("this machine, which has no device tree,"))?;
    let board = Board::compatible_with(&tree.compatible());
    let board = board.ok_or_else(|| not_found(&format!("this machine ({})", tree.model())))?;
    Ok((board, tree))
}

/// Whoever is not known.
fn stranger(machine: &str) -> String {
    format!(
        "register access knows the Raspberry Pi 0 to 5 and the BeagleBone, and {machine} is none of them (name a line \
         of its character device, gpiochip0:17 say)"
    )
}

fn nowhere(board: Board, offers: &[Stretch]) -> String {
    let paths: Vec<_> = offers.iter().map(|stretch| stretch.path.display().to_string()).collect();
    let sought = if paths.is_empty() { "no device".into() } else { format!("no {}", paths.join(", no ")) };
    format!("there is {sought} to reach the registers of the {board} through (name a line of the character device)")
}

/// Where the registers of this line can be had, those first that want fewer rights.
fn offers(board: Board, tree: &Tree, root: &Path, line: u32) -> Vec<Stretch> {
    let mem = |offset, bytes| Stretch { path: root.join("dev/mem"), offset, bytes };
    match board {
        Board::Bcm2835 | Board::Bcm2836 | Board::Bcm2837 | Board::Bcm2711 => {
            let own = Stretch { path: root.join("dev/gpiomem"), offset: 0, bytes: bcm::BYTES };
            let all = tree.behind_soc(bcm::BUS_ADDRESS).map(|address| mem(address, bcm::BYTES));
            [Some(own), all].into_iter().flatten().collect()
        }
        Board::Rp1 => {
            let own = Stretch { path: root.join("dev/gpiomem0"), offset: 0, bytes: rp1::BYTES };
            let bar = |path| Stretch { path, offset: rp1::IN_BAR1, bytes: rp1::BYTES };
            [Some(own), rp1_bar(root).map(bar)].into_iter().flatten().collect()
        }
        Board::Am335x => vec![mem(am335x::bank(line), am335x::BYTES)],
    }
}

/// The second PCI Express region of the RP1, whichever its bus number.
fn rp1_bar(root: &Path) -> Option<PathBuf> {
    let devices = fs::read_dir(root.join("sys/bus/pci/devices")).ok()?;
    let says =
        |folder: &Path, file, value| fs::read_to_string(folder.join(file)).is_ok_and(|text| text.trim() == value);
    let is_rp1 = |folder: &PathBuf| says(folder, "vendor", "0x1de4") && says(folder, "device", "0x0001");
    devices.flatten().map(|device| device.path()).find(is_rp1).map(|folder| folder.join("resource1"))
}

/// Whether the line's registers may be touched: without its clock, a bank of an AM335x would end the program.
pub fn is_clocked(name: &Name, root: &Path, board: Board, line: u32) -> Result<bool, Error> {
    if board != Board::Am335x {
        return Ok(true);
    }
    let clocks = Stretch { path: root.join("dev/mem"), offset: am335x::CLOCKS, bytes: am335x::BYTES };
    let (_, mut window) = clocks.map().map_err(|failure| failure.explain(name, &clocks.path))?;
    Ok(am335x::is_clocked(&mut window, line))
}

fn asleep(line: u32) -> String {
    let bank = line / am335x::BANK_LINES;
    format!(
        "the clock of GPIO bank {bank} is stopped, because the kernel uses none of its lines (keep another line of \
         the bank open through the character device meanwhile)"
    )
}

/// At which step a device file refused.
#[derive(Debug)]
enum Failure {
    Open(io::Error),
    Map(io::Error),
}

impl Failure {
    fn is_absent(&self) -> bool {
        let absent = [Errno::NOENT, Errno::NXIO, Errno::NODEV].map(|errno| Some(errno.raw_os_error()));
        matches!(self, Failure::Open(error) if absent.contains(&error.raw_os_error()))
    }

    fn explain(self, name: &Name, path: &Path) -> Error {
        let (name, path) = (name.clone(), path.to_owned());
        let whole_machine = !path.ends_with("gpiomem") && !path.ends_with("gpiomem0");
        match self {
            Failure::Open(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let remedy = if whole_machine { "use sudo".into() } else { remedy(&path) };
                Error::Permission { name, path, remedy }
            }
            Failure::Map(error) if whole_machine && is_protection(&error) => {
                let remedy = "this kernel was built with CONFIG_STRICT_DEVMEM and keeps programs from registers that a \
                              driver has: boot with iomem=relaxed, or without lockdown";
                Error::Permission { name, path, remedy: remedy.into() }
            }
            Failure::Open(error) => Error::System { name, doing: format!("opening {}", path.display()), error },
            Failure::Map(error) => Error::System { name, doing: format!("mapping {}", path.display()), error },
        }
    }
}

/// How `/dev/mem` and a PCI region say that a driver has exclusive use of the registers.
fn is_protection(error: &io::Error) -> bool {
    [Errno::PERM, Errno::INVAL].map(|errno| Some(errno.raw_os_error())).contains(&error.raw_os_error())
}

impl Stretch {
    /// O_SYNC has `/dev/mem` map registers as a device's, not as memory to be cached.
    fn map(&self) -> Result<(File, Window), Failure> {
        let flags = OFlags::SYNC.bits() as i32;
        let device = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&self.path);
        let device = device.map_err(Failure::Open)?;
        let window = Window::map(&device, self.offset, self.bytes).map_err(Failure::Map)?;
        Ok((device, window))
    }
}
