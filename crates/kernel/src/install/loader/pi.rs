//! The Raspberry Pi's firmware: `os_prefix` names a folder with a kernel, its device trees, overlays and command
//! line. A prefix in which the firmware finds no kernel or no device tree is ignored by it, so the kernel keeps
//! the usual name: then the usual kernel is booted. A name that begins with `/` is one of the card, whatever the prefix.

use ontick_machine::Root;
use ontick_machine::boot::{Argument, BootError, BootFiles, Tryboot};
use ontick_machine::config_txt::{self, ConfigTxt};
use ontick_machine::facts::{Arguments, Facts, board};

use super::{LoaderError, MARK, Stage, Survey, TRIAL_MARK, Written, folder_of, name_of, read};
use crate::install::package::{Kind, Package};
use crate::install::{Architecture, Installed};

pub(super) fn survey(
    root: &Root,
    facts: &Facts,
    (cmdline, config): (&str, &str),
    package: &Package,
    name: &str,
) -> Result<Survey, LoaderError> {
    read(root, config)?;
    let settings = board::config(root, config).unwrap_or_default();
    let folder = folder_of(config).trim_end_matches('/');
    let mut notes = Vec::new();
    device_trees(facts, package)?;
    if settings.get("device_tree").is_some_and(|tree| !tree.is_empty()) {
        notes.push(format!("{config} names a device tree of its own (device_tree): the new kernel gets the one of that name from its own folder"));
    }
    if !package.has(|k| matches!(k, Kind::Overlay(name) if name != "README")) {
        notes.push("the package has no overlays: the ones on the card are used".into());
    }
    let generation = facts.board.raspberry_pi.as_ref().map_or(0, |pi| pi.generation);
    if (1..4).contains(&generation) {
        notes.push("before the Raspberry Pi 4 tryboot is done by the files on the card (bootcode.bin, start.elf): old ones start the old kernel instead".into());
    }
    let kernel = kernel_file(facts, package, settings.get("kernel"));
    let named = named_initramfs(&settings);
    let auto = settings.get("auto_initramfs") == Some("1");
    let there = initramfs_there(root, folder, &settings);
    let initramfs = match named {
        Some(name) if name.contains(',') => return Err(LoaderError::SeveralInitramfs(config.into())),
        Some(name) if name.starts_with('/') => return Err(LoaderError::SharedInitramfs(config.into())),
        Some(name) => name.to_owned(),
        None => automatic(&kernel),
    };
    let arguments = read(root, cmdline)?;
    Ok(Survey {
        folder: format!("{folder}/{name}"),
        initramfs_size: there.as_ref().and_then(|path| super::size_of(root, path)),
        wants_initramfs: named.is_some() || auto && there.is_some(),
        texts: vec![(name_of(cmdline).into(), arguments.clone())],
        kernel,
        initramfs,
        arguments,
        notes,
    })
}

pub(super) fn write(
    root: &Root,
    facts: &Facts,
    config: &str,
    kernel: &Installed,
    stage: Stage,
) -> Result<Written, LoaderError> {
    let text = read(root, config)?;
    let settings = board::config(root, config).unwrap_or_default();
    if kernel.initramfs.is_none() && named_initramfs(&settings).is_some() {
        return Err(LoaderError::NoInitramfs(config.into()));
    }
    let mut added = vec![("os_prefix", format!("{}/", kernel.name))];
    added.push(("arm_64bit", u8::from(kernel.wide).to_string()));
    let known = facts.board.raspberry_pi.as_ref().is_some_and(|pi| pi.generation > 0);
    if kernel.wide || !known || settings.get("kernel").is_some() {
        added.push(("kernel", kernel.kernel.clone()));
    }
    // The line lies in the kernel's own folder itself.
    let named = settings.get("cmdline").filter(|name| !name.is_empty());
    if let Some(own) = kernel.cmdline.as_ref().filter(|own| named.is_some_and(|name| name != own.as_str())) {
        added.push(("cmdline", own.clone()));
    }
    if upstream(&kernel.dtbs) {
        added.push(("upstream_kernel", "1".into()));
    }
    match &kernel.initramfs {
        Some(_) if named_initramfs(&settings).is_none() => added.push(("auto_initramfs", "1".into())),
        None if settings.get("auto_initramfs") == Some("1") => added.push(("auto_initramfs", "0".into())),
        _ => {}
    }
    let added: Vec<(String, String)> = added.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let after = config_txt::with(&text, &added, MARK);
    let mut written = Written::default();
    match stage {
        Stage::Keep if settings.get("os_prefix") == Some(&added[0].1) => {}
        Stage::Keep => written.edit(config, Some(text), after),
        Stage::Try => {
            let tried = format!("{}tryboot.txt", folder_of(config));
            if root.exists(&tried) {
                return Err(LoaderError::TrialGoesOn(tried));
            }
            written.edit(&tried, None, after);
        }
    }
    Ok(written)
}

