//! systemd-boot: an entry file of its own, after the one that is booted now.

use ontick_machine::boot::{Argument, BootFile, efi};
use ontick_machine::facts::Arguments;
use ontick_machine::{Facts, Root};

use super::{Firmware, LoaderError, MARK, OnceError, Stage, Survey, TRIAL_MARK, Written, folder_of, name_of, read};
use crate::install::Installed;

pub(super) fn survey(root: &Root, facts: &Facts, entries: &[String], name: &str) -> Result<Survey, LoaderError> {
    let (entry, text) = pattern(root, facts, entries)?;
    let partition = partition(&entry);
    let initramfs = values(&text, "initrd").last().map(|path| format!("{partition}{path}"));
    if values(&text, "linux").next().is_none() {
        return Err(LoaderError::NoLinux(entry));
    }
    Ok(Survey {
        folder: format!("{partition}/{name}"),
        kernel: "linux".into(),
        initramfs: "initrd.img".into(),
        initramfs_size: initramfs
            .as_ref()
            .and_then(|path| std::fs::metadata(root.outside(path).ok()?).ok())
            .map(|m| m.len()),
        wants_initramfs: initramfs.is_some(),
        arguments: values(&text, "options").collect::<Vec<_>>().join(" "),
        ..Survey::default()
    })
}

pub(super) fn write(
    root: &Root,
    facts: &Facts,
    entries: &[String],
    kernel: &Installed,
    stage: Stage,
) -> Result<Written, LoaderError> {
    let mut written = Written::default();
    let file = format!("{}.conf", kernel.name);
    if stage == Stage::Keep {
        let settings = settings_of(entries.first().ok_or(LoaderError::NoEntry)?);
        refuse_other_default(root, &kernel.name)?;
        let conf = read(root, &settings)?;
        written.edit(&settings, Some(conf.clone()), with_default(&conf, &file));
        // What was tried is what is kept: the entry of the kernel that runs now would be another one.
        let tried = format!("{}/loader/entries/{file}", partition(&settings));
        if root.text(&tried).is_ok_and(|text| text.contains(MARK)) {
            return Ok(written);
        }
    }
    let usual = pattern(root, facts, entries)?;
    if stage == Stage::Try {
        keep_default(root, &usual, &kernel.name, &mut written)?;
    }
    let (own, before) = own_entry(root, &usual.0, &kernel.name, MARK)?;
    written.edit(&own, before, entry_text(&usual.1, kernel)?);
    Ok(written)
}

/// Whatever `loader.conf` says, the default that the firmware keeps counts first.
fn refuse_other_default(root: &Root, name: &str) -> Result<(), LoaderError> {
    let file = format!("{name}.conf");
    match efi::text(root, DEFAULT).filter(|default| !default.is_empty() && !is_default(&file, default)) {
        Some(default) => Err(LoaderError::DefaultInFirmware { default, entry: name.into() }),
        None => Ok(()),
    }
}

/// An entry that boots as the usual one, whose command line this is, with these arguments besides its own.
pub(in crate::install) fn again(
    root: &Root,
    entries: &[String],
    usual: &str,
    name: &str,
    arguments: &[Argument],
) -> Result<Written, LoaderError> {
    let entry = booted(root, entries, &Arguments::parse(usual))?;
    let mut written = Written::default();
    keep_default(root, &entry, name, &mut written)?;
    let (own, before) = own_entry(root, &entry.0, name, TRIAL_MARK)?;
    let text = BootFile::LoaderEntry.with(&entry.1, arguments);
    let text = text.map_err(|why| LoaderError::Arguments { file: entry.0.clone(), why })?;
    written.edit(&own, before, again_text(&text));
    Ok(written)
}

/// The variable of the firmware that names the entry of every boot, before `loader.conf` does.
const DEFAULT: &str = "LoaderEntryDefault";
/// The one that names the next boot's entry, and only that.
const NEXT: &str = "LoaderEntryOneShot";
/// The feature of that variable, a bit of `LoaderFeatures`.
const TAKES_NEXT: u64 = 1 << 3;

/// How systemd-boot takes this entry for the next boot.
pub(in crate::install) fn once(root: &Root, name: &str) -> Result<Firmware, LoaderError> {
    if efi::number(root, "LoaderFeatures").is_none_or(|features| features & TAKES_NEXT == 0) {
        return Err(OnceError::NoFeature(efi::path("LoaderFeatures")).into());
    }
    if root.file_system(efi::FOLDER).is_ok_and(|system| system.read_only) {
        return Err(OnceError::ReadOnly(efi::FOLDER).into());
    }
    let path = efi::path(NEXT);
    Ok(Firmware { before: root.bytes(&path).ok(), path, wanted: efi::file_of(&format!("{name}.conf")) })
}

