//! With real frames on this machine.

use std::sync::atomic::Ordering::Relaxed;

use ontick_measure::document;
use ontick_network::endpoint::Planned;
use ontick_network::namespaces::{self, Carrier, Options, Outcome};
use ontick_record::network::{Dropped, Emulation, NetworkProof, ProvenStream};
use ontick_record::run::{Judged, Settings};
use ontick_record::{Measurement, Run, Series};
use ontick_rt::{cpus, watchdog};
use ontick_switch::user::CorePlacement;
use ontick_switch::user::placement::spinning;
use ontick_tsn::egress::{DataPlane, EgressTiming};
use ontick_tsn::network::{Kind, Network};
use ontick_tsn::validate::Schedule;
use ontick_units::{count, show};

use super::Prove;
use super::drawn::{self, Drawn, Lacks};
use crate::commands::network::timing_flags::Timing;
use crate::commands::network::{planned, proven};
use crate::commands::switch::judging::Allowed;
use crate::failure::Failure;
use crate::{privileges, stop, terminal};

impl Prove {
    /// The record, and what its picture lacks.
    pub(super) fn run_in_namespaces(&self) -> Result<(Run, Option<Lacks>), Failure> {
        if self.load > 0.0 || !self.fault.is_empty() {
            return Err(Failure::new("--load and --fault are simulated: leave them out, or --in namespaces"));
        }
        let timing = self.planned.timing()?;
        let carrier = self.carrier(&timing)?;
        privileges::NAMESPACES.require("network prove --in namespaces")?;
        let stop = stop::on_signal()?;
        let go_on = || !stop.load(Relaxed);
        let planned = self.planned.read(&timing, &go_on)?;
        let note = planned::note(&planned, timing.target);
        let planned = traced(planned);
        let core = match carrier {
            Carrier::User(core) => Some(core),
            _ => None,
        };
        let options = Options {
            duration_ns: self.duration,
            open_ns: self.without_gates.min(self.duration),
            carrier,
            talkers: namespaces::beside(core),
            guard_ns: self.guard,
        };
        let cpu = core.and_then(|core| core.cpu);
        let mut run = document::begin(Measurement::NetworkProve, Vec::<Series>::new(), cpu);
        let shown = terminal::can_rewrite();
        let mut look = |what: &str, done: f64| {
            if shown {
                terminal::rewrite(&format!("{:3.0}%  {what}", done * 100.0));
            }
        };
        let mut room = Room::AsPlanned;
        let mut slower = None;
        let mut replan = |emulation: &namespaces::Emulation| {
            if self.planned.is_settled() {
                slower = self.planned.plan_file().and_then(|_| needs_more(emulation, timing.timing));
                return None;
            }
            for timing in emulation.timings(timing.timing) {
                room = Room::Lacks;
                if let Some(found) = self.planned.again(&planned.network, timing, &go_on) {
                    room = Room::Made(timing);
                    return Some(traced(found));
                }
            }
            None
        };
        let proven = namespaces::prove_replanned(&planned, &mut replan, &options, &stop, &mut look);
        if shown {
            terminal::clear_line();
        }
        let (better, outcome) = proven.map_err(Failure::new)?;
        let planned = better.unwrap_or(planned);
        if outcome.interrupted && outcome.frames == 0 {
            return Err(Failure::new("the run was ended before anything was measured, so nothing is kept"));
        }
        if options.open_ns > 0 && outcome.switches.iter().any(|switches| *switches > 0) {
            run.facts.extend(room.in_words(&outcome.emulation));
        }
        run.notes.extend(note);
        run.notes.extend(slower);
        let lacks = self.complete(&mut run, &planned.network, &planned.schedule, &outcome, core);
        Ok((run, lacks))
    }

