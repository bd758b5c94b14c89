//! An instrument that records the lines while they are measured, and what comes of the two together.

use std::sync::atomic::AtomicBool;

use ontick_record::capture::Recorded;
use ontick_record::instrument_check::{self, Between};
use ontick_record::{InstrumentCheck, Series};

use crate::{Error, Observer};

/// What an instrument recorded, or why that cannot be compared; and what a reader must know of it.
pub(crate) struct Ended {
    pub recorded: Result<Recorded, String>,
    pub notes: Vec<String>,
}

/// Records these channels from `start` to `end` while `measure` measures one series, and holds that against what was
/// recorded. What is wrong with the instrument before the run is an error; what goes wrong later is said, and the series is
/// as without it.
pub(crate) fn beside<R>(
    instrument: &str,
    channels: &[String],
    between: Between,
    observer: &mut Observer,
    start: impl FnOnce(&AtomicBool) -> Result<R, String>,
    measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error>,
    end: impl FnOnce(R, &AtomicBool) -> Ended,
) -> Result<Vec<Series>, Error> {
    let own = observer.keep_intervals();
    let recording = start(observer.stop).map_err(|problem| Error::Analyser { observer: instrument.into(), problem })?;
    let mut series = measure(observer)?;
    let ended = end(recording, observer.stop);
    let Some(series_of_run) = series.first_mut() else { return Ok(series) };
    ended.notes.into_iter().for_each(|note| observer.note(format!("observer {instrument} {note}")));
    if own.left_out() > 0 {
        observer.note(format!(
            "observer {instrument}: the last {} intervals of the run are not compared, as no more can be kept",
            own.left_out()
        ));
    }
    let check = match ended.recorded {
        Ok(recorded) => instrument_check::check(instrument, &own.intervals(), between, &recorded),
        Err(why) => InstrumentCheck {
            observer: instrument.into(),
            channels: channels.to_vec(),
            unaligned: Some(why),
            ..InstrumentCheck::default()
        },
    };
    series_of_run.instrument_check = Some(check);
    Ok(series)
}

/// That it recorded for a part of the run only, and why.
pub(crate) fn ended_early(why: &str) -> String {
    format!("ended before the run did ({why}): what it recorded until then is compared")
}
