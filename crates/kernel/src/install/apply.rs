//! Putting a kernel in place: modules, its own folder, and last the boot entry, each step journaled before.

use std::collections::BTreeSet;
use std::io;
use std::process::{Command, Output};

use ontick_machine::boot::{self, BootFiles, BootPlan, Written, grubenv};
use ontick_machine::journal::{Content, Journal, Undo};
use ontick_machine::root::{FileError, Root};
use ontick_machine::tree::{self, Staged, Tree};
use ontick_undo::program;
use serde::Serialize;

use super::loader::Once;
use super::package::{Kind, Package};
use super::rollback::take_back;
use super::{
    Initramfs, InstallError, InstallPlan, Installed, LoaderError, OnceError, initramfs, lies_beside_others, trees_of,
};

/// What was put in place.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Applied {
    /// Files of the kernel, modules among them.
    pub files: usize,
    /// Boot files that were written, with their backups.
    pub written: Vec<Written>,
}

/// Carries a plan out. `go_on` gets each file and may end it. What fails is taken back at once.
pub fn apply(
    root: &Root,
    plan: &InstallPlan,
    package: &Package,
    journal: &mut Journal,
    go_on: &mut dyn FnMut(&str) -> bool,
) -> Result<Applied, InstallError> {
    // The modules of an earlier kernel that still runs.
    let before: Vec<Undo> = journal.entries().map(|e| e.undo.clone()).collect();
    install(root, plan, package, journal, go_on).map_err(|problem| match take_back(root, journal, &before) {
        Ok(()) => InstallError::TakenBack(Box::new(problem)),
        Err(left) => InstallError::Left { problem: Box::new(problem), left },
    })
}

fn install(
    root: &Root,
    plan: &InstallPlan,
    package: &Package,
    journal: &mut Journal,
    go_on: &mut dyn FnMut(&str) -> bool,
) -> Result<Applied, InstallError> {
    let kernel = &plan.kernel;
    let marker = kernel.marker();
    let modules = Tree { knob: "modules", path: &plan.modules, marker: &marker, texts: Vec::new() };
    let modules = tree::stage(root, journal, modules)?;
    let mut layout = Layout::stage(root, plan, journal, &marker)?;
    let mut files = 0;
    package.each(&mut |kind, content| {
        if let Some(place) = layout.place(plan, &modules, kind) {
            if !go_on(&place.path) {
                return Err(InstallError::Stopped);
            }
            files += 1;
            match place.alone {
                true => tree::place(root, journal, "kernel", &place.path, &content)?,
                false => tree::put(root, &place.path, &content)?,
            }
        }
        Ok(())
    })?;
    tree::reveal(root, journal, modules)?;
    list_modules(root, plan)?;
    if let Initramfs::Made(program) = &plan.initramfs {
        go_on(program);
        make_initramfs(root, program, &layout, kernel, journal)?;
    }
    layout.finish(root, plan)?;
    layout.reveal(root, journal)?;
    Ok(Applied { files, written: entry(root, plan, journal)? })
}

/// Where the kernel's own files go.
struct Layout {
    own: Option<Staged>,
    taken: BTreeSet<String>,
    beside_others: bool,
}

struct FilePath {
    path: String,
    /// It lies among files of others and is journaled by itself.
    alone: bool,
}

impl Layout {
    fn stage(root: &Root, plan: &InstallPlan, journal: &mut Journal, marker: &str) -> Result<Self, InstallError> {
        let beside_others = lies_beside_others(&plan.place);
        let path = match beside_others {
            true => trees_of(&plan.place, &plan.kernel),
            false => Some(plan.kernel.folder.clone()),
        };
        let texts = plan.texts.iter().map(|(name, text)| (name.clone(), Content::Text(text.clone()))).collect();
        let own = path.map(|path| tree::stage(root, journal, Tree { knob: "kernel", path: &path, marker, texts }));
        Ok(Self { own: own.transpose()?, taken: BTreeSet::new(), beside_others })
    }

    /// Where a file of the package goes; `None` for one that is not needed here.
    fn place(&mut self, plan: &InstallPlan, modules: &Staged, kind: &Kind) -> Option<FilePath> {
        let kernel = &plan.kernel;
        let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
        let flat = self.beside_others || matches!(plan.place, BootFiles::RaspberryPi { .. });
        let trees = if flat { "" } else { "dtbs/" };
        let own = match kind {
            Kind::Module { name, .. } => return self.fresh(format!("{}/{name}", modules.beside)),
            // As other distributions have it: out of the way of the boot loader, and gone with the modules.
            Kind::Config => return self.fresh(format!("{}/config", modules.beside)),
            Kind::SystemMap => return self.fresh(format!("{}/System.map", modules.beside)),
            Kind::Kernel => kernel.kernel.clone(),
            Kind::Initramfs => kernel.initramfs.clone()?,
            Kind::Dtb(_) | Kind::Overlay(_) if matches!(plan.place, BootFiles::Grub { .. }) => return None,
            Kind::Dtb(name) if flat => last(name),
            Kind::Dtb(name) => format!("{trees}{name}"),
            Kind::Overlay(name) => format!("{trees}overlays/{name}"),
            Kind::Firmware | Kind::Other => return None,
        };
        if self.beside_others && matches!(kind, Kind::Kernel | Kind::Initramfs) {
            return Some(FilePath { path: format!("{}/{own}", kernel.folder), alone: true });
        }
        self.fresh(format!("{}/{own}", self.own.as_ref()?.beside))
    }

