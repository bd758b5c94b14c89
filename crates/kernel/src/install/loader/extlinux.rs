//! `extlinux.conf`: one more label after the default one. U-Boot has no choice for one boot only, so the new
//! kernel is tried by its menu, on the serial console.

use ontick_machine::Root;

use super::{LoaderError, MARK, Stage, Survey, Written, beside, folder_of, name_of, read, size_of};
use crate::install::Installed;
use crate::install::package::Package;

pub(super) fn survey(root: &Root, file: &str, package: &Package, name: &str) -> Result<Survey, LoaderError> {
    let text = read(root, file)?;
    let label = default_label(&text).ok_or_else(|| no_label(file))?;
    let kernel = label.value(&["linux", "kernel"]).ok_or_else(|| no_label(file))?;
    let folder = beside(root, file, kernel)?;
    let trees = label.value(&["fdt", "devicetree", "fdtdir", "devicetreedir"]).is_some();
    if trees && package.dtbs().next().is_none() {
        return Err(LoaderError::NoDeviceTrees);
    }
    let initramfs = label.value(&["initrd"]);
    Ok(Survey {
        folder: format!("{folder}/{name}"),
        kernel: "vmlinuz".into(),
        initramfs: "initrd.img".into(),
        initramfs_size: initramfs.and_then(|path| size_of(root, path)),
        wants_initramfs: initramfs.is_some(),
        arguments: label.value(&["append"]).unwrap_or_default().into(),
        notes: vec![format!(
            "U-Boot has no choice for one boot: try it by choosing \"{name}\" in its menu on the serial console, or keep it untried"
        )],
        ..Survey::default()
    })
}

pub(super) fn write(root: &Root, file: &str, kernel: &Installed, stage: Stage) -> Result<Written, LoaderError> {
    let text = read(root, file)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let plain = without_ours(&text, &kernel.name);
    if stage == Stage::Keep && plain != text && default_label(&text).is_some_and(|label| label.name == kernel.name) {
        return Ok(Written::default());
    }
    let label = default_label(&plain).ok_or_else(|| no_label(file))?;
    if label.name == kernel.name {
        return Err(LoaderError::NameTaken(format!("the label {} in {file}", kernel.name)));
    }
    let entry = label.entry(kernel)?.replace('\n', newline);
    let mut after = match stage {
        Stage::Try => plain.clone(),
        Stage::Keep => with_default(&plain, &kernel.name, newline),
    };
    if !after.ends_with('\n') {
        after += newline;
    }
    let mut written = Written::default();
    if plain.contains("u-boot-update") {
        written.notes.push(format!(
            "{file} is made by u-boot-update: the next kernel package makes it anew, without this entry"
        ));
    }
    written.edit(file, Some(text), after + &entry);
    Ok(written)
}

fn no_label(file: &str) -> LoaderError {
    LoaderError::NoDefaultEntry(file.into())
}

struct Label {
    name: String,
    lines: Vec<String>,
}

/// A line's keyword and value.
fn split(line: &str) -> Option<(String, &str)> {
    let (word, value) = line.trim().split_once([' ', '\t'])?;
    Some((word.to_lowercase(), value.trim()))
}

/// The label that is booted: the one that `default` names, else the first.
fn default_label(text: &str) -> Option<Label> {
    let named = |keyword: &str| {
        text.lines().filter_map(split).find(|(word, _)| word == keyword).map(|(_, value)| value.to_owned())
    };
    let wanted = named("default").or_else(|| named("label"))?;
    let mut label: Option<Label> = None;
    for line in text.lines() {
        match split(line) {
            Some((word, name)) if word == "label" => {
                if label.is_some() {
                    break;
                }
                label = (name == wanted).then(|| Label { name: wanted.clone(), lines: Vec::new() });
            }
            Some(_) => {
                if let Some(label) = &mut label {
                    label.lines.push(line.into());
                }
            }
            None => {}
        }
    }
    label
}

