//! Parts of the kernel: built in, loaded, loadable or absent, found out without loading any.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;

/// How a part of the kernel is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It is in the kernel.
    BuiltIn,
    /// Its module is loaded.
    Loaded,
    /// Its module is loaded when it is asked for (by root).
    Loadable,
    /// The kernel was built with it as a module, whose file is not installed.
    NotInstalled,
    /// The kernel was built without it.
    Absent,
    /// Nothing tells: no configuration and no folder of modules.
    Unknown,
}

impl Presence {
    /// Whether it can be used, by root at least.
    pub fn usable(self) -> bool {
        matches!(self, Presence::BuiltIn | Presence::Loaded | Presence::Loadable)
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Presence::BuiltIn => "built in",
            Presence::Loaded => "loaded",
            Presence::Loadable => "loadable",
            Presence::NotInstalled => "a module that is not installed",
            Presence::Absent => "not in this kernel",
            Presence::Unknown => "unknown",
        }
    }
}

/// Names here, options of the configuration, and modules; an option without a module is part of something else.
const PARTS: [(&str, &str, &str); 20] = [
    ("taprio", "NET_SCH_TAPRIO", "sch_taprio"),
    ("etf", "NET_SCH_ETF", "sch_etf"),
    ("cbs", "NET_SCH_CBS", "sch_cbs"),
    ("mqprio", "NET_SCH_MQPRIO", "sch_mqprio"),
    ("prio", "NET_SCH_PRIO", "sch_prio"),
    ("clsact", "NET_SCH_INGRESS", "sch_ingress"),
    ("flower", "NET_CLS_FLOWER", "cls_flower"),
    ("skbedit", "NET_ACT_SKBEDIT", "act_skbedit"),
    ("police", "NET_ACT_POLICE", "act_police"),
    ("gate", "NET_ACT_GATE", "act_gate"),
    ("nftables", "NF_TABLES", "nf_tables"),
    // A part of nf_tables itself.
    ("nftables-bridge", "NF_TABLES_BRIDGE", "nf_tables"),
    ("nftables-bridge-meta", "NFT_BRIDGE_META", "nft_meta_bridge"),
    ("iptables-classify", "NETFILTER_XT_TARGET_CLASSIFY", "xt_CLASSIFY"),
    ("br_netfilter", "BRIDGE_NETFILTER", "br_netfilter"),
    ("bridge", "BRIDGE", "bridge"),
    ("openvswitch", "OPENVSWITCH", "openvswitch"),
    ("af_packet", "PACKET", "af_packet"),
    ("af_xdp", "XDP_SOCKETS", ""),
    ("veth", "VETH", "veth"),
];

/// Parts of the kernel by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Parts(BTreeMap<&'static str, Presence>);

/// The kernel's configuration: an option's value by its name without `CONFIG_`, or nothing where it is off. Absent
/// itself where no configuration is known.
pub type Options<'a> = Option<&'a dyn Fn(&str) -> Option<String>>;

impl Parts {
    /// Looks beneath `root`.
    pub(crate) fn probe(root: &Path, release: &str, option: Options) -> Self {
        let modules = Modules::probe(root, release);
        let presence =
            |(name, config, module): (&'static str, &str, &str)| (name, modules.presence(config, module, option));
        Self(PARTS.into_iter().map(presence).collect())
    }

    /// How a part is there.
    pub fn presence(&self, name: &str) -> Presence {
        self.0.get(name).copied().unwrap_or(Presence::Unknown)
    }

    /// Whether a part can be used, or may be where nothing tells.
    pub fn may(&self, name: &str) -> bool {
        matches!(self.presence(name), Presence::Unknown) || self.presence(name).usable()
    }

    /// Of some parts, those that cannot be used; one that was built and is not installed says so.
    pub fn missing(&self, names: &[&str]) -> Vec<String> {
        let missing = names.iter().filter(|name| !self.may(name));
        let words = |name: &&str| match self.presence(name) {
            Presence::NotInstalled => format!("{name} (its module is not installed)"),
            _ => (*name).to_owned(),
        };
        missing.map(words).collect()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Presence)> {
        self.0.iter().map(|(name, presence)| (*name, *presence))
    }
}

/// Lists of modules.
#[derive(Default)]
struct Modules {
    built_in: Option<String>,
    installed: Option<String>,
    loaded: String,
}

impl Modules {
    fn probe(root: &Path, release: &str) -> Self {
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        // Some systems have /lib apart from /usr/lib.
        let list =
            |file: &str| ["lib", "usr/lib"].iter().find_map(|lib| read(&format!("{lib}/modules/{release}/{file}")));
        Self {
            built_in: list("modules.builtin"),
            installed: list("modules.dep"),
            loaded: read("proc/modules").unwrap_or_default(),
        }
    }