/// Whether systemd-boot still waits to take this entry.
pub(in crate::install) fn waits(root: &Root, name: &str) -> bool {
    efi::text(root, NEXT).is_some_and(|entry| entry == format!("{name}.conf"))
}

/// The usual entry stays the default beside one of this name.
fn keep_default(
    root: &Root,
    (entry, text): &(String, String),
    name: &str,
    written: &mut Written,
) -> Result<(), LoaderError> {
    let settings = settings_of(entry);
    let conf = read(root, &settings)?;
    let chosen = efi::text(root, DEFAULT).map(|default| (default, efi::path(DEFAULT)));
    let named = || values(&conf, "default").last().map(|default| (default.to_owned(), settings.clone()));
    let Some((default, settings)) = chosen.or_else(named) else {
        // Without a default the newest entry is booted, which would be the new one.
        if values(text, "sort-key").next().is_none() {
            let usual = name_of(entry);
            written.notes.push(format!("{settings} names no default: what is booted now ({usual}) becomes it"));
            written.edit(&settings, Some(conf.clone()), with_default(&conf, usual));
        }
        return Ok(());
    };
    match default == "@saved" || glob(&default, &format!("{name}.conf")) || glob(&default, name) {
        true => Err(LoaderError::DefaultMatches { settings, default, entry: name_of(entry).into() }),
        false => Ok(()),
    }
}

/// The file of an entry of ours beside the usual one, and what it holds.
fn own_entry(root: &Root, usual: &str, name: &str, mark: &str) -> Result<(String, Option<String>), LoaderError> {
    let own = format!("{}{name}.conf", folder_of(usual));
    let before = root.exists(&own).then(|| read(root, &own)).transpose()?;
    match before.as_ref().is_some_and(|text| !text.contains(mark)) {
        true => Err(LoaderError::NameTaken(own)),
        false => Ok((own, before)),
    }
}

fn settings_of(entry: &str) -> String {
    format!("{}/loader/loader.conf", partition(entry))
}

/// The entry by which the running kernel was booted, whose command line this is: the default one, if several could be.
fn booted(root: &Root, entries: &[String], running: &Arguments) -> Result<(String, String), LoaderError> {
    let first = entries.first().ok_or(LoaderError::NoEntry)?;
    let others = entries.iter().filter(|entry| !root.text(entry).is_ok_and(|text| text.contains(TRIAL_MARK)));
    let mut able = Vec::new();
    for entry in others {
        let text = read(root, entry)?;
        if boots(&text, running) {
            able.push((entry.clone(), text));
        }
    }
    let release = root.value("/proc/sys/kernel/osrelease").unwrap_or_default();
    if able.iter().any(|(entry, text)| is_of_kernel(entry, text, &release)) {
        able.retain(|(entry, text)| is_of_kernel(entry, text, &release));
    }
    let default = default_of(&read(root, &settings_of(first))?);
    if able.len() > 1 {
        able.retain(|(entry, _)| is_default(entry, &default));
    }
    match able.len() {
        0 => Err(LoaderError::NotInMenu(folder_of(first).trim_end_matches('/').into())),
        1 => Ok(able.remove(0)),
        _ => Err(LoaderError::UnknownEntry),
    }
}

/// Whether an entry gives the kernel all that this command line has of it.
fn boots(text: &str, running: &Arguments) -> bool {
    let given = |word: &str| running.iter().any(|argument| argument == word);
    let mut named = values(text, "initrd").map(|path| format!("initrd={}", path.replace('/', "\\")));
    // Later ones hand the initramfs over without a word.
    let silent = running.get("initrd").is_none();
    values(text, "linux").next().is_some()
        && (silent || named.all(|word| given(&word)))
        && values(text, "options").flat_map(str::split_whitespace).all(given)
}

/// The entry with arguments on trial.
fn again_text(usual: &str) -> String {
    let mut text = format!("# {TRIAL_MARK}\ntitle   Linux with arguments on trial (ontick)\n");
    for line in usual.lines() {
        match line.split_whitespace().next() {
            Some("title") => {}
            Some("sort-key") => text += "sort-key zz-ontick\n",
            _ => text.extend([line, "\n"]),
        }
    }
    text
}