impl Label {
    fn value(&self, keywords: &[&str]) -> Option<&str> {
        self.lines
            .iter()
            .filter_map(|line| split(line))
            .find(|(word, _)| keywords.contains(&word.as_str()))
            .map(|(_, value)| value)
    }

    fn entry(&self, kernel: &Installed) -> Result<String, LoaderError> {
        let base = folder_of(self.value(&["linux", "kernel"]).unwrap_or_default());
        let own = |file: &str| format!("{base}{}/{file}", kernel.name);
        let mut text = format!("# {MARK}\nlabel {}\n\tmenu label Linux {} (ontick)\n", kernel.name, kernel.release);
        for line in &self.lines {
            let Some((word, value)) = split(line) else { continue };
            match word.as_str() {
                "linux" | "kernel" => text += &format!("\t{word} {}\n", own(&kernel.kernel)),
                "initrd" => text.extend(kernel.initramfs.as_ref().map(|file| format!("\tinitrd {}\n", own(file)))),
                "fdtdir" | "devicetreedir" => text += &format!("\t{word} {}\n", own("dtbs/")),
                "fdt" | "devicetree" => {
                    let tree = kernel.dtbs.iter().find(|d| name_of(d) == name_of(value));
                    let missing =
                        || LoaderError::NoDeviceTree { tree: name_of(value).into(), entry: "the default entry" };
                    let tree = tree.ok_or_else(missing)?;
                    text += &format!("\t{word} {}\n", own(&format!("dtbs/{tree}")));
                }
                "append" | "fdtoverlays" => text += &format!("\t{word} {value}\n"),
                _ => {}
            }
        }
        Ok(text)
    }
}

/// The text without our label, which stands last.
fn without_ours(text: &str, name: &str) -> String {
    let mark = format!("# {MARK}");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(begin) = lines.iter().position(|l| l.trim() == mark) else { return text.into() };
    let ours = |l: &&str| split(l).is_some_and(|(word, value)| word == "label" && value == name);
    if !lines.get(begin + 1).is_some_and(ours) {
        return text.into();
    }
    let next = |l: &&str| split(l).is_some_and(|(word, _)| word == "label" || word == "default");
    let end = lines[begin + 2..].iter().position(next).map_or(lines.len(), |at| begin + 2 + at);
    [&lines[..begin], &lines[end..]].concat().concat()
}

fn with_default(text: &str, name: &str, newline: &str) -> String {
    let is_default = |line: &&str| split(line).is_some_and(|(word, _)| word == "default");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    match lines.iter().position(is_default) {
        Some(at) => {
            let new = format!("default {name}{newline}");
            lines.iter().enumerate().map(|(i, l)| if i == at { new.as_str() } else { l }).collect()
        }
        None => format!("default {name}{newline}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    const TEXT: &str = "timeout 10\ndefault l0\nlabel l0\n\tlinux /vmlinuz-6.1\n\tinitrd /initrd.img-6.1\n\tfdtdir /dtbs-6.1/\n\tappend root=a ro\nlabel l1\n\tlinux /old\n";

    #[test]
    fn the_label_follows_the_default_one() {
        let dtbs = vec!["ti/am335x-boneblack.dtb".into()];
        let kernel = Installed { dtbs, ..example() };
        let label = default_label(TEXT).unwrap();
        let entry = label.entry(&kernel).unwrap();
        assert!(entry.contains("\tlinux /ontick-6.12-rt/vmlinuz\n\tinitrd /ontick-6.12-rt/initrd.img\n\tfdtdir /ontick-6.12-rt/dtbs/\n\tappend root=a ro\n"), "{entry}");
        assert_eq!(without_ours(&(TEXT.to_owned() + &entry), &kernel.name), TEXT);
        assert!(with_default(TEXT, "n", "\n").contains("\ndefault n\n"));
        let first = TEXT.replace("default l0\n", "");
        assert_eq!(default_label(&first).unwrap().name, "l0");
        assert!(with_default(&first, "n", "\n").starts_with("default n\n"));
    }
}
