//! `ontick sample`

mod acquiring;
mod chain;
mod recording;
mod watching;

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::Args;
use ontick_acquire::rest::{Demands, Rests};
use ontick_acquire::sink::{Sink, Where};
use ontick_acquire::{Source, Trigger, source};
use ontick_measure::session;
use ontick_record::Measurement as Kind;
use ontick_rt::wait::demand::NotCounted;
use ontick_undo::system_calls::Needed;

use self::acquiring::{Acquiring, Named, Resting};
use self::chain::Chain;
use super::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags, OutputFlags};
use crate::{privileges, stop, terminal};

/// Take samples on time, at a rate or at edges of a line, and send each to sockets and files.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick sample --source wave:sine,50Hz --to - --count 5\n  sudo ontick sample --rate 1kHz --source wave:sine,50Hz \\\n      --to tcp::5000 --to file:samples.csv\n  sudo ontick sample --trigger sim:bench/4:rising --source wave:ramp \\\n      --to unix:/run/samples,format=binary\n  ontick sample --read samples.ontick\n\nSources (repeatable: all are in every sample):\n  wave:SHAPE[,RATE]\n      a computed sine, square, triangle or ramp\n  lines:LINE-LAST\n      GPIO lines that are read at once (lines:sim:bench/0-7)\n  spi:DEVICE,CONVERTER[,channels=0-3][,vref=3.3][,speed=1MHz]\n      a converter on an SPI bus (spi:/dev/spidev0.0,mcp3208)\n  iio:DEVICE/CHANNEL,…[,trigger=NAME]\n      a device with a kernel driver (iio:adc/voltage0)\n\nSinks (repeatable):\n  -                           standard output\n  file:PATH[,rotate=100MB]    a file\n  tcp:[HOST]:PORT             listens; any number of clients\n  unix:PATH[,mode=660]        listens; any number of clients\n  udp:HOST:PORT               one datagram for each sample\n\nEach sink takes ,format=ndjson|csv|binary|arrow. A slow client misses samples, and the stream says how many; no sample waits for a client.",
    mut_arg("load", |load| load.help("Load to run while sampling: none, cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND [default: none]")),
    mut_arg("duration", |duration| duration.help("How long to sample [default: until Ctrl-C]")),
    mut_arg("watch", |watch| watch.help(WATCH)),
    mut_arg("explain", |explain| explain.help("Trace the kernel and name the cause of late samples (needs root)"))
)]
pub struct Sample {
    /// Sampling rate, or the time between two samples
    #[arg(long, value_name = "TIME|RATE", value_parser = flags::interval, conflicts_with_all = ["trigger", "read"])]
    rate: Option<u64>,
    /// Sample at edges of this line: LINE[:rising|falling|both]
    #[arg(long, value_name = "LINE[:EDGES]", value_parser = Trigger::edge, conflicts_with = "read")]
    trigger: Option<Trigger>,
    /// What to sample (repeatable)
    #[arg(long, value_name = "SOURCE", required_unless_present = "read")]
    source: Vec<String>,
    /// Where to send samples (repeatable) [default: standard output; with --watch they are only shown]
    #[arg(long = "to", value_name = "SINK", allow_hyphen_values = true, conflicts_with = "read")]
    sinks: Vec<Sink>,
    /// Show a recording in the binary or the Arrow format as CSV, instead of sampling
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    read: Option<PathBuf>,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

const WATCH: &str = "Show rate, latency, ring, readers and the signal live on the whole terminal";

/// Where neither rate nor trigger is named, in ns: source 000's 1 kHz.
const PERIOD_NS: u64 = 1_000_000;

impl Sample {
    pub fn run(self) -> Result<Outcome, Failure> {
        if let Some(path) = &self.read {
            return recording::show(path);
        }
        let placement = self.measuring.placement.placement();
        let mut limits = self.measuring.limits.limits_or(u64::MAX);
        let trigger = self.trigger.clone().unwrap_or(Trigger::Every(self.rate.unwrap_or(PERIOD_NS)));
        if let Trigger::Every(period_ns) = trigger {
            limits = flags::one_cycle(limits, period_ns)?;
        }
        self.measuring.limits.check_trace()?;
        // What is opened from here on is left as it was, or goes.
        let stop = stop::on_signal()?;
        let sources = self.source.iter().map(|text| source::open(text)).collect::<Result<Vec<_>, _>>()?;
        let sinks = match self.sinks.is_empty() {
            // Who watches need not keep them.
            true if self.measuring.watch => Vec::new(),
            true => vec!["-".parse()?],
            false => self.sinks.clone(),
        };
        let to_stdout = sinks.iter().any(|sink| sink.to == Where::Stdout);
        if to_stdout && self.measuring.watch && stdout().is_terminal() {
            return Err(Failure::new(
                "samples and the live view cannot share a terminal: leave out --to - or --watch, or send standard output elsewhere (> FILE, | PROGRAM)",
            ));
        }
        if to_stdout && self.measuring.output.json {
            return Err(Failure::new(
                "samples go to standard output, so the record cannot: give --record FILE instead of --json, or --to another sink",
            ));
        }

        let simulated = computed(&sources, &trigger);
        if !self.measuring.needs_more() {
            privileges::SAMPLE.settle()?;
            // A load; and a Raspberry Pi's firmware is asked by a program whether the board is throttled.
            privileges::refuse_calls(Needed { programs: true, bpf: true });
        }
        let (ring, chain) = Chain::start(&trigger, &sources, &sinks, placement.cpu)?;
        chain.addresses().for_each(|address| terminal::say(&format!("listening on {address}")));
        chain.notices().for_each(|notice| terminal::say(&format!("notice: {notice}")));
        let (files, mut watching) = (chain.files(), chain.watching());
        let asked = Measurement {
            simulated,
            // Its own were given up before its sinks were opened.
            keeps: None,
            waits_for: match &trigger {
                Trigger::Edge(line, edges) => Some(format!("an edge of line {line} ({edges})")),
                Trigger::Every(_) => None,
            },
            signal: Some(watching.signal()),
            stop: Some(stop),
            samples: Some(Box::new(move || watching.look())),
            ..Measurement::asked(&self.measuring, limits, Kind::Sample, ["samples".to_string()])
        };
        let output = OutputFlags { quiet: to_stdout, ..self.measuring.output.clone() };
        let gone = Arc::new(OnceLock::new());
        let named = Named { all: sources, names: self.source.clone(), gone: gone.clone() };
        let resting = Resting { demands: Demands::find(&trigger), rests: Arc::new(OnceLock::new()) };
        let rests = resting.rests.clone();
        let (mut incomplete, mut handed_on) = (Vec::new(), 0);
        let outcome = measuring::run(
            asked,
            &output,
            |_| true,
            |observer| {
                let prepare = |_: &_| Acquiring::new(&trigger, named, ring, resting);
                let series = session::run("samples", placement, limits, prepare, observer);
                let end = chain.end();
                match rests.get() {
                    Some(rests @ Rests::OnDemand) => observer.fact(format!("{rests}")),
                    Some(rests @ Rests::ByTheClock(NotCounted::Throttled)) => {
                        observer.note(format!("{rests} (`sudo ontick tune apply` lifts it)"));
                    }
                    Some(rests @ Rests::ByTheClock(_)) => observer.note(format!("{rests}")),
                    Some(Rests::EachPeriod) | None => {}
                }
                end.facts.into_iter().for_each(|fact| observer.fact(fact));
                end.notes.into_iter().for_each(|note| observer.note(note));
                (incomplete, handed_on) = (end.incomplete, end.handed_on);
                series.map(|series| vec![series])
            },
        );
        if outcome.is_err() && handed_on == 0 {
            files.iter().for_each(|file| file.remove());
        }
        let outcome = match (outcome, gone.get()) {
            (Ok(_), Some(why)) => Err(Failure::new(format!("sampling ended before its time: {why}"))),
            (outcome, _) => outcome,
        };
        if incomplete.is_empty() {
            return outcome;
        }
        // A full disk may have cost both, the samples and the record.
        let kept = match to_stdout {
            // The summary with its warnings is on standard error, too.
            true => "not all samples were kept (the warnings above say why)".into(),
            false => format!("not all samples were kept: {}", incomplete.join("; ")),
        };
        Err(Failure::new(match outcome {
            Ok(_) => kept,
            Err(failure) => format!("{failure}; {kept}"),
        }))
    }
}

/// What of it is simulated, for the reader of the figures.
fn computed(sources: &[Box<dyn Source>], trigger: &Trigger) -> Option<String> {
    let line = match trigger {
        Trigger::Edge(name, _) => ontick_gpio::simulation_note(&[name]),
        Trigger::Every(_) => None,
    };
    let all: Vec<String> = sources.iter().filter_map(|source| source.simulated()).chain(line).collect();
    (!all.is_empty()).then(|| all.join(", "))
}
