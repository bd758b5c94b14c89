//! `ontick network talk`

mod talking;

use std::fs::File;
use std::io::Read;
use std::sync::{Arc, OnceLock};

use clap::Args;
use ontick_measure::{Error, session};
use ontick_network::endpoint::{
    Datagrams, EndpointError, Outgoing, Outlets, Planned, StationTime, Talker, WayOutError, WaysOut, fingerprint,
    outgoing, place,
};
use ontick_record::Measurement as Kind;
use ontick_switch::user::CorePlacement;
use ontick_switch::user::rest::Rests;
use ontick_tsn::network::{Network, NodeId};

use self::talking::Talking;
use super::planned::PlannedFlags;
use super::station_flags::{self, Payload, StationFlags};
use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};
use crate::terminal;

/// Octets of a payload's file at most.
const LARGEST_PAYLOAD: u64 = 1 << 20;

/// Send the streams of a station, each message at its planned time.
///
/// Frames leave by the interface with the stream's destination address and VLAN tag, numbered and stamped. The times are
/// those of TAI on this machine. Measured is how late each message is handed to the kernel.
///
/// Exit status: 0 it was sent, 1 not as required, 2 it could not be sent.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick network talk network.toml plan.json --station camera \\\n      --interface eth0\n  sudo ontick network talk network.toml plan.json --station camera \\\n      --interface eth0 --duration 10s --require \"99% < 3us\"\n  sudo ontick network talk network.toml plan.json --station camera \\\n      --udp video=192.0.2.7:5000",
    mut_arg("duration", |duration| duration.help("How long to send, from the first message on [default: until Ctrl-C]")),
    mut_arg("count", |count| count.help("How many messages to send, of all streams together")),
    mut_arg("load", |load| load.help("Load to run while sending: none, cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND [default: none]")),
)]
pub struct Talk {
    #[command(flatten)]
    planned: PlannedFlags,
    #[command(flatten)]
    station: StationFlags,
    /// When the first periods begin, in ns of TAI [default: with a whole second, about a second from now]
    #[arg(long, value_name = "NS")]
    base_time: Option<u64>,
    /// Send a stream as datagrams to this address, by the machine's own stack: STREAM=ADDRESS:PORT (repeatable: a stream with
    /// several listeners has several)
    #[arg(long, value_name = "STREAM=ADDRESS")]
    udp: Vec<Datagrams>,
    /// What each message of a stream carries behind its header of 40 octets: STREAM=FILE (repeatable)
    #[arg(long, value_name = "STREAM=FILE")]
    payload: Vec<Payload>,
    /// Hand frames over this long before their time, and have the queueing discipline etf send them (SO_TXTIME)
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    launch_time: Option<u64>,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

impl Talk {
    pub fn run(self) -> Result<Outcome, Failure> {
        let Planned { network, schedule, .. } = self.planned.read_for_node()?;
        let node = self.station.node(&network)?;
        let mut streams = outgoing(&network, &schedule, node);
        if streams.is_empty() {
            return Err(Failure::new(EndpointError::SendsNothing(self.station.name().into())));
        }
        let base_ns = station_flags::base_ns(self.base_time, streams.iter().map(|of| of.period_ns))?;
        self.measuring.limits.check_trace()?;
        let payloads = self.payloads(&network, node, &streams)?;
        let ways = WaysOut {
            interfaces: self.station.interfaces().to_vec(),
            udp: self.udp.clone(),
            launch_time_ns: self.launch_time,
        };
        let Outlets { all: outlets, without_link, refused: lacks } =
            ways.open(&network, node, &mut streams).map_err(refused)?;
        for interface in without_link {
            terminal::say(&format!("ontick: {interface} has no link at the moment: frames are lost until it has"));
        }
        let plan = fingerprint(&network, &schedule);
        let (placement, limits) = (self.measuring.placement.placement(), self.measuring.limits.limits_or(u64::MAX));
        let core = CorePlacement { cpu: placement.cpu, policy: placement.policy, never_rest: false };
        let asked = Measurement::asked(&self.measuring, limits, Kind::NetworkTalk, ["messages".to_string()]);
        let ended = Arc::new(OnceLock::new());
        let names: Vec<String> = streams.iter().map(|of| of.name.clone()).collect();
        terminal::say(&format!(
            "ontick: {} of station {} from {base_ns} ns of TAI on (Ctrl-C ends it)",
            if names.len() == 1 { "1 stream".into() } else { format!("{} streams", names.len()) },
            self.station.name()
        ));
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| {
                let prepare = |ready: &ontick_rt::thread::ThreadSetup| {
                    let (time, following) =
                        StationTime::tai().map_err(|error| Error::Impossible(format!("the clock: {error}")))?;
                    let rests = Rests::needed(core, ready.policy());
                    let mut talker = Talker::new(streams, outlets, time, base_ns, plan).resting(rests);
                    for (stream, payload) in &payloads {
                        let set = talker.set_payload(*stream, payload);
                        set.map_err(|error| Error::Impossible(error.to_string()))?;
                    }
                    Ok(Talking::new(talker, following, limits.length, ended.clone()))
                };
                let series = session::run("messages", placement, limits, prepare, observer);
                if let Some(ended) = ended.get() {
                    if let Some(why) = ended.nothing_left() {
                        return Err(Error::Impossible(why));
                    }
                    ended.notes(&names).into_iter().for_each(|note| observer.note(note));
                }
                series.map(|mut series| {
                    series.settings.refused.extend(lacks);
                    vec![series]
                })
            },
        )
    }

    /// What streams carry, by their places.
    fn payloads(
        &self,
        network: &Network,
        node: NodeId,
        streams: &[Outgoing],
    ) -> Result<Vec<(usize, Vec<u8>)>, Failure> {
        let read = |payload: &Payload| {
            let stream = place(network, node, streams, &payload.stream).map_err(refused)?;
            let wrong = |why: &dyn std::fmt::Display| Failure::new(format!("{}: {why}", payload.file.display()));
            // A device or a pipe does not say how long it is, and may have no end.
            let (file, mut octets) = (File::open(&payload.file).map_err(|e| wrong(&e))?, Vec::new());
            file.take(LARGEST_PAYLOAD + 1).read_to_end(&mut octets).map_err(|e| wrong(&e))?;
            if octets.len() as u64 > LARGEST_PAYLOAD {
                return Err(wrong(&"longer than 1 MiB, which no message carries"));
            }
            Ok((stream, octets))
        };
        self.payload.iter().map(read).collect()
    }
}

/// What is asked for cannot leave; which option would mend that.
fn refused(error: WayOutError) -> Failure {
    match error {
        WayOutError::NoInterface => {
            Failure::new("name the interface that frames leave by (--interface), or --udp for every stream")
        }
        WayOutError::SeveralFrames { name, parts } => Failure::new(format!(
            "stream {name} has messages of {parts} frames, and a datagram is one: leave out --udp, or make it 1472 octets \
             (by IPv6 1452)"
        )),
        WayOutError::Fragments { name, to, octets, room } => Failure::new(format!(
            "stream {name} has messages of {octets} octets, and a packet on the way to {to} has room for {room}, so each would \
             go in fragments: leave out --udp, or make it {room} octets"
        )),
        other => Failure::new(other),
    }
}
