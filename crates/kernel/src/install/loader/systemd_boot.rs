//! systemd-boot: an entry file of its own, after the one that is booted now.

use ontick_machine::Facts;
use ontick_machine::Root;

use super::{LoaderError, MARK, Stage, Survey, Written, folder_of, name_of, read};
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
    let (entry, text) = pattern(root, facts, entries)?;
    let folder = folder_of(&entry);
    let (own, settings) =
        (format!("{folder}{}.conf", kernel.name), format!("{}/loader/loader.conf", partition(&entry)));
    let mut written = Written::default();
    let before = root.exists(&own).then(|| read(root, &own)).transpose()?;
    if before.as_ref().is_some_and(|text| !text.contains(MARK)) {
        return Err(LoaderError::NameTaken(own));
    }
    written.edit(&own, before, entry_text(&text, kernel)?);
    let conf = read(root, &settings)?;
    let default = values(&conf, "default").last().map(str::to_owned);
    let file = format!("{}.conf", kernel.name);
    match stage {
        Stage::Keep => written.edit(&settings, Some(conf.clone()), with_default(&conf, &file)),
        // Without a default the newest entry is booted, which would be the new kernel's.
        Stage::Try if default.is_none() && values(&text, "sort-key").next().is_none() => {
            written
                .notes
                .push(format!("{settings} names no default: what is booted now ({}) becomes it", name_of(&entry)));
            written.edit(&settings, Some(conf.clone()), with_default(&conf, name_of(&entry)));
        }
        Stage::Try => {
            let default = default.unwrap_or_default();
            if default == "@saved" || glob(&default, &file) || glob(&default, &kernel.name) {
                return Err(LoaderError::DefaultMatches { settings, default, entry: name_of(&entry).into() });
            }
        }
    }
    Ok(written)
}

/// The entry that is booted now.
fn pattern(root: &Root, facts: &Facts, entries: &[String]) -> Result<(String, String), LoaderError> {
    let own = |e: &&String| !root.text(e).is_ok_and(|text| text.contains(MARK));
    let entries: Vec<&String> = entries.iter().filter(own).collect();
    let first = entries.first().ok_or(LoaderError::NoEntry)?;
    let settings = read(root, &format!("{}/loader/loader.conf", partition(first)))?;
    let default = values(&settings, "default").last().unwrap_or_default().to_owned();
    let release = &facts.kernel.release;
    let runs = |e: &&&String| {
        !release.is_empty()
            && (name_of(e).contains(release.as_str())
                || root.text(e).is_ok_and(|t| values(&t, "version").any(|v| v == release)))
    };
    let is_default = |e: &&&String| {
        !default.is_empty() && (glob(&default, name_of(e)) || glob(&default, name_of(e).trim_end_matches(".conf")))
    };
    let found = entries.iter().find(runs).or_else(|| entries.iter().find(is_default));
    let entry = match (found, entries.len()) {
        (Some(entry), _) => entry,
        (None, 1) => first,
        _ => return Err(LoaderError::UnknownEntry),
    };
    let text = read(root, entry)?;
    Ok(((*entry).clone(), text))
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
