//! A network and its plan, read from files for one of its stations.

use std::path::{Path, PathBuf};

use ontick_switch::files::{self, FileError};
use ontick_tsn::egress::EgressTiming;
use ontick_tsn::network::{Network, StreamId};
use ontick_tsn::planning::{DocumentError, Timetable};
use ontick_tsn::target::{self, TARGETS};
use ontick_tsn::validate::Schedule;

/// Why a network and a plan are of no use to a station.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A file cannot be read, or is none of this kind.
    #[error(transparent)]
    File(#[from] FileError),
    /// The plan names what the network does not have.
    #[error("{}: {cause}", file.display())]
    OfAnother {
        /// The plan's name.
        file: PathBuf,
        /// What does not fit.
        cause: DocumentError,
    },
    /// A plan of the network as it was once, or for another target: with it, a station would send at other times, or leave
    /// streams out.
    #[error(
        "the plan has no place for {0} as the network has it now: plan again, or name the target that the plan is for"
    )]
    NoPlace(String),
    /// Nothing of this name executes schedules.
    #[error("there is no target {0}; known are {names}", names = target_names())]
    NoTarget(String),
    /// It was measured on something else.
    #[error("{}: it is of a {plane} data plane, and the target is {target}; name one that fits", file.display())]
    OtherPlane {
        /// The calibration's name.
        file: PathBuf,
        /// What it is of.
        plane: &'static str,
        /// As it was asked for.
        target: String,
    },
}

fn target_names() -> String {
    TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ")
}

/// A network with its plan.
#[derive(Debug)]
pub struct Planned {
    /// The network, with the timing of what executes the plan.
    pub network: Network,
    /// When each message is on which link.
    pub table: Timetable,
    /// What stations and gates do.
    pub schedule: Schedule,
}

impl Planned {
    /// With the plan of this file.
    pub fn read(network: Network, plan: &Path) -> Result<Self, PlanError> {
        let document = files::plan(plan)?;
        let schedule = document.schedule(&network);
        let schedule = schedule.map_err(|cause| PlanError::OfAnother { file: plan.into(), cause })?;
        Ok(Self { table: document.timetable(&network), network, schedule })
    }

    /// Refuses a plan that leaves streams out.
    pub fn every_stream_is_placed(self) -> Result<Self, PlanError> {
        match self.named(self.table.missing()) {
            None => Ok(self),
            Some(streams) => Err(PlanError::NoPlace(streams)),
        }
    }

    /// Which streams of the plan have a place that does not suit the network and its timing, in words: the windows are too
    /// short, or the stream was changed.
    pub fn unsuited(&self) -> Option<String> {
        let sent = self.schedule.sends.iter().map(|send| send.stream);
        self.named(sent.filter(|stream| self.table.placed[*stream].is_none()))
    }

    /// Which streams these are, in words; nothing for none.
    fn named(&self, streams: impl Iterator<Item = StreamId>) -> Option<String> {
        let names: Vec<&str> = streams.map(|stream| self.network.streams[stream].name.as_str()).collect();
        match names.as_slice() {
            [] => None,
            all if all.len() <= 3 => Some(all.join(", ")),
            all => Some(format!("{} and {} more streams", all[0], all.len() - 1)),
        }
    }
}

/// How a target sends, as it is assumed, or as it was measured; where none is named, it is the calibration's, or else the
/// user data plane.
pub fn timing(target: Option<&str>, calibration: Option<&Path>) -> Result<EgressTiming, PlanError> {
    let named = |name: &str| target::named(name).ok_or_else(|| PlanError::NoTarget(name.into()));
    let asked = target.map(named).transpose()?;
    let Some(file) = calibration else { return Ok(asked.map_or(named("user")?, |target| target).timing()) };
    let calibration = files::calibration(file)?;
    match asked {
        Some(target) if target.plane != Some(calibration.plane) => Err(PlanError::OtherPlane {
            file: file.into(),
            plane: calibration.plane.name(),
            target: target.name.into(),
        }),
        _ => Ok(calibration.timing),
    }
}

