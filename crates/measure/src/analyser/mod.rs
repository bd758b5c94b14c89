//! A logic analyser that records the lines while they are measured, by sigrok-cli, and what comes of the two together.

mod program;
mod request;

use std::process::Command;

use ontick_record::Series;
use ontick_record::capture::{self, Format};
use ontick_record::instrument_check::Between;

pub use request::{Analyser, AnalyserError};

use crate::beside::{self, Ended};
use crate::{Error, Observer};
use program::Recording;

/// How sigrok-cli is to be run.
pub struct Surroundings<'p> {
    /// The CPU that is measured, which it stays away from.
    pub cpu: Option<u32>,
    /// Makes the program another user's, where it is to be.
    pub prepare: &'p dyn Fn(&mut Command),
}

/// Records these channels while `measure` measures one series, and holds that against what was recorded. What is wrong
/// with the instrument before the run is an error; what goes wrong later is said, and the series is as without it.
pub fn beside(
    analyser: &Analyser,
    channels: &[String],
    between: Between,
    surroundings: &Surroundings,
    observer: &mut Observer,
    measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error>,
) -> Result<Vec<Series>, Error> {
    beside::beside(
        &analyser.to_string(),
        channels,
        between,
        observer,
        |stop| Recording::start(analyser, channels, surroundings, stop),
        measure,
        |recording, stop| {
            let ended = recording.end(stop);
            let unread = |error: &dyn std::fmt::Display| format!("its capture cannot be read: {error}");
            let recorded = ended
                .capture
                .map_err(|error| unread(&error))
                .and_then(|file| capture::edges(file, Format::Vcd, channels).map_err(|error| unread(&error)));
            Ended { recorded, notes: ended.early.map(|why| beside::ended_early(&why)).into_iter().collect() }
        },
    )
}