/// The entry that is booted now.
fn pattern(root: &Root, facts: &Facts, entries: &[String]) -> Result<(String, String), LoaderError> {
    let own = |e: &&String| !root.text(e).is_ok_and(|text| text.contains(MARK));
    let entries: Vec<&String> = entries.iter().filter(own).collect();
    let first = entries.first().ok_or(LoaderError::NoEntry)?;
    let default = default_of(&read(root, &settings_of(first))?);
    let runs = |e: &&&String| is_of_kernel(e, &root.text(e).unwrap_or_default(), &facts.kernel.release);
    let found = entries.iter().find(runs).or_else(|| entries.iter().find(|e| is_default(e, &default)));
    let entry = match (found, entries.len()) {
        (Some(entry), _) => entry,
        (None, 1) => first,
        _ => return Err(LoaderError::UnknownEntry),
    };
    let text = read(root, entry)?;
    Ok(((*entry).clone(), text))
}

/// Whether an entry is of the kernel with this release, by its name or its version.
fn is_of_kernel(entry: &str, text: &str, release: &str) -> bool {
    !release.is_empty() && (name_of(entry).contains(release) || values(text, "version").any(|v| v == release))
}

fn default_of(settings: &str) -> String {
    values(settings, "default").last().unwrap_or_default().to_owned()
}

fn is_default(entry: &str, default: &str) -> bool {
    let name = name_of(entry);
    !default.is_empty() && (glob(default, name) || glob(default, name.trim_end_matches(".conf")))
}

/// The partition's folder: entries name files from there.
fn partition(entry: &str) -> &str {
    entry.split_once("/loader/").map_or("", |(partition, _)| partition)
}

/// Values of a keyword.
fn values<'a>(text: &'a str, keyword: &'a str) -> impl Iterator<Item = &'a str> {
    let value = move |line: &'a str| {
        line.trim().strip_prefix(keyword).filter(|rest| rest.starts_with([' ', '\t'])).map(str::trim)
    };
    text.lines().filter_map(value)
}

fn entry_text(pattern: &str, kernel: &Installed) -> Result<String, LoaderError> {
    if values(pattern, "options").any(|o| o.contains('$')) {
        return Err(LoaderError::Variable);
    }
    let own = |file: &str| format!("/{}/{file}", kernel.name);
    let mut text = format!("# {MARK}\ntitle   Linux {} (ontick)\nversion {}\n", kernel.release, kernel.release);
    for line in pattern.lines() {
        let (word, value) = line.trim().split_once([' ', '\t']).unwrap_or((line.trim(), ""));
        match word {
            "machine-id" | "architecture" | "options" => text.extend([line, "\n"]),
            "sort-key" => text += "sort-key zz-ontick\n",
            "linux" => text += &format!("linux   {}\n", own(&kernel.kernel)),
            // Microcode, which is loaded before, stays.
            "initrd" if name_of(value.trim()).contains("ucode") => text.extend([line, "\n"]),
            "devicetree" => {
                let tree = kernel.dtbs.iter().find(|d| name_of(d) == name_of(value.trim()));
                let missing = || LoaderError::NoDeviceTree {
                    tree: name_of(value.trim()).into(),
                    entry: "the entry that is booted now",
                };
                let tree = tree.ok_or_else(missing)?;
                text += &format!("devicetree {}\n", own(&format!("dtbs/{tree}")));
            }
            _ => {}
        }
    }
    if let Some(file) = &kernel.initramfs {
        text += &format!("initrd  {}\n", own(file));
    }
    Ok(text)
}

/// `loader.conf` with this default.
fn with_default(text: &str, entry: &str) -> String {
    let line = format!("default {entry}\n");
    let mut new = String::new();
    let mut set = false;
    for old in text.split_inclusive('\n') {
        match values(old, "default").next() {
            Some(_) if !set => {
                new += &line;
                set = true;
            }
            Some(_) => {}
            None => new += old,
        }
    }
    if set {
        return new;
    }
    let gap = if new.is_empty() || new.ends_with('\n') { "" } else { "\n" };
    new + gap + &line
}

/// Whether a pattern with `*` and `?` names this.
fn glob(pattern: &str, name: &str) -> bool {
    match (pattern.chars().next(), name.chars().next()) {
        (None, end) => end.is_none(),
        (Some('*'), _) => {
            let rest = &pattern[1..];
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| glob(rest, &name[at..]))
        }
        (Some('?'), Some(c)) => glob(&pattern[1..], &name[c.len_utf8()..]),
        (Some(p), Some(c)) if p == c => glob(&pattern[p.len_utf8()..], &name[c.len_utf8()..]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_patterns() {
        assert!(glob("arch*", "arch.conf") && glob("*", "x") && glob("a?c", "abc") && !glob("arch", "arch.conf"));
        assert_eq!(
            with_default("timeout 3\n#default x\ndefault  a.conf\ndefault b\n", "n.conf"),
            "timeout 3\n#default x\ndefault n.conf\n"
        );
        assert_eq!(with_default("timeout 3", "n.conf"), "timeout 3\ndefault n.conf\n");
    }
}