/// Files by which the firmware boots as it did, with this command line, and with these arguments besides its own.
pub(in crate::install) fn again(
    root: &Root,
    place: &BootFiles,
    usual: &str,
    name: &str,
    arguments: &[Argument],
) -> Result<Written, LoaderError> {
    let BootFiles::RaspberryPi { cmdline, config } = place else { return Err(BootError::NoTrialHere.into()) };
    let tried = format!("{}tryboot.txt", folder_of(config));
    if root.text(&tried).is_ok_and(|text| !text.contains(TRIAL_MARK)) {
        return Err(LoaderError::TrialGoesOn(tried));
    }
    let (file, running) = (Arguments::parse(&read(root, cmdline)?), Arguments::parse(usual));
    // The firmware writes the name of the serial line itself (serial0 is ttyS0 or ttyAMA0).
    let own = |word: &&str| !word.starts_with("console=serial");
    if !file.iter().filter(own).all(|word| running.iter().any(|given| given == word)) {
        return Err(LoaderError::NotAsBooted(cmdline.clone()));
    }
    let trial = Tryboot { line: &format!("{name}.txt"), mark: TRIAL_MARK };
    let edits = trial.edits(root, place, &Facts::gather(root), arguments, &[])?;
    Ok(Written { edits, notes: Vec::new() })
}

/// Without a device tree for the board the firmware would not take the folder at all.
fn device_trees(facts: &Facts, package: &Package) -> Result<(), LoaderError> {
    let board = facts.board.compatible.split_whitespace().find_map(|c| c.strip_prefix("raspberrypi,"));
    let wanted = board.map(|board| format!("-rpi-{}.dtb", tree_name(board)));
    let fits = |name: &str| match &wanted {
        Some(wanted) => name.ends_with(wanted.as_str()),
        None => name.contains("-rpi-"),
    };
    match package.dtbs().map(name_of).any(fits) {
        true => Ok(()),
        false => Err(LoaderError::NoTreeForBoard {
            board: if facts.board.model.is_empty() { "a Raspberry Pi".into() } else { facts.board.model.clone() },
            file: wanted.map_or_else(|| "bcm…-rpi-….dtb".into(), |w| format!("bcm…{w}")),
        }),
    }
}

/// `4-model-b` is `4-b` in names of device trees, `4-compute-module` is `cm4`.
fn tree_name(board: &str) -> String {
    match board.split_once("-compute-module") {
        Some((number, _)) => format!("cm{number}"),
        None => board.replace("model-", ""),
    }
}

/// Kernels from kernel.org name the older boards' trees after other chips than the Raspberry Pi's own do.
fn upstream(dtbs: &[String]) -> bool {
    let any = |chips: &[&str]| dtbs.iter().any(|d| chips.iter().any(|chip| name_of(d).starts_with(chip)));
    any(&["bcm2835-rpi", "bcm2836-rpi", "bcm2837-rpi"]) && !any(&["bcm2708-rpi", "bcm2709-rpi", "bcm2710-rpi"])
}

/// The name that the firmware looks for by itself.
fn kernel_file(facts: &Facts, package: &Package, set: Option<&str>) -> String {
    if package.image.architecture.or(package.modules_for) == Some(Architecture::Arm64) {
        return "kernel8.img".into();
    }
    let generation = facts.board.raspberry_pi.as_ref().map_or(0, |pi| pi.generation);
    let own = set.map(name_of).filter(|name| name.ends_with(".img"));
    let by_release = || match &package.release {
        release if release.contains("-v7l") => "kernel7l.img",
        release if release.contains("-v7") => "kernel7.img",
        _ => "kernel.img",
    };
    match (own, generation) {
        (Some(name), _) => name,
        (None, 1) => "kernel.img",
        (None, 2 | 3) => "kernel7.img",
        (None, 4) => "kernel7l.img",
        _ => by_release(),
    }
    .into()
}

