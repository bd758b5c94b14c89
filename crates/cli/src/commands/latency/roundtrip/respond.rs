//! The answering end: `--respond`.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ontick_measure::{Length, Placement};
use ontick_network::roundtrip::{DatagramPort, EthernetPort, Port, ResponderThread, Station};
use ontick_units::count;

use super::{RoundTrip, thread_placement};
use crate::failure::{Failure, Outcome};
use crate::{privileges, stop, terminal};

/// How often it is looked whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

impl RoundTrip {
    pub(super) fn answer(&self) -> Result<Outcome, Failure> {
        if let Some(Some(at)) = self.requests.way.udp {
            let port = DatagramPort::bind(at).map_err(Failure::new)?;
            self.requests.way.prepare(&port)?;
            let at = port.address()?;
            let to = if at.ip().is_unspecified() { format!("HOST:{}", at.port()) } else { at.to_string() };
            return self.answer_by(port, &format!("UDP {at}"), &format!("--to {to}"));
        }
        let Some(interface) = &self.requests.way.interface else {
            return Err(Failure::new(
                "name the interface that requests come by, --interface IF, or the address of datagrams, --udp 0.0.0.0:5000",
            ));
        };
        let port = EthernetPort::open(interface).map_err(Failure::new)?;
        let own = Station { address: port.address(), tag: None };
        if let Some(trouble) = port.trouble() {
            terminal::say(&format!("ontick: {trouble} at the moment: nothing comes until it has"));
        }
        self.answer_by(port, &format!("{own} on {interface}"), &format!("--interface IF --to {own}"))
    }

    fn answer_by<P: Port + Send + 'static>(&self, port: P, at: &str, to: &str) -> Result<Outcome, Failure> {
        let placement: Placement = self.measuring.placement.placement();
        placement.check()?;
        let until = match self.measuring.limits.limits_or(u64::MAX).length {
            Length::Duration(ns) if ns < u64::MAX => Some(Instant::now() + Duration::from_nanos(ns)),
            _ => None,
        };
        let stop = stop::on_signal()?;
        // The port is open; the thread that answers whoever asks is one of what is left.
        privileges::FRAMES.settle()?;
        let thread = ResponderThread::start(port, thread_placement(placement, self.wait))?;
        terminal::print(&format!(
            "Answering requests at {at}, {} wait, until {}.\nThe other end: ontick latency roundtrip {to}\n",
            self.wait,
            if until.is_some() { "the time is over" } else { "Ctrl-C" }
        ))?;
        while !stop.load(Relaxed) && !thread.is_finished() && until.is_none_or(|until| Instant::now() < until) {
            std::thread::sleep(LOOK);
        }
        let (answered, refused) = thread.stop()?;
        let mut warnings: Vec<String> = refused;
        if answered.refused > 0 {
            warnings
                .push(format!("{} answers were not taken by the kernel: no link, or no room", count(answered.refused)));
        }
        if answered.overflowed > 0 {
            warnings.push(format!("{} frames came and found no room", count(answered.overflowed)));
        }
        let warnings: String = warnings.iter().map(|what| format!("warning: {what}\n")).collect();
        terminal::print(&format!(
            "Answered {} requests, those of practice among them. Nothing was measured here.\n{warnings}",
            count(answered.answers)
        ))?;
        Ok(Outcome::Met)
    }
}
