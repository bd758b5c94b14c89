//! How many files a configuration makes the kernel's makefiles compile, so that progress can say how much is left.
//!
//! The makefiles' lists of objects are read, not their conditions: the sum is near, never exact.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ontick_machine::facts::KernelConfig;

/// No tree nests its folders deeper.
const DEEPEST: usize = 20;

/// Folders that the top makefile enters.
const TOP: [&str; 14] = [
    "init", "usr", "kernel", "certs", "mm", "fs", "ipc", "security", "crypto", "block", "io_uring", "drivers", "net",
    "lib",
];

/// About how many files will be compiled.
pub fn estimate(tree: &Path, arch: &str, config: &KernelConfig) -> usize {
    let arch = format!("arch/{arch}");
    let also = [arch.as_str(), "sound", "virt"];
    TOP.iter().chain(&also).map(|folder| folder_steps(&tree.join(folder), config, 0)).sum()
}

fn folder_steps(folder: &Path, config: &KernelConfig, depth: usize) -> usize {
    let text = ["Kbuild", "Makefile"].iter().find_map(|name| fs::read_to_string(folder.join(name)).ok());
    let Some(text) = text.filter(|_| depth < DEEPEST) else { return 0 };
    let (objects, folders) = listed(&text, config);
    let below: usize = folders.iter().map(|name| folder_steps(&folder.join(name), config, depth + 1)).sum();
    objects + below
}

/// What a makefile lists of what is on: how many objects, which folders.
fn listed(text: &str, config: &KernelConfig) -> (usize, BTreeSet<String>) {
    let text = text.replace("\\\n", " ");
    let lists: Vec<(&str, &str)> = text.lines().filter_map(|line| list(line, config)).collect();
    let of = |names: &'static [&'static str]| {
        lists.iter().filter(move |(name, _)| names.contains(name)).flat_map(|(_, words)| words.split_whitespace())
    };
    let (mut objects, mut folders) = (BTreeSet::new(), BTreeSet::new());
    for word in of(&["obj", "lib"]) {
        match (word.strip_suffix('/'), word.strip_suffix(".o")) {
            (Some(folder), _) => drop(folders.insert(folder.to_owned())),
            (_, Some(object)) => drop(objects.insert(object.to_owned())),
            _ => {}
        }
    }
    let mut parts = BTreeSet::new();
    let mut whole = objects.clone();
    for (name, words) in lists.iter().filter(|(name, _)| objects.contains(*name)) {
        whole.remove(*name);
        parts.extend(words.split_whitespace().filter_map(|word| word.strip_suffix(".o")));
    }
    (whole.len() + parts.len(), folders)
}

/// `obj-$(CONFIG_X) += a.o b/`: its name and its words, if it is on.
fn list<'a>(line: &'a str, config: &KernelConfig) -> Option<(&'a str, &'a str)> {
    let line = line.split('#').next()?;
    let (target, words) = line.split_once('=')?;
    let target = target.trim().trim_end_matches(['+', ':']).trim();
    let (name, kind) = target.rsplit_once('-')?;
    let on = match kind {
        "y" | "m" | "objs" => true,
        _ => config.has(kind.strip_prefix("$(CONFIG_")?.strip_suffix(')')?) == Some(true),
    };
    (on && !name.contains(['$', ' '])).then_some((name, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let place = folder.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        };
        write("kernel/Makefile", "obj-y = fork.o \\\n  exit.o # gone.o\nobj-$(CONFIG_SMP) += smp.o\nobj-y += sched/\n");
        write(
            "kernel/sched/Makefile",
            "obj-$(CONFIG_OFF) += off.o\noff-y := a.o b.o\nobj-m := mod.o\nmod-objs := c.o d.o\nmod-$(CONFIG_SMP) += e.o\n",
        );
        write("arch/arm64/Kbuild", "obj-y += kernel/\n");
        write("arch/arm64/kernel/Makefile", "obj-y := entry.o\nobj-y += ../kernel/\n");
        let config = KernelConfig::parse("x", "CONFIG_SMP=y\n");
        assert!(estimate(folder.path(), "arm64", &config) >= 7);
        write("arch/arm64/kernel/Makefile", "obj-y := entry.o\n");
        assert_eq!(estimate(folder.path(), "arm64", &config), 7);
    }
}
