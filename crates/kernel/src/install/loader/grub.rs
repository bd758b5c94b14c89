//! GRUB: an entry in `custom.cfg`, which the menu that `update-grub` makes reads at each boot. The menu itself is
//! never made anew, so nothing else in it moves; the entry is made after the one that is booted now.

use ontick_machine::boot::{Argument, BootFile};
use ontick_machine::facts::Arguments;
use ontick_machine::{Facts, Root, tree};

use super::{
    LoaderError, MARK, OnceError, Stage, Survey, TRIAL_MARK, Written, beside, folder_of, name_of, read, size_of,
};
use crate::install::Installed;

/// The variable that names the next boot's entry, and only that.
pub(in crate::install) const NEXT: &str = "next_entry";
/// The lines around an entry of ours, by whose it is.
const KERNEL: [&str; 2] = ["### BEGIN ontick kernel", "### END ontick kernel"];
const TRIAL: [&str; 2] = ["### BEGIN ontick search", "### END ontick search"];

pub(super) fn survey(root: &Root, facts: &Facts, name: &str) -> Result<Survey, LoaderError> {
    let (menu, text) = menu(root)?;
    let pattern = pattern(root, &text, facts).ok_or_else(|| no_pattern(&menu))?;
    let folder = beside(root, &menu, &pattern.kernel)?;
    Ok(Survey {
        folder: format!("{folder}/{name}"),
        kernel: "vmlinuz".into(),
        initramfs: "initrd.img".into(),
        initramfs_size: pattern.initramfs.as_ref().and_then(|path| size_of(root, path)),
        wants_initramfs: pattern.initramfs.is_some(),
        arguments: pattern.arguments,
        ..Survey::default()
    })
}

pub(super) fn write(root: &Root, facts: &Facts, kernel: &Installed, stage: Stage) -> Result<Written, LoaderError> {
    let (menu, text) = menu(root)?;
    let (file, before) = custom(root, &menu)?;
    let Parts { above, block, below } = parts(before.as_deref().unwrap_or_default(), KERNEL);
    let block = match block {
        // What was tried is what is kept: the menu's entry for the kernel that runs now would be another one.
        Some(tried) if stage == Stage::Keep => as_default(&tried, &kernel.name),
        _ => pattern(root, &text, facts).ok_or_else(|| no_pattern(&menu))?.entry(kernel, stage),
    };
    let mut written = Written::default();
    written.edit(&file, before, above + &block + &below);
    Ok(written)
}

/// An entry that boots as the usual one, whose command line this is, with these arguments besides its own.
pub(in crate::install) fn again(
    root: &Root,
    usual: &str,
    name: &str,
    arguments: &[Argument],
) -> Result<Written, LoaderError> {
    let (menu, text) = menu(root)?;
    let (file, before) = custom(root, &menu)?;
    let Parts { above, below, .. } = parts(before.as_deref().unwrap_or_default(), TRIAL);
    let running = Arguments::parse(usual);
    let all = entries(&[&text, above.as_str(), &below].concat());
    let pattern = all.into_iter().find(|entry| entry.boots(&running)).ok_or(LoaderError::NotInMenu(menu))?;
    let line = BootFile::OneLine.with(&pattern.arguments, arguments);
    let line = line.map_err(|why| LoaderError::Arguments { file: file.clone(), why })?;
    let mut written = Written::default();
    written.edit(&file, before, above + &pattern.again(name, &line) + &below);
    Ok(written)
}

/// The file of entries that the menu does not make, and what it holds.
fn custom(root: &Root, menu: &str) -> Result<(String, Option<String>), LoaderError> {
    let file = format!("{}custom.cfg", folder_of(menu));
    let before = root.exists(&file).then(|| read(root, &file)).transpose()?;
    Ok((file, before))
}

fn no_pattern(menu: &str) -> LoaderError {
    LoaderError::NoMenuEntry(menu.into())
}

/// The menu, if it reads `custom.cfg`.
fn menu(root: &Root) -> Result<(String, String), LoaderError> {
    let menus = ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"];
    let menu = menus.into_iter().find(|menu| root.exists(menu)).ok_or(LoaderError::NoMenu)?;
    let text = read(root, menu)?;
    match text.contains("custom.cfg") {
        true => Ok((menu.into(), text)),
        false => Err(LoaderError::NoCustomEntries(menu.into())),
    }
}

/// The environment block, if GRUB can write into it: one that it cannot clear would boot the new kernel for ever.
pub(in crate::install) fn environment(root: &Root) -> Result<String, LoaderError> {
    let (menu, text) = menu(root)?;
    let path = format!("{}grubenv", folder_of(&menu));
    if !text.contains(NEXT) {
        return Err(OnceError::Ignored { menu, variable: NEXT }.into());
    }
    if !root.exists(&path) {
        return Err(OnceError::NoBlock(path).into());
    }
    match unwritable(root) {
        Some(kind) => Err(OnceError::Unwritable(kind).into()),
        None => Ok(path),
    }
}

