//! What a kernel is for and what it is made of, as `configure` and `build` get it.

use std::path::PathBuf;

use clap::Args;
use ontick_kernel::board::Board;
use ontick_kernel::configure::ConfigRequest;
use ontick_kernel::fragment;
use ontick_kernel::options::Arch;

use crate::failure::Failure;

/// What a kernel is for and what it is made of.
#[derive(Args)]
pub struct ConfigFlags {
    /// The board: rpi0, rpi1, rpi2, rpi3 (and Zero 2), rpi4, rpi5, bbb (BeagleBone) or generic
    #[arg(long, value_name = "NAME", default_value = "generic", value_parser = Board::named)]
    board: &'static Board,
    /// The processor: arm, arm64 or x86 [default: the board's]
    #[arg(long, value_name = "NAME", value_parser = arch)]
    arch: Option<Arch>,
    /// The configuration to start from, plain or packed by gzip or xz [default: the best one in the tree]
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// More options, lines such as CONFIG_KVM=m or "# CONFIG_KVM is not set"; they override all others (repeatable)
    #[arg(long, value_name = "FILE")]
    fragment: Vec<PathBuf>,
    /// Prefix of the compiler's name, "" for this machine's own [default: Debian's for the processor]
    #[arg(long, value_name = "PREFIX")]
    pub cross: Option<String>,
}

impl ConfigFlags {
    /// Refuses what has a meaning in a source tree alone.
    pub fn needs_no_tree(&self) -> Result<(), Failure> {
        let refused = match (&self.base, &self.cross) {
            (Some(_), _) => "--base is the start of a configuration in a tree: name it with --source",
            (None, Some(_)) => "--cross is the compiler by which a tree is configured: name it with --source",
            (None, None) => return Ok(()),
        };
        Err(Failure::new(refused))
    }

    pub fn request(&self) -> Result<ConfigRequest, Failure> {
        let arch = self.board.arch(self.arch).map_err(Failure::new)?;
        let mut more = Vec::new();
        for file in &self.fragment {
            let wrong = |why: &dyn std::fmt::Display| Failure::new(format!("{}: {why}", file.display()));
            let text = std::fs::read_to_string(file).map_err(|e| wrong(&e))?;
            more.extend(fragment::parse(&text).map_err(|e| wrong(&e))?);
        }
        Ok(ConfigRequest { board: self.board, arch, base: self.base.clone(), more })
    }
}

fn arch(name: &str) -> Result<Arch, String> {
    Arch::named(name).ok_or_else(|| {
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        format!("\"{name}\" is not a known board: choose one of {}", names.join(", "))
    })
}