    fn presence(&self, config: &str, module: &str, option: Options) -> Presence {
        let names =
            |list: &Option<String>| list.as_deref().unwrap_or_default().lines().any(|line| is_file_of(line, module));
        // Names of modules have - and _ alike.
        let loaded = |line: &str| line.split(' ').next() == Some(module);
        let set = option.map(|option| option(config));
        match set.as_ref().map(Option::as_deref) {
            Some(Some("y")) => Presence::BuiltIn,
            Some(None) => Presence::Absent,
            _ if self.loaded.lines().any(loaded) => Presence::Loaded,
            _ if names(&self.built_in) => Presence::BuiltIn,
            _ if names(&self.installed) => Presence::Loadable,
            Some(Some(_)) => Presence::NotInstalled,
            None if module.is_empty() || self.installed.is_none() => Presence::Unknown,
            None => Presence::Absent,
        }
    }
}

/// Whether a line of `modules.dep` or `modules.builtin` begins with a module's file, which may be compressed.
fn is_file_of(line: &str, module: &str) -> bool {
    let file = line.split(':').next().unwrap_or_default();
    let name = file.rsplit('/').next().unwrap_or_default();
    let stem = name.split(".ko").next().unwrap_or_default();
    name.contains(".ko") && !module.is_empty() && stem.replace('-', "_") == module
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn a_distribution_s_kernel() {
        let folder = machine(&[
            ("lib/modules/6.12/modules.builtin", "kernel/net/packet/af_packet.ko\nkernel/net/bridge/bridge.ko\n"),
            (
                "lib/modules/6.12/modules.dep",
                "kernel/net/sched/sch_taprio.ko.xz: kernel/x.ko\nkernel/net/sched/act_skbedit.ko:\nkernel/y.ko: kernel/net/sched/sch_etf.ko\n",
            ),
            ("proc/modules", "act_skbedit 16384 0 - Live 0x0\nsch_etf_not 1 0 - Live 0x0\n"),
        ]);
        let parts = Parts::probe(folder.path(), "6.12", None);
        let is = |name| parts.presence(name);
        assert_eq!(
            (is("taprio"), is("skbedit"), is("af_packet")),
            (Presence::Loadable, Presence::Loaded, Presence::BuiltIn)
        );
        assert_eq!((is("etf"), is("af_xdp"), is("nonsense")), (Presence::Absent, Presence::Unknown, Presence::Unknown));
        assert_eq!(parts.missing(&["taprio", "etf", "af_xdp"]), ["etf"]);
        // What the kernel was built without, no module of the same name gives.
        let without = Parts::probe(folder.path(), "6.12", Some(&|_| None));
        assert!(without.iter().all(|(_, presence)| presence == Presence::Absent));
    }

    #[test]
    fn a_kernel_without_a_folder_of_modules() {
        let folder = machine(&[("proc/modules", "")]);
        let option = |name: &str| match name {
            "BRIDGE" | "XDP_SOCKETS" => Some("y".to_owned()),
            "NET_SCH_TAPRIO" => Some("m".to_owned()),
            _ => None,
        };
        let parts = Parts::probe(folder.path(), "6.18", Some(&option));
        let is = |name| parts.presence(name);
        assert_eq!((is("bridge"), is("af_xdp")), (Presence::BuiltIn, Presence::BuiltIn));
        assert_eq!((is("taprio"), is("flower")), (Presence::NotInstalled, Presence::Absent));
        let unknown = Parts::probe(folder.path(), "6.18", None);
        assert!(unknown.iter().all(|(_, presence)| presence == Presence::Unknown));
        assert!(unknown.may("taprio"));
    }
}
