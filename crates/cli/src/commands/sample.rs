//! `ontick sample`

mod acquiring;
mod chain;
mod recording;

use std::path::PathBuf;

use clap::Args;
use ontick_acquire::sink::Sink;
use ontick_acquire::{Source, Trigger, source};
use ontick_measure::{Load, session};

use self::acquiring::Acquiring;
use self::chain::Chain;
use super::measuring::{self, Measurement};
use super::simulated;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, LimitFlags, OutputFlags, PlaceFlags};

/// Sample on time, at a rate or at edges of a line, and hand every sample to sockets and files.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick sample --source wave:sine,50Hz --to - --count 5\n  sudo ontick sample --rate 1kHz --source wave:sine,50Hz --to tcp::5000 --to file:samples.csv\n  sudo ontick sample --trigger sim:bench/4:rising --source wave:ramp --to unix:/run/samples,format=binary\n  ontick sample --read samples.ontick\n\nSources (repeatable: all are in every sample):\n  wave:SHAPE[,RATE]                 a computed sine, square, triangle or ramp\n  lines:LINE-LAST                   GPIO lines read at once (lines:sim:bench/0-7)\n  spi:DEVICE,CONVERTER[,channels=0-3][,vref=3.3][,speed=1MHz]\n                                    a converter at an SPI bus (spi:/dev/spidev0.0,mcp3208)\n  iio:DEVICE/CHANNEL,…[,trigger=NAME]\n                                    a device with a kernel driver (iio:adc/voltage0)\n\nSinks (repeatable): -, file:PATH[,rotate=100MB], tcp:HOST:PORT, unix:PATH (both listen), udp:HOST:PORT;\neach with ,format=ndjson|csv|binary|arrow. A slow client misses samples and is told how many; nobody waits for it."
)]
pub struct Sample {
    /// Samples per second, or time between two
    #[arg(long, value_name = "TIME|RATE", value_parser = flags::interval, conflicts_with_all = ["trigger", "read"])]
    rate: Option<u64>,
    /// Sample at edges of this line: LINE[:rising|falling|both]
    #[arg(long, value_name = "LINE[:EDGES]", value_parser = Trigger::edge, conflicts_with = "read")]
    trigger: Option<Trigger>,
    /// What is sampled (repeatable)
    #[arg(long, value_name = "SOURCE", required_unless_present = "read")]
    source: Vec<String>,
    /// Where samples go (repeatable) [default: standard output]
    #[arg(long = "to", value_name = "SINK", allow_hyphen_values = true, conflicts_with = "read")]
    sinks: Vec<Sink>,
    /// Show a recording in the binary or the Arrow format as CSV, instead of sampling
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    read: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceFlags,
    #[command(flatten)]
    limits: LimitFlags,
    /// Runs beside the sampling: none, cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND
    #[arg(long, default_value = "none")]
    load: Load,
    /// Show percentiles, histogram and maxima of the latency live on the whole terminal
    #[arg(long)]
    watch: bool,
    /// Trace the kernel meanwhile and name what made samples late (needs root)
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    output: OutputFlags,
}

/// Where neither rate nor trigger is named, in ns: source 000's 1 kHz.
const PERIOD_NS: u64 = 1_000_000;

impl Sample {
    pub fn run(self) -> Result<Outcome, Failure> {
        if let Some(path) = &self.read {
            return recording::show(path);
        }
        let trigger = self.trigger.clone().unwrap_or(Trigger::Every(self.rate.unwrap_or(PERIOD_NS)));
        let sources = self.source.iter().map(|text| source::open(text)).collect::<Result<Vec<_>, _>>()?;
        let sinks = if self.sinks.is_empty() { vec!["-".parse()?] } else { self.sinks.clone() };
        let to_stdout = sinks.iter().any(|sink| sink.to == ontick_acquire::sink::Where::Stdout);
        if to_stdout && self.output.json {
            return Err(Failure::new(
                "samples go to standard output, so the record cannot: give --record FILE instead of --json, or --to another sink",
            ));
        }

        let (place, limits) = (self.place.place(), self.limits.limits_or(u64::MAX));
        let asked = Measurement {
            kind: "sample",
            names: vec!["samples".into()],
            cpu: place.cpu,
            load: &self.load,
            watch: self.watch,
            explain: self.explain,
            findings: Vec::new(),
            notes: self.place.note().into_iter().collect(),
            simulated: computed(&sources, &trigger),
        };
        let output = OutputFlags { quiet: to_stdout, ..self.output.clone() };
        let (ring, chain) = Chain::start(&trigger, &sources, &sinks, place.cpu)?;
        chain.addresses().for_each(|address| eprintln!("listening on {address}"));
        measuring::run(
            asked,
            &output,
            |_| true,
            |observer| {
                let prepare = |_: &_| Acquiring::new(&trigger, sources, ring);
                let series = session::run("samples", place, limits, prepare, observer);
                chain.end().into_iter().for_each(|note| observer.note(note));
                series.map(|series| vec![series])
            },
        )
    }
}

/// What of it is simulated, for the reader of the figures.
fn computed(sources: &[Box<dyn Source>], trigger: &Trigger) -> Option<String> {
    let line = match trigger {
        Trigger::Edge(name, _) => simulated::told(&[name]),
        Trigger::Every(_) => None,
    };
    let all: Vec<String> = sources.iter().filter_map(|source| source.simulated()).chain(line).collect();
    (!all.is_empty()).then(|| all.join(", "))
}
