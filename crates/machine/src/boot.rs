//! How the machine boots: where it keeps the kernel's arguments, what they should be, and the edit.
//!
//! Each loader's file has a small editor of its own that works on text; this module finds the files,
//! shows a diff, journals, keeps a dated backup and writes each file whole or not at all.

pub(crate) mod apply;
mod arguments;
mod balancer;
pub mod efi;
mod error;
mod extlinux;
mod files;
mod grub;
pub mod grubenv;
mod loader_entry;
mod one_line;
mod standing;
mod tryboot;
mod uenv;
pub mod unit;
mod wanted;

use serde::Serialize;

use crate::config_txt;
use crate::facts::Facts;
use crate::journal::{Content, Journal};
use crate::knobs::interrupts::BALANCER;
use crate::root::{FileError, Root};
use crate::target::Target;

pub use apply::{BootApplied, CommandOutcome, Written, apply, run};
pub use error::{ArgumentsError, BootError, BootWriteError};
pub use files::{BootFiles, find};
pub use tryboot::Tryboot;
pub use wanted::{Argument, Setting};

/// What `tune --boot` would do.
#[derive(Debug, Clone, Serialize)]
pub struct BootPlan {
    /// Where this machine keeps the kernel's arguments.
    pub place: BootFiles,
    /// Kernel arguments that are wanted.
    pub arguments: Vec<Argument>,
    /// Settings of a Raspberry Pi's firmware that are wanted.
    pub settings: Vec<Setting>,
    /// Whether the change is tried once first: the boot after the next uses the old files again.
    pub trial: bool,
    /// Files that will change; none where everything is as wanted.
    pub edits: Vec<Edit>,
    /// Commands that the machine must run afterwards.
    pub commands: Vec<String>,
    /// How to restart so that the change takes effect.
    pub restart: String,
    /// What a reader must know: line ends, settings given elsewhere, options that this kernel lacks.
    pub notes: Vec<String>,
}

impl BootPlan {
    /// Edits alone, to be written as those of `tune --boot` are.
    pub fn of_edits(place: BootFiles, edits: Vec<Edit>, trial: bool) -> Self {
        Self {
            place,
            arguments: Vec::new(),
            settings: Vec::new(),
            trial,
            edits,
            commands: Vec::new(),
            restart: String::new(),
            notes: Vec::new(),
        }
    }
}

/// How a boot loader keeps the kernel's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootFile {
    /// On the only line: `cmdline.txt`, `/etc/kernel/cmdline`.
    OneLine,
    /// `extlinux.conf`.
    Extlinux,
    /// `uEnv.txt`.
    UEnv,
    /// `/etc/default/grub`.
    GrubDefaults,
    /// An entry of systemd-boot.
    LoaderEntry,
}

impl BootFile {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::OneLine, Self::Extlinux, Self::UEnv, Self::GrubDefaults, Self::LoaderEntry];

    /// The text with these arguments; everything else in it stays as it is.
    ///
    /// ```
    /// use ontick_machine::boot::{Argument, BootFile};
    /// let argument = Argument { key: "isolcpus".into(), value: "3".into(), why: "" };
    /// let text = BootFile::OneLine.with("root=/dev/mmcblk0p2 isolcpus=2 quiet\r\n", &[argument]);
    /// assert_eq!(text.as_deref(), Ok("root=/dev/mmcblk0p2 quiet isolcpus=3\r\n"));
    /// ```
    pub fn with(self, text: &str, wanted: &[Argument]) -> Result<String, ArgumentsError> {
        match self {
            Self::OneLine => one_line::with(text, wanted),
            Self::Extlinux => extlinux::with(text, wanted),
            Self::UEnv => uenv::with(text, wanted),
            Self::GrubDefaults => grub::with(text, wanted),
            Self::LoaderEntry => loader_entry::with(text, wanted),
        }
    }
}

/// One file that will change.
#[derive(Debug, Clone, Serialize)]
pub struct Edit {
    /// Which file.
    pub path: String,
    /// What it holds; `None` where it is not there yet.
    #[serde(skip)]
    pub before: Option<String>,
    /// What it will hold.
    #[serde(skip)]
    pub after: String,
    /// What it would hold without ontick's part, where it is not there yet and others may have a part in it.
    #[serde(skip)]
    pub base: Option<String>,
    /// The difference, as `diff -u` shows it.
    pub diff: String,
}

impl Edit {
    /// The change of a file from `before` (`None` where there is none) to `after`; `None` where they are the same.
    pub fn new(path: &str, before: Option<String>, after: String) -> Option<Self> {
        if before.as_deref() == Some(&after) {
            return None;
        }
        let old = before.as_deref().unwrap_or_default();
        let from = if before.is_some() { path } else { "/dev/null" };
        let diff =
            similar::TextDiff::from_lines(old, &after).unified_diff().context_radius(2).header(from, path).to_string();
        Some(Self { path: path.into(), before, after, base: None, diff })
    }
}

