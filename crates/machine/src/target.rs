//! What the machine is wanted for: which CPUs, in which manner.

use ontick_rt::cpus::choose;
use ontick_rt::thread::{Policy, PolicyError};
use ontick_units::CpuList;
use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::own_setting::OwnSetting;

/// A set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// One core for one program that must never wait, as the sources do it: everything else is steered off it.
    DedicatedCore,
    /// All cores answer quickly; programs go on sharing them.
    LowLatency,
    /// Only what costs the other programs nothing.
    ThroughputSafe,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::DedicatedCore, Self::LowLatency, Self::ThroughputSafe];

    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::DedicatedCore => "dedicated-core",
            Self::LowLatency => "low-latency",
            Self::ThroughputSafe => "throughput-safe",
        }
    }
}

/// No profile has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no profile \"{0}\" (dedicated-core, low-latency, throughput-safe)")]
pub struct UnknownProfile(pub String);

impl std::str::FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        Self::ALL.into_iter().find(|p| p.name() == text).ok_or_else(|| UnknownProfile(text.into()))
    }
}

/// The CPUs to prepare and how: what a plan is made for.
#[derive(Debug, Clone, Serialize)]
pub struct Target {
    /// The CPUs for timed programs.
    pub cpus: CpuList,
    /// The CPUs for everything else; all of them where the machine has only one.
    pub others: CpuList,
    /// The CPUs that share a core with those for timed programs, where they are switched off; they are not among the others.
    #[serde(skip)]
    pub siblings: CpuList,
    /// How.
    pub profile: Profile,
    /// Whether other programs' tasks may be moved and sibling CPUs switched off.
    pub isolate: bool,
    /// Only these knobs, whatever the profile; empty for the profile's.
    pub only: Vec<String>,
    /// Only these kernel arguments, by name or with a value, where a profile file names what is wanted: its knobs are then all
    /// of `only`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_arguments: Option<Vec<String>>,
    /// Settings of one's own beside the knobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnSetting>,
    /// The policies that threads of interrupts get.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub irq_threads: Vec<IrqThreads>,
    /// Network interfaces whose settings count, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
}

/// A policy for threads of interrupts (`irq/NUMBER-DEVICE`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IrqThreads {
    /// Those of the interrupt with this number, or, where it is more than digits, with this in their device's name; all where
    /// nothing is named.
    pub of: Option<String>,
    /// FIFO or round robin, with a priority.
    #[serde(serialize_with = "as_text")]
    pub policy: Policy,
}

fn as_text<S: serde::Serializer>(policy: &Policy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(policy)
}

impl IrqThreads {
    /// Whether they are those of the thread `irq/NAME`.
    pub(crate) fn concerns(&self, name: &str) -> bool {
        let (number, device) = name.split_once('-').unwrap_or((name, ""));
        let is_number = |of: &str| of.bytes().all(|byte| byte.is_ascii_digit());
        self.of.as_deref().is_none_or(|of| if is_number(of) { number == of } else { device.contains(of) })
    }
}

impl std::str::FromStr for IrqThreads {
    type Err = IrqThreadsError;

    /// `fifo:60`, or `mmc0=fifo:60`.
    fn from_str(text: &str) -> Result<Self, IrqThreadsError> {
        let (of, policy) = match text.split_once('=') {
            Some((of, policy)) => (Some(of.to_owned()), policy),
            None => (None, text),
        };
        match policy.parse() {
            _ if of.as_ref().is_some_and(String::is_empty) => Err(IrqThreadsError::NoName),
            Ok(policy @ (Policy::Fifo(_) | Policy::RoundRobin(_))) => Ok(Self { of, policy }),
            Ok(_) => Err(IrqThreadsError::NotRealTime),
            Err(e) => Err(e.into()),
        }
    }
}

impl std::fmt::Display for IrqThreads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.of.as_ref().map_or(Ok(()), |of| write!(f, "{of}="))?;
        write!(f, "{}", self.policy)
    }
}

