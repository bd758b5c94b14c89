//! The board; on a Raspberry Pi also what its firmware is set to and what it reports.

use ontick_undo::program;
use serde::Serialize;

use super::{Identity, firmware_folder};
use crate::config_txt::ConfigTxt;
use crate::root::Root;

/// The board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Board {
    /// Board or product name; empty where it cannot be known.
    pub model: String,
    /// What the device tree says that it is compatible with, the board first.
    #[serde(skip)]
    pub compatible: String,
    /// The Raspberry Pi's generation, where it is one.
    pub raspberry_pi: Option<Pi>,
    /// How PCI Express links save power (`default`, `performance`, …); empty where there is no such setting.
    pub pcie_power: String,
}

/// A Raspberry Pi.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pi {
    /// 1 to 5 by the processor's family (1 for the first Zero, 3 for the Zero 2); 0 where it cannot be known.
    pub generation: u32,
    /// Where `config.txt` lies; empty where it was not found.
    pub config_file: String,
    /// Settings that hold for this board.
    pub config: ConfigTxt,
    /// The firmware's throttling flags (`vcgencmd get_throttled`), where the kernel passes them on.
    pub throttled: Option<u32>,
}

impl Board {
    pub(crate) fn probe(root: &Root, identity: Identity) -> Self {
        let raspberry_pi = identity.is_raspberry_pi().then(|| pi(root, &identity));
        let model = Some(identity.model).filter(|model| !model.is_empty());
        let policy = root.value("/sys/module/pcie_aspm/parameters/policy").unwrap_or_default();
        let chosen = policy.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
        Self {
            compatible: identity.compatible,
            raspberry_pi,
            pcie_power: chosen.unwrap_or_default().into(),
            model: model.or_else(|| product(root)).unwrap_or_default(),
        }
    }
}

fn product(root: &Root) -> Option<String> {
    let vendor = root.value("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let name = root.value("/sys/class/dmi/id/product_name").unwrap_or_default();
    Some(format!("{vendor} {name}").trim().to_owned()).filter(|n| !n.is_empty())
}

fn pi(root: &Root, identity: &Identity) -> Pi {
    let generation = generation(identity);
    let config_file = firmware_folder(root).map(|folder| format!("{folder}/config.txt")).unwrap_or_default();
    let config = read_config(root, &config_file, &identity.model, generation).unwrap_or_default();
    let flags = root.matching("/sys/devices/platform/soc*/soc*:firmware/get_throttled");
    let flags = flags.first().and_then(|path| root.value(path)).or_else(|| asked(root));
    let throttled = flags.and_then(|v| u32::from_str_radix(v.trim_start_matches("0x"), 16).ok());
    Pi { generation, config_file, config, throttled }
}

fn generation(identity: &Identity) -> u32 {
    let families = [("bcm2712", 5), ("bcm2711", 4), ("bcm2837", 3), ("bcm2836", 2), ("bcm2835", 1)];
    families.iter().find(|(chip, _)| identity.compatible.contains(chip)).map_or(0, |(_, g)| *g)
}

/// What a `config.txt` says for the board that the root stands for, the files that it includes too.
pub fn config(root: &Root, file: &str) -> Option<ConfigTxt> {
    let identity = Identity::probe(root);
    read_config(root, file, &identity.model, generation(&identity))
}

fn read_config(root: &Root, file: &str, model: &str, generation: u32) -> Option<ConfigTxt> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside = |name: &str| root.text(&format!("{folder}/{}", name.trim_start_matches('/'))).ok();
    Some(ConfigTxt::parse_with(&root.text(file).ok()?, model, generation, &beside))
}

/// Newer kernels leave the question to the firmware's own tool: `throttled=0x50005`.
fn asked(root: &Root) -> Option<String> {
    let ask = || program::command("vcgencmd").ok()?.arg("get_throttled").output().ok();
    let output = root.is_live().then(ask)??;
    Some(String::from_utf8(output.stdout).ok()?.trim().strip_prefix("throttled=")?.to_owned())
}
