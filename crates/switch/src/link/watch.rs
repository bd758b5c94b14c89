//! Events as they happen.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use ontick_netlink::{Buffer, Message, Protocol, Received, listen};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::time::Timespec;

use super::list::Lister;
use super::state::{Change, Link};
use super::traffic::TrafficChange;

/// `RTNLGRP_LINK` and `RTNLGRP_TC` as bits.
const GROUPS: u32 = 1 << (libc::RTNLGRP_LINK - 1) | 1 << (libc::RTNLGRP_TC - 1);

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// To an interface.
    Link {
        /// Its index.
        index: u32,
        /// Its name, the new one if it was renamed.
        name: String,
        /// What it was.
        change: Change,
    },
    /// To the queueing disciplines or filters of an interface.
    Traffic {
        /// Name of the interface, if it is known.
        name: Option<String>,
        /// What it was.
        change: TrafficChange,
    },
    /// Events were lost. Those that follow say how the links differ from what was known; whatever else depends on
    /// events is to be looked at anew.
    Lost,
}

/// Hears what happens to the interfaces of one network namespace.
#[derive(Debug)]
pub struct Watch {
    socket: OwnedFd,
    lister: Lister,
    buffer: Buffer,
    known: BTreeMap<u32, Link>,
    waiting: VecDeque<Event>,
}

impl Watch {
    /// Begins to listen in the calling thread's network namespace, and stays with that wherever it is used.
    pub fn begin() -> io::Result<Self> {
        // First the socket, then the list: nothing falls between them.
        let socket = listen(Protocol::Route, GROUPS)?;
        let mut lister = Lister::new()?;
        let known = by_index(lister.list()?);
        Ok(Self { socket, lister, buffer: Buffer::default(), known, waiting: VecDeque::new() })
    }

    /// The interface of this name, as last heard of.
    pub fn named(&self, name: &str) -> Option<&Link> {
        self.known.values().find(|link| link.name == name)
    }

    /// All interfaces, as last heard of.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.known.values()
    }

    /// The next event; nothing if none happens for so long, or if a signal came.
    pub fn next(&mut self, at_most: Duration) -> io::Result<Option<Event>> {
        let begun = Instant::now();
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            match self.buffer.receive(&self.socket, RecvFlags::DONTWAIT)? {
                Received::Octets(octets) => self.take(octets),
                Received::Lost => self.look_anew()?,
                Received::Nothing => {
                    let left = at_most.saturating_sub(begun.elapsed());
                    if left.is_zero() || !self.wait(left)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn wait(&self, at_most: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut fds, Timespec::try_from(at_most).ok().as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    fn take(&mut self, octets: usize) {
        for message in self.buffer.messages(octets) {
            self.waiting.extend(events(&mut self.known, &message));
        }
    }

    /// Compares what was known with what is.
    fn look_anew(&mut self) -> io::Result<()> {
        self.waiting.push_back(Event::Lost);
        let now = by_index(self.lister.list()?);
        let gone: Vec<u32> = self.known.keys().filter(|index| !now.contains_key(index)).copied().collect();
        for index in gone {
            self.waiting.extend(vanished(&mut self.known, index));
        }
        for link in now.into_values() {
            self.waiting.extend(seen(&mut self.known, link));
        }
        Ok(())
    }
}

fn by_index(links: Vec<Link>) -> BTreeMap<u32, Link> {
    links.into_iter().map(|link| (link.index, link)).collect()
}

/// What a message tells.
fn events(known: &mut BTreeMap<u32, Link>, message: &Message<'_>) -> Vec<Event> {
    match message.kind {
        libc::RTM_NEWLINK => Link::read(message).map(|link| seen(known, link)).unwrap_or_default(),
        libc::RTM_DELLINK => Link::read(message).and_then(|link| vanished(known, link.index)).into_iter().collect(),
        _ => TrafficChange::read(message)
            .map(|change| Event::Traffic { name: known.get(&change.index).map(|link| link.name.clone()), change })
            .into_iter()
            .collect(),
    }
}

/// An interface is as `link` says.
fn seen(known: &mut BTreeMap<u32, Link>, link: Link) -> Vec<Event> {
    let changes = match known.get(&link.index) {
        Some(before) => link.changes_since(before),
        None => vec![Change::Appeared],
    };
    let (index, name) = (link.index, link.name.clone());
    known.insert(index, link);
    changes.into_iter().map(|change| Event::Link { index, name: name.clone(), change }).collect()
}

/// An interface is no more.
fn vanished(known: &mut BTreeMap<u32, Link>, index: u32) -> Option<Event> {
    known.remove(&index).map(|link| Event::Link { index, name: link.name, change: Change::Gone })
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
