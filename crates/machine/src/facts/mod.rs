//! What is so on this machine: read-only probes, one small file each. Whatever cannot be read is `None`
//! or empty, never an error; the findings say what that means.

pub mod arguments;
pub mod board;
pub mod cache;
pub mod cgroups;
pub mod clock;
pub mod config;
pub mod cpus;
pub mod firmware;
pub mod frequency;
mod identity;
pub mod interrupts;
pub mod kernel;
pub mod limits;
pub mod memory;
pub mod network;
pub mod noise;
mod processor;
pub mod rivals;
pub mod scheduling;
pub mod stalld;
pub mod tracing;

use serde::Serialize;

use crate::root::Root;

pub use arguments::Arguments;
pub use board::Board;
pub use cache::Cache;
pub use cgroups::Cgroups;
pub use clock::Clock;
pub use config::KernelConfig;
pub use cpus::Cpus;
pub use firmware::Firmware;
pub use frequency::Frequency;
pub(crate) use identity::{Identity, firmware_folder};
pub use interrupts::Interrupts;
pub use kernel::{Kernel, Preemption};
pub use limits::Limits;
pub use memory::Memory;
pub use network::{Interface, NoInterface};
pub use noise::Noise;
pub use rivals::Rival;
pub use scheduling::Scheduling;
pub use stalld::Stalld;
pub use tracing::Tracing;

/// Everything that is known of a machine.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Facts {
    /// Kernel: release, build, preemption model.
    pub kernel: Kernel,
    /// What the kernel was built with.
    pub config: KernelConfig,
    /// What the kernel was started with.
    pub arguments: Arguments,
    /// Processors: which are online, isolated, siblings.
    pub cpus: Cpus,
    /// Interrupts and the kernel's unbound work.
    pub interrupts: Interrupts,
    /// Throttling of real-time tasks and the fair server.
    pub scheduling: Scheduling,
    /// Control groups: what is mounted where.
    pub cgroups: Cgroups,
    /// Frequencies and idle states.
    pub frequency: Frequency,
    /// Division of caches.
    pub cache: Cache,
    /// Clock source, tick and timers.
    pub clock: Clock,
    /// Huge pages, merging, balancing, swap.
    pub memory: Memory,
    /// Watchdogs, statistics, consoles, steal.
    pub noise: Noise,
    /// Interrupts that the firmware keeps for itself.
    pub firmware: Firmware,
    /// Tracers of the kernel.
    pub tracing: Tracing,
    /// What this process may do.
    pub limits: Limits,
    /// The board, and a Raspberry Pi's firmware settings.
    pub board: Board,
    /// Programs that set the same things.
    pub rivals: Vec<Rival>,
    /// The program that gives starving threads time beside real-time ones, if it runs.
    pub stalld: Option<Stalld>,
    /// Network interfaces that were asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
}

impl Facts {
    /// Looks at everything.
    pub fn gather(root: &Root) -> Self {
        let arguments = Arguments::parse(&root.value("/proc/cmdline").unwrap_or_default());
        let release = Kernel::release(root);
        let config = KernelConfig::probe(root, &release);
        let kernel = Kernel::probe(root, release, &config, &arguments);
        let cgroups = Cgroups::probe(root);
        let identity = Identity::probe(root);
        let cpus = Cpus::probe(root, &arguments, &identity);
        Self {
            interrupts: Interrupts::probe(root),
            scheduling: Scheduling::probe(root, &kernel, &cgroups, &config),
            frequency: Frequency::probe(root),
            cache: Cache::probe(root, &cpus),
            clock: Clock::probe(root, &config, &arguments),
            memory: Memory::probe(root),
            noise: Noise::probe(root),
            firmware: Firmware::probe(root, &cpus),
            tracing: Tracing::probe(root),
            limits: Limits::probe(root),
            board: Board::probe(root, identity),
            rivals: rivals::probe(root),
            stalld: Stalld::probe(root),
            interfaces: Vec::new(),
            kernel,
            config,
            arguments,
            cpus,
            cgroups,
        }
    }

    /// Looks at network interfaces, too.
    pub fn look_at_interfaces(&mut self, root: &Root, names: &[String]) -> Result<(), NoInterface> {
        self.interfaces = names.iter().map(|name| Interface::probe(root, name)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The machine as a [`Run`](ontick_record::Run) describes it; `cpu` is the one that is measured.
    pub fn environment(&self, cpu: Option<u32>) -> ontick_record::Environment {
        let policies = &self.frequency.policies;
        let policy = cpu.map_or(policies.first(), |cpu| policies.iter().find(|p| p.cpus.contains(cpu)));
        let throttling = self.scheduling.runtime_us.map(|runtime| match (runtime, self.scheduling.period_us) {
            (runtime, Some(period)) => format!("{runtime} / {period}"),
            (runtime, None) => runtime.to_string(),
        });
        ontick_record::Environment {
            machine: self.board.model.clone(),
            processor: self.cpus.model.clone(),
            architecture: self.kernel.architecture.clone(),
            system: self.kernel.system.clone(),
            kernel: self.kernel.release.clone(),
            kernel_build: self.kernel.build.clone(),
            preemption: self.kernel.preemption.name().into(),
            cpus_online: self.cpus.online.len() as u32,
            isolated: self.cpus.isolated.with(&self.cgroups.isolated()).to_string(),
            nohz_full: self.cpus.nohz_full.to_string(),
            governor: policy.map(|p| p.governor.clone()).unwrap_or_default(),
            clocksource: self.clock.source.clone(),
            tick_hz: self.clock.tick_hz,
            hypervisor: self.noise.hypervisor.clone(),
            rt_throttling: throttling.unwrap_or_default(),
            kernel_arguments: self.arguments.iter().collect::<Vec<_>>().join(" "),
            tuned: Vec::new(),
        }
    }
}
