//! Whether the new kernel needs an initramfs, and where it comes from.

use ontick_machine::Root;
use serde::Serialize;

use super::InstallError;
use super::loader::Survey;
use super::package::{Kind, Package};

/// Where the initramfs comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "initramfs", content = "program")]
pub enum Initramfs {
    /// This system boots without one, or this kernel can.
    None,
    /// The package brings it.
    Packed,
    /// This program of the system makes it, once the modules are in place.
    Made(String),
}

/// Programs that make one.
const MAKERS: [&str; 3] = ["mkinitramfs", "dracut", "mkinitcpio"];

/// Decides, or says what is missing.
pub(super) fn decide(
    root: &Root,
    package: &Package,
    seen: &Survey,
    notes: &mut Vec<String>,
) -> Result<Initramfs, InstallError> {
    if package.has(|k| *k == Kind::Initramfs) {
        return Ok(Initramfs::Packed);
    }
    if !seen.wants_initramfs {
        return Ok(Initramfs::None);
    }
    let maker = || MAKERS.into_iter().find_map(|name| found(root, name));
    if let Some(program) = maker().filter(|_| root.is_live()) {
        return Ok(Initramfs::Made(program));
    }
    if boots_alone(package, &seen.arguments) {
        notes.push("no initramfs: this kernel has the drivers of the card and of the root file system built in".into());
        return Ok(Initramfs::None);
    }
    Err(match root.is_live() {
        true => InstallError::NoInitramfsMaker,
        false => InstallError::NoInitramfs,
    })
}

fn found(root: &Root, name: &str) -> Option<String> {
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].iter().map(|f| format!("{f}/{name}")).find(|path| root.exists(path))
}

/// Whether a Raspberry Pi's kernel finds and mounts the card by itself.
fn boots_alone(package: &Package, arguments: &str) -> bool {
    let card = ["MMC_BCM2835", "MMC_SDHCI_IPROC", "MMC_SDHCI_BRCMSTB"];
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let root = words.iter().find_map(|w| w.strip_prefix("root="));
    // Names of file systems are looked up by programs, which only an initramfs holds.
    let plain = root.is_some_and(|r| r.starts_with("PARTUUID=") || r.starts_with("/dev/mmcblk"));
    let kind = words.iter().find_map(|w| w.strip_prefix("rootfstype=")).unwrap_or("ext4");
    plain
        && package.built_in("MMC_BLOCK")
        && package.built_in(&format!("{}_FS", kind.to_uppercase()))
        && card.iter().any(|option| package.built_in(option))
}

/// The command that makes it, into this file of the running machine.
pub(super) fn command(program: &str, release: &str, file: &str) -> Vec<String> {
    let words: &[&str] = match program.rsplit('/').next() {
        Some("dracut") => &["--force", "--kver", release, file],
        Some("mkinitcpio") => &["-k", release, "-g", file],
        _ => &["-o", file, release],
    };
    [program].iter().chain(words).map(|w| (*w).to_owned()).collect()
}