/// What `/boot/grub` lies on, where GRUB can only read that.
fn unwritable(root: &Root) -> Option<String> {
    let mounts = root.text("/proc/self/mounts").unwrap_or_default();
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|f| f.len() > 2);
    let holds = |at: &str| at == "/" || at == "/boot" || at.starts_with("/boot/grub");
    let held = fields.filter(|f| holds(f[1])).max_by_key(|f| f[1].len())?;
    let (device, kind) = (held[0], held[2]);
    match () {
        () if ["btrfs", "zfs"].contains(&kind) => Some(kind.into()),
        () if device.starts_with("/dev/mapper/") || device.starts_with("/dev/dm-") => {
            Some("a mapped device (LVM, encryption)".into())
        }
        () if device.starts_with("/dev/md") => Some("a RAID".into()),
        () => None,
    }
}

/// A text around a block of ours.
#[derive(Debug, PartialEq, Eq)]
struct Parts {
    /// What stands before it, as lines that are whole.
    above: String,
    /// The block with the lines around it, where there is one.
    block: Option<String>,
    below: String,
}

fn parts(text: &str, [begin, end]: [&str; 2]) -> Parts {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let begin = lines.iter().position(|l| l.starts_with(begin));
    let end = lines.iter().position(|l| l.starts_with(end));
    let mut parts = match (begin, end) {
        (Some(begin), Some(end)) if begin < end => Parts {
            above: lines[..begin].concat(),
            block: Some(lines[begin..=end].concat()),
            below: lines[end + 1..].concat(),
        },
        _ => Parts { above: text.into(), block: None, below: String::new() },
    };
    if !parts.above.is_empty() && !parts.above.ends_with('\n') {
        parts.above.push('\n');
    }
    parts
}

/// The block of an entry, which makes that the default, too.
fn as_default(block: &str, name: &str) -> String {
    let default = default(name);
    match block.rfind(KERNEL[1]) {
        Some(end) if !block.contains(&default) => format!("{}{default}{}", &block[..end], &block[end..]),
        _ => block.into(),
    }
}

/// What makes an entry the default, but in a boot for which another one was chosen.
fn default(name: &str) -> String {
    format!("if [ \"${{boot_once}}\" != \"true\" ]; then\n\tset default='{name}'\nfi\n")
}

/// A menu entry that serves as a pattern.
#[derive(Debug, Default, PartialEq, Eq)]
struct Pattern {
    lines: Vec<String>,
    kernel: String,
    initramfs: Option<String>,
    arguments: String,
}

/// The running kernel's entry: the one that it was booted by, else one of its release or file. The first one where it is not
/// known what runs, as on a card in a reader, and where a kernel runs that ontick installed, which is in no menu of others.
fn pattern(root: &Root, menu: &str, facts: &Facts) -> Option<Pattern> {
    let mut all = entries(menu);
    let (release, running) = (&facts.kernel.release, &facts.arguments);
    let is_of_release = |p: &Pattern| !release.is_empty() && name_of(&p.kernel).ends_with(release.as_str());
    let is_own = || root.exists(&format!("{}/{}", Installed::modules_of(release), tree::MARKER));
    let position = |fits: &dyn Fn(&Pattern) -> bool| all.iter().position(fits);
    let at = position(&|p| p.boots(running))
        .or_else(|| position(&is_of_release))
        .or_else(|| position(&|p| p.is_file_of(running)))
        .or_else(|| (!all.is_empty() && (release.is_empty() || is_own())).then_some(0))?;
    Some(all.swap_remove(at))
}

/// The menu's entries that start Linux, but those for recovery.
fn entries(menu: &str) -> Vec<Pattern> {
    let mut all = Vec::new();
    let mut open: Option<Pattern> = None;
    for line in menu.lines() {
        let word = line.trim();
        match &mut open {
            None if word.starts_with("menuentry ") && word.ends_with('{') && !is_recovery(word) => {
                open = Some(Pattern::default())
            }
            None => {}
            Some(_) if word == "}" => all.extend(open.take().filter(|p| !p.kernel.is_empty())),
            Some(pattern) => pattern.take(line),
        }
    }
    all
}

fn is_recovery(title: &str) -> bool {
    title.contains("recovery mode")
}

/// The words of a line of GRUB's, if it begins with one of these.
fn command<'a>(line: &'a str, names: &[&str]) -> Option<(&'a str, &'a str)> {
    let (word, rest) = line.trim().split_once([' ', '\t'])?;
    names.contains(&word).then(|| (word, rest.trim()))
}

const LINUX: [&str; 3] = ["linux", "linuxefi", "linux16"];
const INITRD: [&str; 3] = ["initrd", "initrdefi", "initrd16"];

