//! A logic analyser beside a measurement.

use ontick_measure::analyser::{self, Analyser, AnalyserError, Surroundings};
use ontick_measure::{Error, Observer};
use ontick_record::Series;
use ontick_record::instrument_check::Between;

use crate::failure::Failure;
use crate::launch::{self, Account};

/// An analyser, and what it is to record.
pub struct Beside {
    analyser: Analyser,
    channels: Vec<String>,
    between: Between,
    /// The CPU that is measured.
    cpu: Option<u32>,
    /// Who called sudo: the analyser's program is run as that user.
    user: Option<Account>,
}

impl Beside {
    /// An analyser beside one series.
    pub fn of(
        analyser: &Analyser,
        channels: Result<Vec<String>, AnalyserError>,
        between: Between,
        cpu: Option<u32>,
        series: usize,
    ) -> Result<Self, Failure> {
        let channels = channels.map_err(|error| Failure::new(format!("--observer: {error}")))?;
        if series != 1 {
            return Err(Failure::new("--observer: an analyser records beside one series: choose one --method"));
        }
        let user = Account::behind_sudo().map_err(Failure::new)?;
        Ok(Self { analyser: analyser.clone(), channels, between, cpu, user })
    }

    /// Measures while the analyser records.
    pub fn measure(
        &self,
        observer: &mut Observer,
        measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error>,
    ) -> Result<Vec<Series>, Error> {
        let prepare = |command: &mut std::process::Command| {
            if let Some(user) = &self.user {
                launch::run_as(command, user);
            }
        };
        let surroundings = Surroundings { cpu: self.cpu, prepare: &prepare };
        analyser::beside(&self.analyser, &self.channels, self.between, &surroundings, observer, measure)
    }
}
