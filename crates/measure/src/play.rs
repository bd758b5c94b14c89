//! Level changes of lines, made again each at its time: what an instrument recorded, or a program wrote down.

mod player;
mod rest;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use ontick_gpio::{Name, Request};
use ontick_record::capture::Moments;
use ontick_record::run::Series;
use ontick_rt::thread::ThreadSetup;
use ontick_rt::{cpus, watchdog};
use ontick_units::show;

use crate::{Error, Length, Limits, Observer, Placement, session};
use player::{Ended, Player};

/// What is played, and on which lines.
#[derive(Debug, Clone)]
pub struct Job {
    /// The line of each channel of the moments.
    pub lines: Vec<Name>,
    /// What is asked of the lines beside their levels.
    pub request: Request,
    /// The changes.
    pub moments: Arc<Moments>,
    /// How often they are made, one time after the other; none: without end.
    pub times: Option<u64>,
}

impl Job {
    /// Changes that are made in all; none where there is no end. Where the levels at the end are not those at the beginning,
    /// going back to these for the next time is a change.
    fn changes(&self) -> Option<u64> {
        let times = self.times?;
        let back = times.saturating_sub(1) * u64::from(goes_back(&self.moments));
        Some((self.moments.changes.len() as u64).saturating_mul(times).saturating_add(back))
    }

    /// Whether there is something to play, as often as it is wanted.
    pub fn check(&self) -> Result<(), Error> {
        let Some(last) = self.moments.changes.last() else {
            return Err(Error::Impossible("nothing ever changes on these lines, so there is nothing to play".into()));
        };
        if self.times != Some(1) && goes_back(&self.moments) && last.at_ns == self.moments.length_ns {
            return Err(Error::Impossible(
                "it ends with its last change, so that the levels after it would last no time before it begins again: let it \
                 end with a later time"
                    .into(),
            ));
        }
        Ok(())
    }
}

/// Whether the levels at the end are other than those at the beginning.
fn goes_back(moments: &Moments) -> bool {
    moments.changes.last().is_some_and(|last| last.levels != moments.first)
}

/// Plays on a thread at `placement`. A latency is from when a change was due to just before it was written. `limits` may end it
/// before its last change; at the end the lines are left as `job.request` says.
pub fn measure(
    name: &str,
    job: &Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    job.check()?;
    if placement.policy.is_real_time() {
        watchdog::may_occupy(cpus::online().len())?;
    }
    let limits = match job.changes() {
        Some(changes) => Limits { length: Length::Count(changes), ..limits },
        None => limits,
    };
    let (ended, stop): (Arc<OnceLock<Ended>>, &AtomicBool) = (Arc::default(), observer.stop);
    let prepare = |_: &ThreadSetup| Player::start(job, stop, ended.clone());
    let series = session::run(name, placement, limits, prepare, observer)?;
    if let Some(ended) = ended.get() {
        observer.fact(format!("the longest write of a change took {}", show(ended.longest_write_ns)));
        if ended.rests > 0 {
            observer.note(format!(
                "the changes left the thread no time to rest: it took {} of its own, and the changes after each were late for it",
                ontick_units::counted(ended.rests, "rest")
            ));
        }
    }
    Ok(series)
}

#[cfg(test)]
mod tests;
