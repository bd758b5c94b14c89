//! An instrument beside a measurement: a logic analyser, or a Pico.

use std::str::FromStr;

use ontick_measure::analyser::{self, Analyser, Surroundings};
use ontick_measure::pico::{self, Pico};
use ontick_measure::{Error, Observer};
use ontick_record::Series;
use ontick_record::instrument_check::Between;

use crate::failure::Failure;
use crate::launch::{self, Account};

/// An instrument as a user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instrument {
    /// By sigrok-cli.
    Analyser(Analyser),
    /// With ontick's firmware.
    Pico(Pico),
}

impl FromStr for Instrument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("pico:") {
            return text.parse().map(Self::Pico).map_err(|error: <Pico as FromStr>::Err| error.to_string());
        }
        text.parse().map(Self::Analyser).map_err(|error: <Analyser as FromStr>::Err| error.to_string())
    }
}

/// An instrument, and what it is to record.
pub struct Beside {
    records: Records,
    between: Between,
    /// The CPU that is measured.
    cpu: Option<u32>,
}

enum Records {
    Analyser {
        analyser: Box<Analyser>,
        channels: Vec<String>,
        /// Who called sudo: the analyser's program is run as that user.
        user: Option<Account>,
    },
    Pico {
        pico: Pico,
        lines: Vec<u8>,
    },
}

impl Beside {
    /// An instrument beside one series.
    pub fn of(instrument: &Instrument, between: Between, cpu: Option<u32>, series: usize) -> Result<Self, Failure> {
        let is_pulse = matches!(between, Between::Pulse);
        let records = match instrument {
            Instrument::Analyser(analyser) => {
                let channels = if is_pulse { analyser.of_pulses() } else { analyser.of_response() };
                let channels = channels.map_err(|error| Failure::new(format!("--observer: {error}")))?;
                let user = Account::behind_sudo().map_err(Failure::new)?;
                Records::Analyser { analyser: Box::new(analyser.clone()), channels, user }
            }
            Instrument::Pico(pico) => {
                let lines = if is_pulse { pico.of_pulses() } else { pico.of_response() };
                let lines = lines.map_err(|error| Failure::new(format!("--observer: {error}")))?;
                Records::Pico { pico: pico.clone(), lines }
            }
        };
        if series != 1 {
            return Err(Failure::new("--observer: an instrument records beside one series: choose one --method"));
        }
        Ok(Self { records, between, cpu })
    }

    /// Measures while the instrument records.
    pub fn measure(
        &self,
        observer: &mut Observer,
        measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error>,
    ) -> Result<Vec<Series>, Error> {
        match &self.records {
            Records::Analyser { analyser, channels, user } => {
                let prepare = |command: &mut std::process::Command| {
                    if let Some(user) = user {
                        launch::run_as(command, user);
                    }
                };
                let surroundings = Surroundings { cpu: self.cpu, prepare: &prepare };
                analyser::beside(analyser, channels, self.between, &surroundings, observer, measure)
            }
            Records::Pico { pico, lines } => pico::beside(pico, lines, self.between, self.cpu, observer, measure),
        }
    }
}
