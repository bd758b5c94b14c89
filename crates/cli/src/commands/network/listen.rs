//! `ontick network listen`

mod heard;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Args;
use ontick_network::endpoint::{
    EndpointError, FrameLog, Incoming, Listener, Planned, WayInError, WaysIn, WithoutLine, fingerprint, incoming,
};
use ontick_record::store::StoreError;
use ontick_record::{Run, store};
use ontick_undo::system_calls::Needed;
use ontick_units::count;

use self::heard::Heard;
use super::planned::PlannedFlags;
use super::station_flags::StationFlags;
use crate::attempts::Attempts;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, OutputFlags};
use crate::{privileges, stop, terminal};

/// How long it waits for frames before it looks around.
const WAIT: Duration = Duration::from_millis(20);

/// Receive the streams of a station, and hold each message against its promise and the plan.
///
/// Latencies count from the beginning of the period in which the talker planned the message until it arrived, by this
/// machine's TAI; both stations need one time. Arrivals are stamped by the interface where it can, else by the kernel.
///
/// Exit status: 0 every stream keeps its promise, 1 some do not, or did not come, 2 nothing could be received.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick network listen network.toml plan.json --station drive \\\n      --interface eth0\n  sudo ontick network listen network.toml plan.json --station drive \\\n      --interface eth0 --duration 10s --record heard.json \\\n      --frames frames.csv\n  ontick network listen network.toml plan.json --station drive \\\n      --udp 0.0.0.0:5000"
)]
pub struct Listen {
    #[command(flatten)]
    planned: PlannedFlags,
    #[command(flatten)]
    station: StationFlags,
    /// Receive datagrams at this address, too: ADDRESS:PORT (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    udp: Vec<SocketAddr>,
    /// How long to listen [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = flags::duration, conflicts_with = "count")]
    duration: Option<u64>,
    /// How many messages to wait for, of all streams together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Write every frame that came to this file, with its times and its judgement, as comma-separated values, and each that
    /// was lost, as far as its number tells
    #[arg(long, value_name = "FILE")]
    frames: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
}

impl Listen {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self.carry_out() {
            Ok((run, written)) => {
                let mut attempts = Attempts::default();
                attempts.note(self.output.deliver(&run).map(drop));
                attempts.note(written);
                attempts.end().map(|()| Outcome::of(&run))
            }
            Err(failure) => {
                self.output.report_failure("network listen", &failure);
                Err(failure)
            }
        }
    }

    /// What was heard, and whether the file of frames was written.
    fn carry_out(&self) -> Result<(Run, Result<(), StoreError>), Failure> {
        self.output.check()?;
        if let Some(path) = &self.frames {
            store::check_writable(path)?;
        }
        let Planned { network, table, schedule } = self.planned.read_for_node()?;
        let node = self.station.node(&network)?;
        let streams = incoming(&network, &table, &schedule, node);
        if streams.is_empty() {
            return Err(Failure::new(EndpointError::NothingComes(self.station.name().into())));
        }
        let ways = WaysIn::open(&network, node, self.station.interfaces(), &self.udp);
        let mut ways = ways.map_err(refused)?;
        let mut listener = Listener::new(streams.clone(), fingerprint(&network, &schedule));
        let stop = stop::on_signal()?;
        privileges::LISTENING.settle()?;
        privileges::refuse_calls(Needed::default());
        let mut log = self.frames.as_ref().map(|path| FrameLog::begin(path, &streams)).transpose()?;
        terminal::say(&format!(
            "ontick: listening for {} of station {} (Ctrl-C ends it)",
            if streams.len() == 1 { "1 stream".into() } else { format!("{} streams", streams.len()) },
            self.station.name()
        ));
        let began = Instant::now();
        self.listen(&mut ways, &mut listener, log.as_mut(), &stop)?;
        let heard = Heard {
            network: &network,
            schedule: &schedule,
            station: self.station.name(),
            listener: &listener,
            stamps: ways.stamps(),
            took: began.elapsed(),
            interrupted: stop.load(Relaxed),
        };
        if stop.load(Relaxed) && listener.frames() == 0 {
            return Err(Failure::new(format!(
                "the run was ended before any message came, so nothing is kept{}",
                heard.hint()
            )));
        }
        let mut run = heard.run();
        let lost = listener.arrivals().iter().map(|of| of.span().saturating_sub(of.frames())).sum();
        let written = log.map_or(Ok(WithoutLine::default()), |log| log.end(lost));
        run.notes.extend(written.iter().flat_map(|without| self.unwritten(*without)));
        let all = std::mem::take(&mut run.requirements);
        self.output.judge(&mut run, |_| true);
        run.requirements.splice(0..0, all);
        Ok((run, written.map(drop)))
    }

    /// What the file of frames lacks.
    fn unwritten(&self, without: WithoutLine) -> Vec<String> {
        let file = self.frames.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let WithoutLine { came, lost } = without;
        let came = (came > 0).then(|| {
            format!("{} frames came faster than {file} could be written, and have no line in it", count(came))
        });
        let lost = (lost > 0)
            .then(|| format!("{} lost frames have no line in {file}, which cannot tell them all", count(lost)));
        came.into_iter().chain(lost).collect()
    }

    fn listen(
        &self,
        ways: &mut WaysIn,
        listener: &mut Listener,
        mut log: Option<&mut FrameLog>,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let until = self.duration.map(|ns| Instant::now() + Duration::from_nanos(ns));
        let messages = |listener: &Listener| listener.arrivals().iter().map(|of| of.messages()).sum::<u64>();
        loop {
            let taken = ways.take(listener, |frame| {
                if let Some(log) = &mut log {
                    log.add(frame);
                }
            });
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            let is_enough = self.count.is_some_and(|count| messages(listener) >= count);
            if stop.load(Relaxed) || is_over || is_enough {
                break;
            }
            if taken == 0 {
                let left = until.map_or(WAIT, |until| until.saturating_duration_since(Instant::now()).min(WAIT));
                ways.wait_for_many(listener, left)?;
            }
        }
        ways.count_overflowed(listener);
        Ok(())
    }
}

/// What is asked for cannot come; which option would mend that.
fn refused(error: WayInError) -> Failure {
    match error {
        WayInError::NoInterface => Failure::new("name the interface that frames come by (--interface), or --udp"),
        other => Failure::new(other),
    }
}

/// The names of streams, as the end of a sentence.
fn names<'a>(streams: impl Iterator<Item = &'a Incoming>) -> String {
    streams.map(|of| of.name.as_str()).collect::<Vec<_>>().join(", ")
}
