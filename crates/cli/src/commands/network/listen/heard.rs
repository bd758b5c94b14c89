//! What a listener heard, as a record.

use std::time::Duration;

use ontick_network::endpoint::{Listener, Strays};
use ontick_record::network::NetworkProof;
use ontick_record::{Measurement, Run};
use ontick_switch::user::packet::Stamps;
use ontick_tsn::network::{Kind, Network};
use ontick_tsn::validate::Schedule;
use ontick_units::count;

use super::names;
use crate::commands::network::proven;

/// All of it.
pub struct Heard<'a> {
    pub network: &'a Network,
    pub schedule: &'a Schedule,
    pub station: &'a str,
    pub listener: &'a Listener,
    pub stamps: Stamps,
    pub took: Duration,
    pub interrupted: bool,
}

impl Heard<'_> {
    /// The record, judged by what every stream is promised.
    pub fn run(&self) -> Run {
        let mut run = Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), Measurement::NetworkListen);
        run.started = ontick_record::date::now();
        run.duration_ns = self.took.as_nanos() as u64;
        run.interrupted = self.interrupted;
        let of = |kind| self.network.nodes.iter().filter(|node| node.kind == kind).count() as u64;
        // What was sent is known by the numbers of what came.
        let delivered: Vec<_> = self
            .listener
            .arrivals()
            .iter()
            .map(|of| (of.delivered(of.span().div_ceil(of.expected().parts)), 0))
            .map(|(of, more)| proven::stream(self.network, self.schedule, &of, more))
            .collect();
        let proof = NetworkProof {
            world: format!("station {}", self.station),
            switches: of(Kind::Switch),
            stations: of(Kind::Station),
            about: match self.stamps {
                Stamps::Hardware => "arrivals stamped by the interface".into(),
                Stamps::Software => "arrivals stamped by the kernel".into(),
            },
            duration_ns: run.duration_ns,
            sync_error_ns: self.network.sync_error_ns,
            frames: self.listener.frames(),
            streams: delivered,
            ..NetworkProof::default()
        };
        let latencies = self.listener.arrivals().iter().map(|of| of.latency());
        run.series.push(proven::all_messages(latencies));
        run.requirements = proven::judged(&proof, "every stream is received");
        run.notes = self.notes();
        run.network = Some(proof);
        run
    }

    /// Why nothing may have come, as the end of a sentence.
    pub fn hint(&self) -> String {
        match self.notes().first() {
            Some(note) => format!(" ({note})"),
            None => String::new(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let Strays { other_plan, other_time, retagged, overflowed, .. } = self.listener.strays();
        let mut notes = Vec::new();
        let silent = || {
            let streams = self.listener.streams().iter().zip(self.listener.arrivals());
            streams.filter(|(_, came)| came.frames() == 0).map(|(of, _)| of)
        };
        if other_plan > 0 {
            notes.push(format!(
                "{} frames are of a talker with another plan or another network: give both the same files",
                count(other_plan)
            ));
        }
        if other_time > 0 {
            notes.push(format!(
                "{} frames were planned more than an hour from when they came: give both machines one time",
                count(other_time)
            ));
        }
        if silent().next().is_some() {
            notes.push(format!("nothing came of {}: does its talker send, and is the way open?", names(silent())));
        }
        if retagged > 0 {
            notes.push(format!(
                "{} frames came with another VLAN tag or priority than is planned, or without one",
                count(retagged)
            ));
        }
        if overflowed > 0 {
            notes.push(format!(
                "{} frames came and found no room: this machine was too slow, not the network",
                count(overflowed)
            ));
        }
        notes
    }
}
