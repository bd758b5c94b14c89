//! How the file of every sample ends: behind the result, which waits for no disk and for no reader of a pipe.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_measure::sample_log::{SampleFile, SampleLog, Written};
use ontick_units::counted;

use crate::failure::Failure;
use crate::{stop, terminal};

/// Whoever waits longer is told what for.
const LONG: Duration = Duration::from_secs(2);

/// A file of samples to which no more come.
pub struct SamplesEnd {
    log: SampleLog,
    path: PathBuf,
    /// Whether a signal ended the run: then the next one gives the file up.
    interrupted: bool,
    stop: Arc<AtomicBool>,
}

impl SamplesEnd {
    /// Of the file, if there is to be one; from here on it is written to its end.
    pub fn of(
        log: Option<SampleLog>,
        file: Option<SampleFile>,
        interrupted: bool,
        stop: Arc<AtomicBool>,
    ) -> Option<Self> {
        let (log, path) = (log?, file?.path().to_owned());
        log.complete();
        Some(Self { log, path, interrupted, stop })
    }

    /// Waits until every sample is written, and says how many were and were not. A signal ends the wait.
    pub fn wait(self) -> Result<(), Failure> {
        let (name, began, mut told) = (self.path.display(), Instant::now(), false);
        stop::WAITS_FOR_FILE.store(true, Relaxed);
        let written = self.log.end_unless(|| {
            if began.elapsed() > LONG && !std::mem::replace(&mut told, true) {
                terminal::say(&format!("waiting until {name} is written; Ctrl-C gives it up, the result stays"));
            }
            (!self.interrupted && self.stop.load(Relaxed)) || !stop::WAITS_FOR_FILE.load(Relaxed)
        });
        stop::WAITS_FOR_FILE.store(false, Relaxed);
        let Written { rows, lost } = written?.ok_or_else(|| {
            Failure::new(format!(
                "{name} was given up by a signal before every sample was written; the result is complete"
            ))
        })?;
        let rows = counted(rows, "row");
        terminal::say(&match lost {
            0 => format!("{name} has every sample: {rows}"),
            _ => format!(
                "warning: samples came faster than {name} could be written: it has {rows}, and lacks {}",
                counted(lost, "sample")
            ),
        });
        Ok(())
    }
}