#[cfg(test)]
mod tests {
    use ontick_tsn::egress::{Calibration, DataPlane, EgressTiming};
    use ontick_tsn::network::samples;
    use ontick_tsn::planning::{Document, Outcome, PlanOptions, gate_control_list, plan};

    use super::*;

    #[test]
    fn a_plan_of_the_network_as_it_was_is_refused_by_the_streams_that_it_leaves_out() {
        let network = samples::ring(3, 5);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), Document::new(&network, &table, &schedule).write().unwrap()).unwrap();
        let fits = |network: &Network| Planned::read(network.clone(), file.path())?.every_stream_is_placed();
        assert_eq!(fits(&network).unwrap().schedule.sends.len(), 5);
        let mut changed = network.clone();
        changed.streams[2].size += 1;
        let said = fits(&changed).unwrap_err().to_string();
        assert!(said.starts_with(&format!("the plan has no place for {} as the", changed.streams[2].name)), "{said}");
        changed.streams.iter_mut().for_each(|of| of.size += 1);
        let said = fits(&changed).unwrap_err().to_string();
        assert!(said.contains(" and 4 more streams as the network has it now: plan again"), "{said}");
        // Its way takes longer than it was planned for.
        for change in [
            |network: &mut Network| network.links.iter_mut().for_each(|link| link.processing_ns += 1),
            |network: &mut Network| network.links.iter_mut().for_each(|link| link.propagation_ns += 1),
            |network: &mut Network| network.sync_error_ns += 1,
            |network: &mut Network| network.timing.forwarding_ns = 3_000,
        ] {
            let mut slower = network.clone();
            change(&mut slower);
            let said = fits(&slower).unwrap_err().to_string();
            assert!(said.contains(" and 4 more streams as the network has it now: plan again"), "{said}");
        }
        // The plan has a place for them, which was made for gates that open exactly on time.
        let unsuited = |network: &Network| Planned::read(network.clone(), file.path()).unwrap().unsuited();
        assert_eq!(unsuited(&network), None);
        let slower = network.clone().timed(target::named("user").unwrap().timing());
        assert!(unsuited(&slower).unwrap().ends_with(" and 4 more streams"));
        // One that the plan leaves out has none.
        let mut more = network.clone();
        more.streams.push(more.streams[0].clone());
        more.streams[5].name = "late".into();
        assert_eq!(unsuited(&more), None);
        std::fs::write(file.path(), "{}").unwrap();
        assert!(matches!(fits(&network), Err(PlanError::File(FileError::NotPlan { .. }))));
    }

    #[test]
    fn a_timing_is_of_the_target_or_of_what_was_measured() {
        let user = target::named("user").unwrap().timing();
        assert_eq!((timing(None, None).unwrap(), timing(Some("any"), None).unwrap()), (user, EgressTiming::IDEAL));
        let said = timing(Some("abacus"), None).unwrap_err().to_string();
        assert!(said.starts_with("there is no target abacus; known are any, user"), "{said}");
        let measured = EgressTiming { guard_ns: 4_321, ..user };
        let file = tempfile::NamedTempFile::new().unwrap();
        let (plane, about) = (DataPlane::Kernel, "a test".into());
        let calibration = Calibration { ontick_calibration: Calibration::VERSION, plane, about, timing: measured };
        std::fs::write(file.path(), calibration.write().unwrap()).unwrap();
        assert_eq!(timing(None, Some(file.path())).unwrap(), measured);
        assert_eq!(timing(Some("kernel"), Some(file.path())).unwrap(), measured);
        let said = timing(Some("user"), Some(file.path())).unwrap_err().to_string();
        assert!(said.contains("it is of a kernel data plane, and the target is user"), "{said}");
    }
}
