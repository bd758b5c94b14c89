//! Which kernel, and how far it can be preempted.

use serde::Serialize;

use super::{Arguments, KernelConfig};
use crate::root::Root;

/// How far the kernel lets itself be preempted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Preemption {
    /// `PREEMPT_RT`: nearly everywhere.
    #[serde(rename = "PREEMPT_RT")]
    Rt,
    /// `PREEMPT`: outside spin locks and the like.
    Full,
    /// `PREEMPT_LAZY`: at once for real-time tasks, at the tick for others.
    Lazy,
    /// Only where the kernel offers it.
    Voluntary,
    /// Only on the way back to user space.
    None,
    /// It could not be known.
    #[default]
    Unknown,
}

impl Preemption {
    /// As the kernel names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rt => "PREEMPT_RT",
            Self::Full => "full",
            Self::Lazy => "lazy",
            Self::Voluntary => "voluntary",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Full, Self::Lazy, Self::Voluntary, Self::None].into_iter().find(|p| p.name() == name)
    }
}

/// The running kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// Major and minor version; (0, 0) where the release does not begin with them.
    pub version: (u32, u32),
    /// `uname -v`.
    pub build: String,
    /// `x86_64`, `aarch64`, `armv7l`; empty where it cannot be known.
    pub architecture: String,
    /// The distribution, as it names itself.
    pub system: String,
    /// Preemption model.
    pub preemption: Preemption,
    /// Whether the model can be chosen at boot (`preempt=`); `None` where it cannot be known.
    pub preemption_dynamic: Option<bool>,
    /// Whether the model can be changed while the kernel runs (debugfs).
    pub preemption_switch: bool,
}

impl Kernel {
    pub(crate) fn release(root: &Root) -> String {
        let from_version = || Some(root.value("/proc/version")?.split_whitespace().nth(2)?.to_owned());
        root.value("/proc/sys/kernel/osrelease").or_else(from_version).unwrap_or_default()
    }

    pub(crate) fn probe(root: &Root, release: String, config: &KernelConfig, arguments: &Arguments) -> Self {
        let build = root.value("/proc/sys/kernel/version").unwrap_or_default();
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let named = |line: &str| Some(line.strip_prefix("PRETTY_NAME=")?.trim_matches('"').to_owned());
        let system = root.text("/etc/os-release").ok().and_then(|t| t.lines().find_map(named)).unwrap_or_default();
        let built_dynamic = build.contains("PREEMPT_DYNAMIC").then_some(true);
        Self {
            preemption: preemption(root, &build, config, arguments),
            preemption_switch: root.exists("/sys/kernel/debug/sched/preempt"),
            preemption_dynamic: built_dynamic.or_else(|| config.has("PREEMPT_DYNAMIC")),
            architecture: architecture(root, config),
            version,
            release,
            build,
            system,
        }
    }

    /// Whether the kernel is at least of this version.
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        self.version >= (major, minor)
    }
}

fn preemption(root: &Root, build: &str, config: &KernelConfig, arguments: &Arguments) -> Preemption {
    let built_rt = build.contains("PREEMPT_RT") || build.contains("PREEMPT RT");
    if built_rt || root.value("/sys/kernel/realtime").as_deref() == Some("1") {
        return Preemption::Rt;
    }
    let chosen = root.value("/sys/kernel/debug/sched/preempt").and_then(|text| {
        text.split_whitespace().find_map(|w| Preemption::named(w.strip_prefix('(')?.strip_suffix(')')?))
    });
    let asked = || arguments.get("preempt").and_then(Preemption::named);
    let on = |name| config.has(name) == Some(true);
    let built = || {
        Some(match () {
            () if on("PREEMPT_RT") || on("PREEMPT_RT_FULL") => Preemption::Rt,
            () if on("PREEMPT_LAZY") => Preemption::Lazy,
            () if on("PREEMPT_VOLUNTARY") => Preemption::Voluntary,
            () if on("PREEMPT_NONE") => Preemption::None,
            () if on("PREEMPT") => Preemption::Full,
            // Without a configuration the build string tells full preemption, and no other model.
            () if build.split_whitespace().any(|w| w == "PREEMPT") => Preemption::Full,
            () => return None,
        })
    };
    chosen.or_else(asked).or_else(built).unwrap_or_default()
}

fn architecture(root: &Root, config: &KernelConfig) -> String {
    if root.is_live() {
        return rustix::system::uname().machine().to_string_lossy().into();
    }
    let named = root.value("/proc/sys/kernel/arch");
    let built = [("X86_64", "x86_64"), ("ARM64", "aarch64"), ("ARM", "armv7l"), ("RISCV", "riscv64")];
    let from_config = || built.iter().find(|(name, _)| config.has(name) == Some(true)).map(|(_, arch)| (*arch).into());
    named.or_else(from_config).unwrap_or_default()
}
