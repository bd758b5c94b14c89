//! A logic analyser that records the lines while they are measured, by sigrok-cli, and what comes of the two together.

mod program;
mod request;

use std::process::Command;

use ontick_record::capture::{self, Format};
use ontick_record::instrument_check::{self, Between};
use ontick_record::{InstrumentCheck, Series};

pub use request::{Analyser, AnalyserError};

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
    let own = observer.keep_intervals();
    let recording = Recording::start(analyser, channels, surroundings, observer.stop)
        .map_err(|problem| Error::Analyser { observer: analyser.to_string(), problem })?;
    let mut series = measure(observer)?;
    let ended = recording.end(observer.stop);
    let Some(series_of_run) = series.first_mut() else { return Ok(series) };
    if let Some(why) = ended.early {
        observer.note(format!(
            "observer {analyser} ended before the run did ({why}): what it recorded until then is compared"
        ));
    }
    if own.left_out() > 0 {
        observer.note(format!(
            "observer {analyser}: the last {} intervals of the run are not compared, as no more can be kept",
            own.left_out()
        ));
    }
    let own = own.intervals();
    let check = match ended.capture.map(|file| capture::edges(file, Format::Vcd, channels)) {
        Ok(Ok(recorded)) => instrument_check::check(&analyser.to_string(), &own, between, &recorded),
        Ok(Err(error)) => unread(analyser, channels, format!("its capture cannot be read: {error}")),
        Err(error) => unread(analyser, channels, format!("its capture cannot be read: {error}")),
    };
    series_of_run.instrument_check = Some(check);
    Ok(series)
}

fn unread(analyser: &Analyser, channels: &[String], why: String) -> InstrumentCheck {
    InstrumentCheck {
        observer: analyser.to_string(),
        channels: channels.to_vec(),
        unaligned: Some(why),
        ..InstrumentCheck::default()
    }
}