    /// What serves the switches.
    fn carrier(&self, timing: &Timing) -> Result<Carrier, Failure> {
        match timing.target.plane {
            Some(DataPlane::User) => self.core().map(Carrier::User),
            Some(DataPlane::Kernel) if self.cpu.is_some() => Err(Failure::new(
                "--cpu is the CPU of the user data plane's core, and the target is the kernel: leave it out",
            )),
            Some(DataPlane::Kernel) => Ok(Carrier::Kernel),
            _ => Err(Failure::new(format!(
                "in namespaces the user data plane or the kernel serves the switches, and the target is {}: leave \
                 --target out, or name user or kernel",
                timing.target.name
            ))),
        }
    }

    /// Where a core runs that serves them.
    fn core(&self) -> Result<CorePlacement, Failure> {
        let Some(cpu) = self.cpu else { return Ok(spinning(None)) };
        if !cpus::online().contains(&cpu) {
            return Err(Failure::new(format!("CPU {cpu} is not online")));
        }
        watchdog::may_occupy(cpus::online().len()).map_err(Failure::new)?;
        Ok(spinning(Some(cpu)))
    }

    fn complete(
        &self,
        run: &mut Run,
        network: &Network,
        schedule: &Schedule,
        outcome: &Outcome,
        core: Option<CorePlacement>,
    ) -> Option<Lacks> {
        run.duration_ns = outcome.sent_ns;
        run.interrupted = outcome.interrupted;
        run.facts.push("links take no time and lose nothing here: their rates are in the gates alone".into());
        run.notes.extend(outcome.notes.iter().cloned());
        let settings = Settings {
            cpu: core.and_then(|core| core.cpu),
            policy: outcome.policy.clone().unwrap_or_default(),
            clock: "tai".into(),
            ..Settings::default()
        };
        let messages = proven::all_messages(outcome.delivered.iter().map(|of| of.latency.clone()));
        run.series = vec![Series { settings, ..messages }];
        let kept = drawn::later_cycle_ns(network, schedule);
        let Drawn { links, lacks } = drawn::links(network, schedule, kept, &outcome.passed);
        let proof = NetworkProof { links, cycle_ns: kept.unwrap_or(0), ..proof_of(network, schedule, outcome) };
        run.requirements = proven::judged(&proof, "every stream is sent");
        run.requirements.extend([windows(&self.allow_outside, &proof), accounted(&proof, outcome)]);
        run.network = Some(proof);
        lacks
    }
}

/// Whether the planned windows, and by that the planned order, hold.
fn windows(allowed: &Allowed, proof: &NetworkProof) -> Judged {
    let (outside, received) = (proof.sum(|of| of.outside_window), proof.sum(|of| of.received));
    proven::requirement(
        &format!("messages within their windows, but for {}", allowed.text()),
        format!("{} of {} came outside", count(outside), count(received)),
        allowed.allows(outside, received),
    )
}

/// Whether the plan has room for what the emulation needs.
enum Room {
    /// It is as it was given, or the emulation needs no more than is usual.
    AsPlanned,
    /// It was made anew for nodes with this timing.
    Made(EgressTiming),
    /// There is no plan with more of it.
    Lacks,
}

impl Room {
    fn in_words(&self, emulation: &namespaces::Emulation) -> Option<String> {
        let Some(needs) = emulation.per_switch.quantile(0.999).map(show) else {
            return Some(
                "no frame passed the switches while all gates were open, so what the emulation adds is not known: this \
                 machine is too busy, or --without-gates is too short"
                    .into(),
            );
        };
        match self {
            Self::AsPlanned => None,
            Self::Made(EgressTiming { forwarding_ns, spread_ns, .. }) => Some(format!(
                "planned for switches as slow as the emulation makes them: {} to forward and a spread of {}, where 99.9 % of \
                 frames took {needs} at most",
                show(*forwarding_ns),
                show(*spread_ns)
            )),
            Self::Lacks => Some(format!(
                "no plan was found that has more room than usual, and 99.9 % of frames took up to {needs} for a switch: they \
                 miss their windows, and those behind them theirs"
            )),
        }
    }
}

