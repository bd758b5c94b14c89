//! A listener that is part of a program: it hands over each message as it comes, and counts what does not.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ontick_record::Histogram;
use ontick_switch::user::packet::Stamps;

use super::error::EndpointError;
use super::listener::{Listener, Strays};
use super::messages::{Messages, WholeMessage};
use super::planned::{Incoming, fingerprint, incoming};
use super::station::StationFiles;
use super::ways_in::WaysIn;

/// The longest wait of a clock that may be set meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// What became of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamFigures {
    /// Messages that came whole.
    pub received: u64,
    /// Messages between the first that came and the newest that did not come whole.
    pub lost: u64,
    /// Messages that came after their deadline.
    pub late: u64,
    /// Frames that came behind one that was sent after them.
    pub out_of_order: u64,
    /// Frames that came twice.
    pub duplicates: u64,
    /// From the beginning of the period until the message was there.
    pub latency: Histogram,
}

/// A listener at work from its opening on: what comes waits in the kernel until the program takes it.
#[derive(Debug)]
pub struct StationListener {
    ways: WaysIn,
    listener: Listener,
    messages: Messages,
    waiting: VecDeque<WholeMessage>,
}

impl StationListener {
    /// Reads the files and opens what frames come by, in the calling thread's network namespace.
    pub fn open(files: &StationFiles, interfaces: &[String], udp: &[SocketAddr]) -> Result<Self, EndpointError> {
        let (planned, node) = files.read()?;
        let streams = incoming(&planned.network, &planned.table, &planned.schedule, node);
        if streams.is_empty() {
            return Err(EndpointError::NothingComes(files.station.clone()));
        }
        let ways = WaysIn::open(&planned.network, node, interfaces, udp)?;
        let messages = Messages::new(&streams);
        let listener = Listener::new(streams, fingerprint(&planned.network, &planned.schedule));
        Ok(Self { ways, listener, messages, waiting: VecDeque::new() })
    }

    /// The streams that come to it.
    pub fn streams(&self) -> &[Incoming] {
        self.listener.streams()
    }

    /// A stream's place among those.
    pub fn place(&self, stream: &str) -> Result<usize, EndpointError> {
        let mut names = self.streams().iter().map(|of| of.name.as_str());
        names.position(|name| name == stream).ok_or_else(|| EndpointError::NoStream {
            name: stream.into(),
            known: self.streams().iter().map(|of| of.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Whether arrivals are stamped by the interface: by the kernel otherwise.
    pub fn is_stamped_by_interface(&self) -> bool {
        self.ways.stamps() == Stamps::Hardware
    }

    /// The next message, in the order in which they came; none where none comes within the time.
    pub fn next(&mut self, at_most: Duration) -> Result<Option<WholeMessage>, EndpointError> {
        let until = Instant::now().checked_add(at_most);
        loop {
            self.take();
            if let Some(message) = self.waiting.pop_front() {
                return Ok(Some(message));
            }
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            self.ways.wait(&mut self.listener, left.min(LOOK)).map_err(EndpointError::Receive)?;
        }
    }

    fn take(&mut self) {
        if self.waiting.is_empty() {
            let Self { ways, listener, messages, waiting } = self;
            ways.take(listener, |frame| waiting.extend(messages.add(frame)));
        }
    }

    /// What became of a stream so far, of what the program has taken; what waits in the kernel is not counted yet.
    pub fn figures(&self, stream: usize) -> Option<StreamFigures> {
        let of = self.listener.arrivals().get(stream)?;
        // What was sent is known by the numbers of what came.
        let sent = of.span().div_ceil(of.expected().parts);
        let of = of.delivered(sent);
        Some(StreamFigures {
            received: of.received,
            lost: sent.saturating_sub(of.received),
            late: of.late,
            out_of_order: of.out_of_order,
            duplicates: of.duplicates,
            latency: of.latency,
        })
    }

    /// What came besides.
    pub fn strays(&mut self) -> Strays {
        self.ways.count_overflowed(&mut self.listener);
        self.listener.strays()
    }
}
