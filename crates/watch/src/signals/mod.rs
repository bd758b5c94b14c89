//! Signals of samplers that run on this machine, or that offer their samples to it: the newest stretch of each, as an
//! oscilloscope shows it.

pub mod address;
pub mod reader;
pub mod sampler_state;
pub mod tap;
pub mod trace;

use std::io;
use std::time::Duration;

use serde::Serialize;

pub use address::{Address, AddressError};
use sampler_state::{Link, SPANS_MS, SamplerState};
use tap::Tap;
use trace::COLUMNS;

/// A sampler that sends nothing for so long is reported.
const SILENT_AFTER: Duration = Duration::from_secs(3);

/// Samplers that may be listened to.
#[derive(Default)]
pub struct Signals {
    taps: Vec<Tap>,
}

/// A sampler now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SamplerNow {
    /// Where its samples come from.
    pub from: String,
    /// Whether samples come.
    pub up: bool,
    /// How it is, in a sentence.
    pub state: String,
    /// Samples in a second lately.
    pub rate: Option<f64>,
    /// Samples that were missing since the connection began.
    pub missed: u64,
    /// How late the latest sample was since then, in ns.
    pub late_max_ns: u64,
    /// Length of the stretch, in ms.
    pub span_ms: u64,
    /// Columns in it.
    pub columns: usize,
    /// The channels.
    pub channels: Vec<ChannelNow>,
    /// Channels that are not shown.
    pub more_channels: usize,
}

/// A channel's newest stretch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelNow {
    /// Its name.
    pub name: String,
    /// The unit of its values.
    pub unit: String,
    /// Column, least and largest value, for each column that has samples.
    pub columns: Vec<(u64, f32, f32)>,
}

impl Signals {
    /// Listens to these while somebody asks.
    pub fn start(addresses: Vec<Address>) -> io::Result<Self> {
        addresses.into_iter().map(Tap::start).collect::<io::Result<Vec<_>>>().map(|taps| Self { taps })
    }

    /// The newest stretch of each, of a length that there is. Whoever asks is taken to look for some seconds.
    pub fn now(&self, span_ms: u64) -> Option<Vec<SamplerNow>> {
        SPANS_MS
            .contains(&span_ms)
            .then(|| self.taps.iter().map(|tap| sampler(tap.address().to_string(), &tap.ask(), span_ms)).collect())
    }
}

fn sampler(from: String, sampler: &SamplerState, span_ms: u64) -> SamplerNow {
    let silent = sampler.arrived.is_none_or(|at| at.elapsed() > SILENT_AFTER);
    let state = match &sampler.link {
        Link::Idle => "connecting".into(),
        Link::Up if sampler.samples == 0 => "no sample yet".into(),
        Link::Up if silent => "no sample for some seconds".into(),
        Link::Up => "sampling".into(),
        Link::Lost(why) => format!("{why}; it is tried again each second"),
    };
    let trace = sampler.trace(span_ms);
    let columns = |channel| trace.map(|trace| trace.columns(channel)).unwrap_or_default();
    let short = |(at, least, largest): trace::Column| (at, least as f32, largest as f32);
    let channels = sampler.channels.iter().enumerate().map(|(channel, (name, unit))| ChannelNow {
        name: name.clone(),
        unit: unit.clone(),
        columns: columns(channel).into_iter().map(short).collect(),
    });
    SamplerNow {
        from,
        up: sampler.link == Link::Up && !silent,
        state,
        rate: sampler.rate().filter(|_| !silent),
        missed: sampler.missed,
        late_max_ns: sampler.late_max_ns,
        span_ms,
        columns: COLUMNS,
        channels: channels.collect(),
        more_channels: sampler.more_channels,
    }
}