/// What a reader of the result must know of a plan for switches that are faster than the emulation usually is.
fn needs_more(emulation: &namespaces::Emulation, allowed: EgressTiming) -> Option<String> {
    let usual_ns = emulation.per_switch.quantile(0.5).filter(|ns| *ns > allowed.forwarding_ns)?;
    Some(format!(
        "the plan allows {} to forward and the emulation takes {}: leave PLAN out, and it is planned for that",
        show(allowed.forwarding_ns),
        show(usual_ns)
    ))
}

fn traced(Planned { network, table, schedule }: Planned) -> namespaces::Planned {
    let trace_ns = drawn::later_cycle_ns(&network, &schedule).unwrap_or(0);
    namespaces::Planned { network, table, schedule, trace_ns }
}

/// Whether what is lost is counted where it was lost. A frame that is lost before its way forks is missing at several.
fn accounted(proof: &NetworkProof, outcome: &Outcome) -> Judged {
    let (missing, dropped) = (outcome.missing(), outcome.counted());
    let listeners = |of: &ProvenStream| proof.streams.iter().filter(|other| other.name == of.name).count();
    let most = proof.streams.iter().map(listeners).max().unwrap_or(1) as u64;
    proven::requirement(
        "every lost frame is counted",
        format!("{} did not come, and {} were dropped and counted", count(missing), count(dropped)),
        missing <= dropped.saturating_mul(most),
    )
}

fn proof_of(network: &Network, schedule: &Schedule, outcome: &Outcome) -> NetworkProof {
    let nodes = |kind| network.nodes.iter().filter(|node| node.kind == kind).count() as u64;
    let most_ns = outcome.emulation.most_ns();
    let streams = outcome.delivered.iter().zip(&outcome.switches);
    NetworkProof {
        world: "namespaces".into(),
        switches: nodes(Kind::Switch),
        stations: nodes(Kind::Station),
        about: outcome.about.clone(),
        duration_ns: outcome.sent_ns,
        sync_error_ns: network.sync_error_ns,
        frames: outcome.frames,
        dropped: outcome.dropped.iter().map(|(why, frames)| Dropped { why: why.clone(), frames: *frames }).collect(),
        emulation: Some(Emulation {
            per_switch: outcome.emulation.per_switch.clone(),
            talkers: outcome.lateness.clone(),
            not_sent: outcome.not_sent,
            stalls: outcome.stalls.0,
            longest_stall_ns: outcome.stalls.1,
        }),
        streams: streams.map(|(of, switches)| proven::stream(network, schedule, of, most_ns * switches)).collect(),
        ..NetworkProof::default()
    }
}

#[cfg(test)]
mod tests {
    use ontick_record::{Bucket, Histogram};

    use super::*;
    use crate::commands::switch::judging;

    #[test]
    fn a_plan_for_faster_switches_than_the_emulation_s_is_named_as_such() {
        let emulation = |ns| namespaces::Emulation {
            per_switch: Histogram::from_buckets([Bucket { low_ns: ns, width_ns: 1, count: 10 }]),
            frames: 10,
        };
        let user = DataPlane::User.defaults();
        let said = needs_more(&emulation(user.forwarding_ns + 2_700), user).unwrap();
        assert!(said.contains("leave PLAN out, and it is planned for that"), "{said}");
        assert_eq!(needs_more(&emulation(user.forwarding_ns), user), None);
        assert_eq!(needs_more(&namespaces::Emulation::default(), user), None);
    }

    #[test]
    fn messages_are_counted_as_in_the_other_requirements() {
        let of = ProvenStream { received: 4_490, outside_window: 1_453, ..ProvenStream::default() };
        let proof = NetworkProof { streams: vec![of], ..NetworkProof::default() };
        let judged = windows(&judging::share("10/1e6").unwrap(), &proof);
        assert_eq!((judged.observed.as_str(), judged.met), ("1 453 of 4 490 came outside", false));
    }
}