impl Pattern {
    fn take(&mut self, line: &str) {
        if let Some((_, rest)) = command(line, &LINUX) {
            let (kernel, arguments) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
            (self.kernel, self.arguments) = (kernel.into(), arguments.trim().into());
        } else if let Some((_, files)) = command(line, &INITRD) {
            self.initramfs = files.split_whitespace().next_back().map(str::to_owned);
        }
        self.lines.push(line.into());
    }

    /// Whether the running kernel was booted from its file.
    fn is_file_of(&self, running: &Arguments) -> bool {
        // GRUB may put its name of the disk before the path.
        let path = |path: &str| path.rsplit(')').next().unwrap_or(path).to_owned();
        running.get("BOOT_IMAGE").is_some_and(|image| path(image) == path(&self.kernel))
    }

    /// Whether the running kernel was booted by it: the same file, and every argument that GRUB does not make up.
    fn boots(&self, running: &Arguments) -> bool {
        let plain = |word: &&str| !word.contains(['$', '"', '\'', '\\']);
        self.is_file_of(running)
            && self.arguments.split_whitespace().filter(plain).all(|word| running.iter().any(|given| given == word))
    }

    fn entry(&self, kernel: &Installed, stage: Stage) -> String {
        let (name, release) = (&kernel.name, &kernel.release);
        let own = |path: &str, file: &str| format!("{}{name}/{file}", folder_of(path));
        let linux = format!("{} {}", own(&self.kernel, &kernel.kernel), self.arguments);
        let initrd = |files: &str| {
            // Microcode, which is loaded before, stays.
            let mut files: Vec<String> = files.split_whitespace().map(str::to_owned).collect();
            let last = files.pop().unwrap_or_default();
            files.extend(kernel.initramfs.as_ref().map(|file| own(&last, file)));
            files.join(" ")
        };
        let mut text = format!("{}: {MARK}\n", KERNEL[0]);
        text += &self.renamed(&format!("Linux {release} (ontick)"), name, &linux, initrd);
        if stage == Stage::Keep {
            text += &default(name);
        }
        text + KERNEL[1] + "\n"
    }

    /// The same kernel with another command line.
    fn again(&self, name: &str, arguments: &str) -> String {
        let linux = format!("{} {arguments}", self.kernel);
        let entry = self.renamed("Linux with arguments on trial (ontick)", name, &linux, str::to_owned);
        format!("{}: {TRIAL_MARK}\n{entry}{}\n", TRIAL[0], TRIAL[1])
    }

