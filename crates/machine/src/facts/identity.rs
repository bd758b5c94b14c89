//! Which board a system is for: as the running kernel's device tree says, else as those on a mounted card say, from which
//! the firmware would choose.

use std::collections::BTreeSet;

use ontick_units::CpuList;

use crate::config_txt::ConfigTxt;
use crate::device_tree::DeviceTree;
use crate::root::Root;

/// What is known of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Its name; that of its kind where several boards come into question, else empty.
    pub model: String,
    /// What it is compatible with, separated by spaces.
    pub compatible: String,
    /// What its first CPU is compatible with.
    pub processor: String,
    /// The CPUs of the board that does not run, by the files on its card: of each kind of board that they are for.
    pub boards: Vec<CpuList>,
    /// Why a file says nothing.
    pub problem: Option<String>,
}

impl Identity {
    pub(crate) fn probe(root: &Root) -> Self {
        let property = |name: &str| root.value(&format!("/proc/device-tree/{name}"));
        let (model, compatible) = (property("model"), property("compatible"));
        if root.is_live() || model.is_some() || compatible.is_some() {
            let cpus = root.matching("/proc/device-tree/cpus/cpu@*/compatible");
            return Self {
                model: model.unwrap_or_default(),
                compatible: compatible.unwrap_or_default().replace('\0', " "),
                processor: cpus.first().and_then(|path| root.value(path)).unwrap_or_default().replace('\0', " "),
                ..Self::default()
            };
        }
        Self::on_card(root)
    }

    fn on_card(root: &Root) -> Self {
        let mut problem = None;
        let mut trees = Vec::new();
        for file in files(root) {
            let read = root.bytes(&file).map_err(|e| crate::root::reason(&e));
            match read.and_then(|bytes| DeviceTree::parse(&bytes).map_err(|e| e.to_string())) {
                Ok(tree) => trees.push(tree),
                Err(why) => problem = Some(format!("{file}: {why}")),
            }
        }
        let Some(first) = trees.first() else { return Self { problem, ..Self::default() } };
        let same = |of: fn(&DeviceTree) -> &String| trees.iter().all(|tree| of(tree) == of(first));
        let everywhere =
            |word: &&str| trees.iter().all(|tree| tree.compatible.split_whitespace().any(|other| other == *word));
        let model = match same(|tree| &tree.model) {
            true => first.model.clone(),
            false if trees.iter().all(|tree| tree.model.starts_with(RASPBERRY_PI)) => RASPBERRY_PI.into(),
            false => String::new(),
        };
        let cpus: BTreeSet<Vec<u32>> = trees.iter().map(|tree| tree.cpus.iter().collect()).collect();
        Self {
            model,
            compatible: first.compatible.split_whitespace().filter(everywhere).collect::<Vec<_>>().join(" "),
            processor: if same(|tree| &tree.processor) { first.processor.clone() } else { String::new() },
            boards: cpus.into_iter().filter(|set| !set.is_empty()).map(|set| set.into_iter().collect()).collect(),
            problem: None,
        }
    }

    pub(crate) fn is_raspberry_pi(&self) -> bool {
        self.model.starts_with(RASPBERRY_PI)
    }
}

const RASPBERRY_PI: &str = "Raspberry Pi";

/// The Raspberry Pi's boot partition: since bookworm under /boot/firmware. /boot then holds notes of the
/// same names that only say so.
pub(crate) fn firmware_folder(root: &Root) -> Option<String> {
    ["/boot/firmware", "/boot"].into_iter().find(|f| root.exists(&format!("{f}/config.txt"))).map(str::to_owned)
}

/// The device trees from which a Raspberry Pi's firmware chooses: the one that config.txt names, else all of them.
fn files(root: &Root) -> Vec<String> {
    let Some(folder) = firmware_folder(root) else { return Vec::new() };
    // Filters for a board cannot hold while no board is known.
    let beside = |name: &str| root.text(&format!("{folder}/{}", name.trim_start_matches('/'))).ok();
    let text = root.text(&format!("{folder}/config.txt")).unwrap_or_default();
    let settings = ConfigTxt::parse_with(&text, "", 0, &beside);
    let prefix = settings.get("os_prefix").unwrap_or_default();
    // A folder in which the firmware finds no device tree is ignored by it.
    let own = root.matching(&format!("{folder}/{prefix}*.dtb"));
    let (prefix, all) = match own.is_empty() {
        true => ("", root.matching(&format!("{folder}/*.dtb"))),
        false => (prefix, own),
    };
    match settings.get("device_tree").filter(|name| !name.is_empty()) {
        Some(name) => vec![format!("{folder}/{prefix}{}", name.trim_start_matches('/'))],
        None => all,
    }
}