/// Why a policy for threads of interrupts cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IrqThreadsError {
    /// Nothing before the `=`.
    #[error("an interrupt's number or a part of its device's name stands before =, such as mmc0=fifo:60")]
    NoName,
    /// Another policy.
    #[error("threads of interrupts get fifo:1 to fifo:99 or rr:1 to rr:99")]
    NotRealTime,
    /// No policy at all.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl Target {
    /// Without `cpus`, those that are [kept apart](Self::kept_apart), else the one that [`choose`] finds.
    pub fn new(facts: &Facts, cpus: Option<CpuList>, profile: Profile) -> Result<Self, TargetError> {
        let online = &facts.cpus.online;
        if online.is_empty() {
            return Err(match (facts.cpus.boards.as_slice(), &facts.cpus.problem) {
                ([], None) => TargetError::NoCpu,
                ([], Some(why)) => TargetError::Unreadable(why.clone()),
                (boards, _) => TargetError::SeveralBoards(boards.to_vec()),
            });
        }
        let cpus = cpus.or_else(|| Self::kept_apart(facts)).unwrap_or_else(|| CpuList::one(chosen(facts)));
        if cpus.is_empty() {
            return Err(TargetError::NoneNamed);
        }
        if !cpus.within(online) {
            return Err(TargetError::NotOnline { missing: cpus.without(online), online: online.clone() });
        }
        let others = online.without(&cpus);
        if others.is_empty() && online.len() > 1 {
            return Err(TargetError::WholeMachine(cpus));
        }
        let others = if others.is_empty() { online.clone() } else { others };
        Ok(Self {
            cpus,
            others,
            siblings: CpuList::default(),
            profile,
            isolate: false,
            only: Vec::new(),
            only_arguments: None,
            own: Vec::new(),
            irq_threads: Vec::new(),
            interfaces: Vec::new(),
        })
    }

    /// The CPUs that the kernel's arguments or a control group isolate, where others are left for everything else.
    pub fn kept_apart(facts: &Facts) -> Option<CpuList> {
        let online = &facts.cpus.online;
        let others = online.without(&isolated(facts));
        let cpus = online.without(&others);
        (!cpus.is_empty() && !others.is_empty()).then_some(cpus)
    }

    /// Whether a knob that all profiles have is wanted.
    pub(crate) fn wants(&self, knob: &str) -> bool {
        match self.only.is_empty() {
            true => self.only_arguments.is_none(),
            false => self.only.iter().any(|name| name == knob),
        }
    }

    /// The CPUs that other work is steered off.
    pub(crate) fn to_leave(&self) -> CpuList {
        self.cpus.with(&self.siblings)
    }

    /// Whether the machine has a CPU to spare, so that one can be kept for one program.
    pub fn can_dedicate(&self) -> bool {
        !self.others.meets(&self.cpus)
    }
}

/// Why CPUs cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// Neither a running kernel nor a device tree says which there are.
    #[error("no CPU was found (is this the root of a machine, with its boot partition mounted?)")]
    NoCpu,
    /// The file that would say it cannot be read.
    #[error("no CPU was found: {0}")]
    Unreadable(String),
    /// A mounted system fits boards with these CPUs.
    #[error("which board this system is for is not known: its device trees have CPU {}", alternatives(.0))]
    SeveralBoards(Vec<CpuList>),
    /// An empty list.
    #[error("no CPU was named")]
    NoneNamed,
    /// Not all of those named are there.
    #[error("CPU {missing} is not online (this machine runs CPU {online})")]
    NotOnline {
        /// Those that are not.
        missing: CpuList,
        /// Those that are.
        online: CpuList,
    },
    /// Nothing would be left.
    #[error("CPU {0} is the whole machine: leave at least one CPU for everything else")]
    WholeMachine(CpuList),
}

fn alternatives(boards: &[CpuList]) -> String {
    boards.iter().map(CpuList::to_string).collect::<Vec<_>>().join(" or ")
}

fn isolated(facts: &Facts) -> CpuList {
    facts.cpus.isolated.with(&facts.cgroups.isolated())
}

/// The CPU for a timed program where nobody named one.
fn chosen(facts: &Facts) -> u32 {
    let online: Vec<u32> = facts.cpus.online.iter().collect();
    let isolated: Vec<u32> = isolated(facts).iter().collect();
    let interrupts: Vec<_> = facts.interrupts.list.iter().map(|interrupt| interrupt.for_choice()).collect();
    choose(&online, &online, &isolated, &interrupts).cpu
}