/// The kernel arguments that are wanted for a target, wherever this machine keeps them.
pub fn arguments(facts: &Facts, target: &Target) -> Vec<Argument> {
    wanted::arguments(facts, target).0
}

/// Plans the boot files for a target. `trial` is for a Raspberry Pi 4 or later: the change is used for one
/// boot only, so that a bad argument cannot lock the user out.
pub fn plan(root: &Root, facts: &Facts, target: &Target, trial: bool) -> Result<BootPlan, BootError> {
    let place = find(root)?;
    let journal = Journal::read(root)?;
    let (arguments, mut notes) = wanted::arguments(facts, target);
    let settings = match &place {
        BootFiles::RaspberryPi { config, .. } => {
            let is_ours = standing::of(&journal, config).is_some();
            wanted::settings(facts, target, is_ours, &mut notes)
        }
        _ => Vec::new(),
    };
    let mut drafts = Drafts { root, journal: &journal, edits: Vec::new(), notes };
    if trial {
        drafts.edits = TRIAL.edits(root, &place, facts, &arguments, &pairs(&settings))?;
    } else {
        drafts.write(&place, facts, &arguments, &settings)?;
        drafts.keep_off(&place, facts, target, &arguments)?;
    }
    let Drafts { edits, notes, .. } = drafts;
    let commands = commands_after(root, edits.iter().map(|e| e.path.as_str()));
    let restart = if trial { format!("reboot '{}'", Tryboot::REBOOT) } else { "reboot".into() };
    Ok(BootPlan { place, arguments, settings, trial, edits, commands, restart, notes })
}

/// Commands that the machine must run after these files changed.
pub(crate) fn commands_after<'a>(root: &Root, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut commands = Vec::new();
    for path in paths {
        let command = match path {
            _ if path.starts_with("/etc/default/grub") => grub::command(root),
            "/etc/kernel/cmdline" => match files::loader_entries(root) {
                Some((_, entries)) if !entries.is_empty() => continue,
                _ => "kernel-install add \"$(uname -r)\" \"/lib/modules/$(uname -r)/vmlinuz\"".into(),
            },
            _ if path.starts_with("/etc/systemd/system/") => "systemctl daemon-reload".into(),
            _ => continue,
        };
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
}

/// The files as they will be, while a plan is made.
struct Drafts<'a> {
    root: &'a Root,
    /// What ontick wrote before, which a new plan takes the place of.
    journal: &'a Journal,
    edits: Vec<Edit>,
    notes: Vec<String>,
}

