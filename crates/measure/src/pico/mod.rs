//! A Raspberry Pi Pico with ontick's firmware, which times the edges of lines while they are measured (docs/pico.md).

mod collected;
mod connection;
mod port;
mod recording;
mod request;
mod self_test;

use ontick_record::Series;
use ontick_record::instrument_check::Between;

pub use collected::Collected;
pub use request::{Pico, PicoError};

use crate::beside;
use crate::{Error, Observer};
use connection::Connection;
use recording::Recording;
use request::name;

/// Times the edges of these lines while `measure` measures one series, and holds that against them; off this CPU. What is
/// wrong with the Pico before the run is an error; what goes wrong later is said, and the series is as without it.
pub fn beside(
    pico: &Pico,
    lines: &[u8],
    between: Between,
    cpu: Option<u32>,
    observer: &mut Observer,
    measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error>,
) -> Result<Vec<Series>, Error> {
    let channels: Vec<String> = lines.iter().copied().map(name).collect();
    beside::beside(
        &pico.to_string(),
        &channels,
        between,
        observer,
        |stop| {
            let mut connection = Connection::open(pico.path(), pico.timeout(), stop)?;
            if let Some(line) = pico.wire() {
                self_test::run(&mut connection, line, stop)?;
            }
            Recording::start(connection, lines, cpu, stop)
        },
        measure,
        |recording, _| recording.end(channels.clone()),
    )
}