/// `kernel8.img` goes with `initramfs8`, `kernel.img` with `initramfs`.
fn automatic(kernel: &str) -> String {
    kernel.trim_end_matches(".img").replacen("kernel", "initramfs", 1)
}

/// The file that an `initramfs FILE followkernel` line names, or `ramfsfile=FILE`.
fn named_initramfs(settings: &ConfigTxt) -> Option<&str> {
    ["initramfs", "ramfsfile"].into_iter().find_map(|key| settings.get(key).filter(|name| !name.is_empty()))
}

/// The initramfs that the system boots with: the one that is named, or by `auto_initramfs` one whose name goes with a kernel's.
fn initramfs_there(root: &Root, folder: &str, settings: &ConfigTxt) -> Option<String> {
    let place = format!("{folder}/{}", prefix(root, folder, settings));
    match named_initramfs(settings) {
        Some(name) => Some(format!("{place}{name}")).filter(|path| root.exists(path)),
        None => root.matching(&format!("{place}initramfs*")).into_iter().next(),
    }
}

/// What the firmware puts before the names of the system's files: `os_prefix`, if it finds a kernel and a device tree so.
fn prefix<'s>(root: &Root, folder: &str, settings: &'s ConfigTxt) -> &'s str {
    let prefix = settings.get("os_prefix").unwrap_or_default();
    let found = |name: &str| match name.strip_prefix('/') {
        Some(name) => !root.matching(&format!("{folder}/{name}")).is_empty(),
        None => !root.matching(&format!("{folder}/{prefix}{name}")).is_empty(),
    };
    let kernel = settings.get("kernel").filter(|name| !name.is_empty()).unwrap_or("kernel*.img");
    let tree = settings.get("device_tree").filter(|name| !name.is_empty()).unwrap_or("*.dtb");
    if found(kernel) && found(tree) { prefix } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_boards_and_files() {
        for (board, tree) in [
            ("4-model-b", "4-b"),
            ("3-model-b-plus", "3-b-plus"),
            ("model-zero-2-w", "zero-2-w"),
            ("4-compute-module", "cm4"),
            ("400", "400"),
        ] {
            assert_eq!(tree_name(board), tree);
        }
        assert_eq!((automatic("kernel8.img"), automatic("kernel.img")), ("initramfs8".into(), "initramfs".into()));
        assert!(
            upstream(&["broadcom/bcm2837-rpi-3-b.dtb".into()])
                && !upstream(&["bcm2710-rpi-3-b.dtb".into(), "bcm2837-rpi-3-b.dtb".into()])
        );
    }

    #[test]
    fn the_initramfs_is_looked_for_where_the_firmware_takes_it_from() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path()).unwrap();
        let put = |path: &str| {
            let path = folder.path().join("boot").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        for path in ["kernel8.img", "x.dtb", "initramfs8", "own/initramfs8", "own/mine.gz", "old-initramfs8"] {
            put(path);
        }
        let there = |text: &str| initramfs_there(&root, "/boot", &ConfigTxt::parse(text, "", 4)).unwrap_or_default();
        // Without a kernel or a device tree of that name the firmware ignores a prefix.
        assert_eq!(there("auto_initramfs=1\nos_prefix=own/\n"), "/boot/initramfs8");
        put("own/kernel8.img");
        assert_eq!(there("auto_initramfs=1\nos_prefix=own/\n"), "/boot/initramfs8");
        put("own/x.dtb");
        assert_eq!(there("auto_initramfs=1\nos_prefix=own/\n"), "/boot/own/initramfs8");
        assert_eq!(there("initramfs mine.gz followkernel\nos_prefix=own/\n"), "/boot/own/mine.gz");
        assert_eq!(there("ramfsfile=mine.gz\nos_prefix=own/\n"), "/boot/own/mine.gz");
        assert_eq!(there("initramfs mine.gz followkernel\n"), "");
        // It need not be a folder, and a name of the whole card needs none.
        ["old-kernel8.img", "old-x.dtb"].into_iter().for_each(put);
        assert_eq!(there("os_prefix=old-\n"), "/boot/old-initramfs8");
        assert_eq!(there("os_prefix=own/\nkernel=other.img\n"), "/boot/initramfs8");
        assert_eq!(there("os_prefix=own/\nkernel=/kernel8.img\n"), "/boot/own/initramfs8");
    }
}