    /// Two files of one name (folders of vendors laid flat): the first one counts.
    fn fresh(&mut self, path: String) -> Option<FilePath> {
        self.taken.insert(path.clone()).then_some(FilePath { path, alone: false })
    }

    /// What the package does not bring.
    fn finish(&self, root: &Root, plan: &InstallPlan) -> Result<(), InstallError> {
        let Some(own) = &self.own else { return Ok(()) };
        for (name, text) in &plan.texts {
            tree::put(root, &format!("{}/{name}", own.beside), text.as_bytes())?;
        }
        // Without it the firmware takes the other kernel's overlays.
        let readme = format!("{}/overlays/README", own.beside);
        let pi = matches!(plan.place, BootFiles::RaspberryPi { .. });
        if pi && plan.kernel.overlays && !self.taken.contains(&readme) {
            tree::put(root, &readme, b"The firmware takes overlays from here because this file is there.\n")?;
        }
        Ok(())
    }

    fn reveal(&mut self, root: &Root, journal: &mut Journal) -> Result<(), InstallError> {
        Ok(self.own.take().map_or(Ok(()), |own| tree::reveal(root, journal, own))?)
    }
}

/// `depmod` writes down which module needs which, where the package does not say.
fn list_modules(root: &Root, plan: &InstallPlan) -> Result<(), InstallError> {
    if plan.modules_known {
        return Ok(());
    }
    let base = root.outside("/").map_err(FileError::of("/", ""))?;
    ran(depmod(), |depmod| depmod.arg("-b").arg(base).arg(&plan.kernel.release).output())
}

fn depmod() -> &'static str {
    ["/usr/sbin/depmod", "/sbin/depmod"].into_iter().find(|p| std::path::Path::new(p).exists()).unwrap_or("depmod")
}

fn make_initramfs(
    root: &Root,
    program: &str,
    layout: &Layout,
    kernel: &Installed,
    journal: &mut Journal,
) -> Result<(), InstallError> {
    let name = kernel.initramfs.as_deref().unwrap_or_default();
    // Made where nothing looks for it; a kernel that lies beside others gets it by the journal.
    let made = match &layout.own {
        Some(own) if !layout.beside_others => format!("{}/{name}", own.beside),
        _ => format!("{}/.ontick-{name}", Installed::modules_of(&kernel.release)),
    };
    let words = initramfs::command(program, &kernel.release, &made);
    ran(&words[0], |command| command.args(&words[1..]).output())?;
    if layout.beside_others {
        let place = root.outside(&made).map_err(FileError::of(&made, ""))?;
        let content = std::fs::read(place).map_err(FileError::of(&made, "cannot be read"))?;
        tree::place(root, journal, "kernel", &format!("{}/{name}", kernel.folder), &content)?;
        root.remove(&made).map_err(FileError::of(&made, "cannot be removed"))?;
    }
    Ok(())
}

fn ran(name: &str, run: impl FnOnce(&mut Command) -> io::Result<Output>) -> Result<(), InstallError> {
    let name = name.to_owned();
    let output = program::command(&name).and_then(|mut command| run(&mut command)).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => InstallError::NoProgram(name.clone()),
        _ => InstallError::Program { program: name.clone(), why: format!("cannot be started: {e}") },
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = format!("failed: {}", said.trim().lines().last().unwrap_or("without a word"));
    Err(InstallError::Program { program: name, why })
}

/// The boot entry: the only step that the boot loader sees.
fn entry(root: &Root, plan: &InstallPlan, journal: &mut Journal) -> Result<Vec<Written>, InstallError> {
    let trial = matches!(plan.place, BootFiles::RaspberryPi { .. });
    let applied = boot::apply(root, &BootPlan::of_edits(plan.place.clone(), plan.edits.clone(), trial), journal);
    if let Some(problem) = applied.stopped {
        return Err(InstallError::BootFiles(problem));
    }
    if let Some(once) = &plan.once {
        choose(root, once, journal)?;
    }
    Ok(applied.written)
}

/// Lets GRUB take an entry for the next boot.
pub(super) fn choose(root: &Root, once: &Once, journal: &mut Journal) -> Result<(), InstallError> {
    let Once { path, entry, before } = once;
    let undo = Undo::Variable {
        path: path.clone(),
        key: super::loader::NEXT.into(),
        original: before.clone(),
        wanted: entry.clone(),
    };
    let seq = journal.intend("boot", undo)?;
    let text = root.text(path).map_err(FileError::of(path, "cannot be read"))?;
    let text = grubenv::with(&text, super::loader::NEXT, Some(entry))
        .map_err(|why| LoaderError::from(OnceError::Block { path: path.clone(), why }))?;
    root.replace(path, text.as_bytes()).map_err(FileError::of(path, "cannot be written"))?;
    Ok(journal.done(seq, None)?)
}
