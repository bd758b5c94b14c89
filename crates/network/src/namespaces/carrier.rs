//! What carries frames from port to port of the switches.

use std::sync::Arc;
use std::time::Duration;

use ontick_switch::user::CorePlacement;
use ontick_switch::user::counters::Counters;
use ontick_switch::user::serve::Service;
use ontick_switch::verify::under_test::{KernelPlane, WAITING};
use ontick_tsn::egress::DataPlane;
use ontick_tsn::model::{Base, Switch};
use ontick_tsn::network::NodeId;
use ontick_tsn::planning::nodes::Form;
use ontick_tsn::target;

use super::NamespacesError;
use super::testbed::Testbed;
use crate::switches::{dropped, user_form};

/// The data plane of all switches.
#[derive(Debug, Clone, Copy)]
pub enum Carrier {
    /// A core that serves them by turns, and where it runs.
    User(CorePlacement),
    /// The kernel's bridges, with the gates of taprio.
    Kernel,
}

impl Carrier {
    /// Which that is.
    pub fn plane(&self) -> DataPlane {
        match self {
            Self::User(_) => DataPlane::User,
            Self::Kernel => DataPlane::Kernel,
        }
    }

    /// How its gates are made of windows.
    pub(super) fn form(&self, base_ns: u64) -> Form {
        match self {
            Self::User(_) => user_form(base_ns),
            Self::Kernel => {
                let target = target::named("kernel").expect("a target of that name");
                Form {
                    base: Base::At(base_ns),
                    guard_bands: !target.length_aware,
                    most_entries: target.most_entries,
                    shortest_ns: target.shortest_ns,
                    plane: target.plane,
                }
            }
        }
    }
}

/// Switches at work, until it is dropped.
pub(super) enum Carried<'a> {
    User(&'a Testbed, CorePlacement, Vec<Service>),
    Kernel(Vec<KernelPlane<'a>>),
}

impl<'a> Carried<'a> {
    pub fn start(carrier: Carrier, switches: &[(NodeId, Switch)], bed: &'a Testbed) -> Result<Self, NamespacesError> {
        Ok(match carrier {
            Carrier::User(core) => {
                let switches: Vec<Switch> = switches.iter().map(|(_, switch)| switch.clone()).collect();
                Self::User(bed, core, bed.switches.within(|| Service::start_together(&switches, &[core]))??)
            }
            Carrier::Kernel => {
                let start = |(node, switch): &(NodeId, Switch)| KernelPlane::start(switch, bed.namespace(*node));
                Self::Kernel(switches.iter().map(start).collect::<Result<_, _>>()?)
            }
        })
    }

    /// Looks after them; what a reader must know comes back.
    pub fn service(&mut self) -> Option<String> {
        let Self::User(bed, _, services) = self else { return None };
        let looked_after = bed.switches.within(|| {
            services.iter_mut().try_for_each(|of| {
                of.stalls().for_each(drop);
                of.service(Duration::ZERO).map(drop)
            })
        });
        match looked_after {
            Ok(Err(error)) => Some(format!("the switches could not be looked after: {error}")),
            Ok(Ok(())) | Err(_) => None,
        }
    }

    /// Times that what carries them has looked around, or nothing where that is the kernel. Of a core that does not get its
    /// CPU it does not grow.
    pub fn turns(&self) -> Option<u64> {
        let Self::User(_, _, services) = self else { return None };
        Some(services.iter().map(|of| of.report().counters.turns.get()).sum())
    }

    /// How often a core was held up, and the longest time, in ns.
    pub fn stalls(&self) -> (u64, u64) {
        let Self::User(_, _, services) = self else { return (0, 0) };
        services.iter().map(|of| of.report().counters).fold((0, 0), |(number, longest), of| {
            // One core: it is held up for all of them at once.
            (of.stalls.get().max(number), of.longest_stall_ns.get().max(longest))
        })
    }

    /// The policy of the core; nothing where there is none.
    pub fn policy(&self) -> Option<String> {
        let Self::User(_, _, services) = self else { return None };
        services.first().map(|of| of.report().policy)
    }

    /// What the core asked of the system and did not get.
    pub fn refused(&self) -> Vec<String> {
        let Self::User(_, _, services) = self else { return Vec::new() };
        services.first().map_or(Vec::new(), |of| of.report().refused)
    }

    /// What carries the frames, in words.
    pub fn about(&self) -> String {
        let switches = |number: usize| match number {
            1 => "1 switch".to_owned(),
            many => format!("{many} switches"),
        };
        match self {
            Self::User(_, place, services) => {
                let Some(report) = services.first().map(Service::report) else { return "no switches".into() };
                let cpu = place.cpu.map_or("any CPU".into(), |cpu| format!("CPU {cpu}"));
                let policy = if report.policy == "other" { "ordinary scheduling" } else { &report.policy };
                let rests = if report.rests { ", rests 70us each millisecond" } else { "" };
                let switches = switches(services.len());
                format!(
                    "virtual Ethernet, one core for {switches} ({cpu}, {policy}{rests}), one thread for all talkers"
                )
            }
            Self::Kernel(planes) => {
                let switches = switches(planes.len());
                let gates = if planes.iter().any(KernelPlane::has_taprio) { "bridges with taprio" } else { "bridges" };
                format!("virtual Ethernet, {switches} of the kernel's ({gates}), one thread for all talkers")
            }
        }
    }

    /// Ends them; frames that they took in and did not send, by why, those that waited among them. The kernel's end with their
    /// namespaces.
    pub fn stop(self) -> Result<Vec<(String, u64)>, NamespacesError> {
        match self {
            // What came when a ring was full is known for certain when the core has ended.
            Self::User(_, _, services) => {
                Ok(unsent(&services.into_iter().map(|of| of.stop().counters).collect::<Vec<_>>()))
            }
            Self::Kernel(planes) => {
                let mut all: Vec<(String, u64)> = Vec::new();
                for (why, frames) in planes.iter().map(KernelPlane::not_sent).collect::<Result<Vec<_>, _>>()?.concat() {
                    match all.iter_mut().find(|(other, _)| *other == why) {
                        Some((_, sum)) => *sum += frames,
                        None => all.push((why, frames)),
                    }
                }
                Ok(all)
            }
        }
    }
}

fn unsent(counters: &[Arc<Counters>]) -> Vec<(String, u64)> {
    let dropped = dropped(counters.iter().map(|of| &**of));
    let queues = counters.iter().flat_map(|of| &of.ports).flat_map(|port| &port.queues);
    let waiting = (WAITING, queues.map(|queue| queue.waiting.get()).sum());
    // Streams have none: these are the frames by which switches learn about their links.
    let of_streams = dropped.into_iter().filter(|(why, _)| *why != "reserved address");
    of_streams.chain([waiting]).map(|(why, frames)| (why.to_owned(), frames)).collect()
}