    /// The entry under another name, with another kernel and other files for its initramfs.
    fn renamed(&self, title: &str, name: &str, linux: &str, initrd: impl Fn(&str) -> String) -> String {
        let mut text = format!("menuentry '{title}' --class gnu-linux --class os $menuentry_id_option '{name}' {{\n");
        for line in &self.lines {
            let indent = &line[..line.len() - line.trim_start().len()];
            if let Some((word, _)) = command(line, &LINUX) {
                text += format!("{indent}{word} {linux}").trim_end();
                text += "\n";
            } else if let Some((word, files)) = command(line, &INITRD) {
                let files = initrd(files);
                if !files.is_empty() {
                    text += &format!("{indent}{word} {files}\n");
                }
            } else if line.trim() == "savedefault" || command(line, &["echo"]).is_some() {
                // A trial is not to become the default by itself.
            } else {
                text.extend([line.as_str(), "\n"]);
            }
        }
        text + "}\n"
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    const MENU: &str = "set default=\"0\"\nmenuentry 'Debian' --class debian $menuentry_id_option 'gnulinux-simple' {\n\tload_video\n\tif [ x = y ]; then insmod gzio; fi\n\tsearch --no-floppy --fs-uuid --set=root ab\n\techo\t'Loading Linux 6.1 ...'\n\tlinux\t/boot/vmlinuz-6.1 root=UUID=ab ro  quiet\n\techo\t'x'\n\tinitrd\t/boot/intel-ucode.img /boot/initrd.img-6.1\n}\nsubmenu 'more' {\n\tmenuentry 'Debian, with Linux 6.1 (recovery mode)' {\n\t\tlinux\t/boot/vmlinuz-6.1 single\n\t}\n\tmenuentry 'Debian, with Linux 5.10' {\n\t\tlinux /boot/vmlinuz-5.10 root=/dev/sda\n\t}\n}\n";

    /// The pattern where a kernel of this release runs, by this command line.
    fn found(menu: &str, release: &str, cmdline: &str) -> Option<Pattern> {
        let folder = tempfile::tempdir().unwrap();
        let mut facts = Facts::default();
        (facts.kernel.release, facts.arguments) = (release.into(), Arguments::parse(cmdline));
        pattern(&Root::at(folder.path()).unwrap(), menu, &facts)
    }

    #[test]
    fn the_entry_follows_its_pattern() {
        let entry = found(MENU, "6.1", "").unwrap().entry(&example(), Stage::Try);
        for line in [
            "\tsearch --no-floppy --fs-uuid --set=root ab\n",
            "\tlinux /boot/ontick-6.12-rt/vmlinuz root=UUID=ab ro  quiet\n",
            "\tinitrd /boot/intel-ucode.img /boot/ontick-6.12-rt/initrd.img\n",
        ] {
            assert!(entry.contains(line), "{line}: {entry}");
        }
        assert!(!entry.contains("set default") && !entry.contains("6.1 ..."), "{entry}");
        assert_eq!(found(MENU, "5.10", "").unwrap().kernel, "/boot/vmlinuz-5.10");
        let without = Installed { initramfs: None, ..example() };
        let entry = found(MENU, "6.1", "").unwrap().entry(&without, Stage::Keep);
        assert!(
            entry.contains("initrd /boot/intel-ucode.img\n") && entry.contains("set default='ontick-6.12-rt'"),
            "{entry}"
        );
        assert_eq!(found("set default=0\n", "6.1", ""), None);
        assert_eq!(found("set default=0\n", "", ""), None);
    }

    #[test]
    fn an_entry_of_something_else_is_no_pattern() {
        let kernel = |release: &str, cmdline: &str| found(MENU, release, cmdline).map(|entry| entry.kernel);
        assert_eq!(kernel("6.14", "root=UUID=ab"), None);
        // It is not known what runs.
        assert_eq!(kernel("", "").as_deref(), Some("/boot/vmlinuz-6.1"));
        // A file without a release in its name; among several of one release the one that was booted.
        let menu = "menuentry 'memtest' {\n\tlinux16 /boot/memtest86+.bin\n}\nmenuentry 'Arch' {\n\tlinux /boot/vmlinuz-linux root=a\n}\nmenuentry 'Arch, too' {\n\tlinux /boot/vmlinuz-linux root=b\n}\n";
        let second = found(menu, "6.14-arch1", "BOOT_IMAGE=(hd0,gpt2)/boot/vmlinuz-linux root=b").unwrap();
        assert_eq!(second.arguments, "root=b");
        assert_eq!(found(menu, "6.14-arch1", ""), None);
    }

    /// The entry that was booted, among several of one kernel.
    #[test]
    fn the_running_kernel_is_booted_again_with_more_arguments() {
        let menu = format!(
            "{MENU}menuentry 'x' {{\n\tlinux /boot/vmlinuz-6.1 root=UUID=ab ro other $extra\n\tinitrd /boot/x\n}}\n"
        );
        let found = |cmdline: &str| entries(&menu).into_iter().find(|entry| entry.boots(&Arguments::parse(cmdline)));
        let usual = found("BOOT_IMAGE=(hd0,gpt2)/boot/vmlinuz-6.1 root=UUID=ab ro quiet").unwrap();
        let entry = usual.again("ontick-search", "root=UUID=ab ro quiet skew_tick=1");
        assert!(entry.contains("\tlinux /boot/vmlinuz-6.1 root=UUID=ab ro quiet skew_tick=1\n"), "{entry}");
        assert!(entry.contains("\tinitrd /boot/intel-ucode.img /boot/initrd.img-6.1\n"), "{entry}");
        assert!(entry.contains("$menuentry_id_option 'ontick-search' {"), "{entry}");
        let other = found("BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=ab ro other more").unwrap();
        assert!(other.arguments.contains("$extra"), "{other:?}");
        assert_eq!(found("BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=cd ro quiet"), None);
        assert_eq!(found("root=UUID=ab ro quiet"), None);
    }

    #[test]
    fn grub_itself_accepts_the_entry() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("custom.cfg");
        std::fs::write(&file, found(MENU, "6.1", "").unwrap().entry(&example(), Stage::Keep)).unwrap();
        match std::process::Command::new("grub-script-check").arg(&file).output() {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            Err(_) => ontick_skip::skipped!("grub-script-check is not installed"),
        }
    }

    #[test]
    fn what_others_wrote_stays_around_the_block() {
        let Parts { above, block, below } = parts("a\n### BEGIN ontick kernel: x\nb\n### END ontick kernel\nc", KERNEL);
        assert_eq!((above.as_str(), below.as_str()), ("a\n", "c"));
        let kept = as_default(&block.unwrap(), "n");
        assert_eq!(kept, format!("### BEGIN ontick kernel: x\nb\n{}### END ontick kernel\n", default("n")));
        assert_eq!(as_default(&kept, "n"), kept);
        let none = parts("a\n### END ontick kernel", KERNEL);
        assert_eq!((none.above.as_str(), none.block), ("a\n### END ontick kernel\n", None));
    }
}