impl Drafts<'_> {
    fn write(
        &mut self,
        place: &BootFiles,
        facts: &Facts,
        args: &[Argument],
        settings: &[Setting],
    ) -> Result<(), BootError> {
        match place {
            BootFiles::RaspberryPi { cmdline, config } => {
                self.edit(cmdline, |text| BootFile::OneLine.with(text, args))?;
                if !settings.is_empty() || standing::of(self.journal, config).is_some() {
                    self.edit(config, |text| Ok(config_txt::with(text, &pairs(settings), MARK)))?;
                }
                Ok(())
            }
            BootFiles::Extlinux { file } => self.edit(file, |text| BootFile::Extlinux.with(text, args)),
            BootFiles::UEnv { file } => self.edit(file, |text| BootFile::UEnv.with(text, args)),
            BootFiles::Grub { .. } if !args.is_empty() && grub::has_entries(self.root) => {
                Err(BootError::Bls(args.iter().map(Argument::text).collect::<Vec<_>>().join(" ")))
            }
            BootFiles::Grub { drop_in: Some(file), .. } => {
                let text = grub::drop_in(args, MARK).map_err(in_file(file))?;
                let before = self.root.text(file).ok();
                if let Some(text) = &before {
                    self.without_ours(file, text)?;
                }
                self.notes.extend(grub::given_elsewhere(self.root, args));
                // Without arguments there is nothing to say, and an older drop-in of ours says too much.
                if !args.is_empty() || before.is_some() {
                    self.edits.extend(Edit::new(file, before, text));
                }
                Ok(())
            }
            BootFiles::Grub { file, .. } => self.edit(file, |text| BootFile::GrubDefaults.with(text, args)),
            BootFiles::SystemdBoot { kernel_cmdline, entries } => {
                let release = &facts.kernel.release;
                for entry in loader_entry::of_kernel(entries, release) {
                    self.edit(entry, |text| BootFile::LoaderEntry.with(text, args))?;
                }
                match (self.root.exists(kernel_cmdline), entries.is_empty()) {
                    (true, _) => self.edit(kernel_cmdline, |text| BootFile::OneLine.with(text, args)),
                    (false, false) => {
                        let note = "a kernel that is installed later may take over the running one's arguments: look at its entry after a revert";
                        self.notes.push(note.into());
                        Ok(())
                    }
                    // Unified kernel images are built from this file alone.
                    (false, true) => {
                        let running: Vec<&str> =
                            facts.arguments.iter().filter(|a| !loader_entry::is_loaders(a)).collect();
                        // Where somebody removed the one that ontick made, the running kernel may have been booted by that.
                        let base = standing::base_of(self.journal, kernel_cmdline).map(str::to_owned);
                        let base = base.unwrap_or_else(|| {
                            self.notes.extend(taken_over(kernel_cmdline, &wanted::perhaps_ours(facts, args)));
                            running.join(" ") + "\n"
                        });
                        let text = one_line::with(&base, args).map_err(in_file(kernel_cmdline))?;
                        let edit = Edit::new(kernel_cmdline, None, text);
                        self.edits.extend(edit.map(|edit| Edit { base: Some(base), ..edit }));
                        Ok(())
                    }
                }
            }
        }
    }

    /// irqbalance's own file, where no kernel argument has it keep off the timed CPUs from its start on.
    fn keep_off(
        &mut self,
        place: &BootFiles,
        facts: &Facts,
        target: &Target,
        args: &[Argument],
    ) -> Result<(), BootError> {
        let Some(file) = balancer::file(self.root) else { return Ok(()) };
        let before = if self.root.exists(&file) { Some(read(self.root, &file)?) } else { None };
        let base = before.as_ref().map_or_else(|| Ok(String::new()), |text| self.without_ours(&file, text))?;
        let elsewhere = match place {
            BootFiles::Grub { file, drop_in: Some(_) } => self.root.text(file).unwrap_or_default(),
            _ => String::new(),
        };
        let isolated = balancer::Isolated::with(args, facts, target, self.journal, &elsewhere);
        let runs = facts.rivals.iter().any(|rival| rival.name == BALANCER);
        let after = match runs && target.can_dedicate() && target.wants(BALANCER) {
            true => balancer::with(&base, &target.to_leave(), &isolated, MARK),
            false => Some(base),
        };
        match after {
            None => self.notes.push(format!("{file} is left as it is: it names CPUs in a way that cannot be read")),
            Some(after) if before.is_none() && after.is_empty() => {}
            Some(after) => {
                // What others add to it later is told from ontick's part.
                let base = before.is_none().then(String::new);
                self.edits.extend(Edit::new(&file, before, after).map(|edit| Edit { base, ..edit }));
            }
        }
        Ok(())
    }

    fn edit(
        &mut self,
        path: &str,
        change: impl FnOnce(&str) -> Result<String, ArgumentsError>,
    ) -> Result<(), BootError> {
        let before = read(self.root, path)?;
        let after = change(&self.without_ours(path, &before)?).map_err(in_file(path))?;
        if before.contains("\r\n") {
            self.notes.push(format!("{path} has Windows line ends; they stay as they are"));
        }
        if before.contains("generated automatically") {
            self.notes.push(format!("{path} says that it is generated: the next kernel update may undo this edit"));
        }
        self.edits.extend(Edit::new(path, Some(before), after));
        Ok(())
    }

    /// The text without what an earlier plan put there: not all of it may be wanted any more.
    fn without_ours(&self, path: &str, now: &str) -> Result<String, BootError> {
        let Some(entry) = standing::of(self.journal, path) else { return Ok(now.into()) };
        match standing::without_ours(&entry.undo, &Content::Text(now.into())) {
            Some(Some(Content::Text(text))) => Ok(text),
            Some(Some(Content::Bytes(_))) => Err(BootError::NotText(path.into())),
            // ontick made it, and nothing else is in it.
            Some(None) => Ok(now.into()),
            None => Err(BootError::Edited(path.into())),
        }
    }
}

fn read(root: &Root, path: &str) -> Result<String, BootError> {
    let bytes = root.bytes(path).map_err(FileError::of(path, "cannot be read"))?;
    String::from_utf8(bytes).map_err(|_| BootError::NotText(path.into()))
}

/// After a revert and before the restart the running kernel still has what was taken back.
fn taken_over(path: &str, arguments: &[&str]) -> Option<String> {
    let list = arguments.join(" ");
    (!arguments.is_empty()).then(|| {
        format!(
            "{path} takes over {list} of the running kernel: restart first where that is of a plan that was reverted"
        )
    })
}

/// An editor's error, with its file.
fn in_file(path: &str) -> impl FnOnce(ArgumentsError) -> BootError + '_ {
    move |why| BootError::Arguments { path: path.into(), why }
}

/// Stands in everything that is written, so that a reader knows who wrote it.
const MARK: &str = "Written by ontick tune --boot; ontick tune revert takes it out again.";
/// Of a change that is tried once first.
const TRIAL: Tryboot = Tryboot { line: "ontick-cmdline.txt", mark: MARK };

fn pairs(settings: &[Setting]) -> Vec<(String, String)> {
    settings.iter().map(|s| (s.key.clone(), s.value.clone())).collect()
}
