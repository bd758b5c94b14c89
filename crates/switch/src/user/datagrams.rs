//! Datagrams to and from others by one socket, with the kernel's stamps of both.

use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::port::Sent;
use super::sys;
use super::udp::{UdpError, any_address, room, sent};

/// Stamps of earlier datagrams that are passed over in one call.
const MOST_STAMPS: u32 = 64;
/// `SO_BUSY_POLL` (asm-generic/socket.h).
const SO_BUSY_POLL: i32 = 46;
/// The place of the drops among what `SO_MEMINFO` (asm-generic/socket.h) shows (linux/sock_diag.h).
const SO_MEMINFO: i32 = 55;
const DROPS: usize = 8;

/// A datagram that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Its octets, as far as there was room.
    pub octets: usize,
    /// Who sent it.
    pub from: SocketAddr,
    /// When the kernel had it, in ns since 1970, where it says so.
    pub stamp_ns: Option<u64>,
}

/// A socket that sends datagrams and receives them.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: UdpSocket,
    /// The one other end; none where anybody may send.
    peer: Option<SocketAddr>,
    /// When the datagram that was sent last left, if its stamp was taken already.
    left_ns: Cell<Option<u64>>,
    stamps_sent: bool,
    dropped: u32,
}

impl DatagramSocket {
    /// For datagrams to one other end and from it, in the calling thread's network namespace. The kernel stamps them as they
    /// leave, too.
    pub fn connect(to: SocketAddr) -> Result<Self, UdpError> {
        let unreachable = |error| UdpError::Unreachable(to, error);
        let socket = UdpSocket::bind(any_address(to)).map_err(unreachable)?;
        socket.connect(to).map_err(unreachable)?;
        Self::new(socket, Some(to))
    }

    /// For datagrams from anybody to an address of this machine, in the calling thread's network namespace.
    pub fn bind(at: SocketAddr) -> Result<Self, UdpError> {
        Self::new(UdpSocket::bind(at).map_err(|error| UdpError::Taken(at, error))?, None)
    }

    fn new(socket: UdpSocket, peer: Option<SocketAddr>) -> Result<Self, UdpError> {
        socket.set_nonblocking(true).map_err(|error| UdpError::Option("a socket that does not wait", error))?;
        let mut stamps = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        if peer.is_some() {
            stamps |= libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        }
        let mut own = Self { socket, peer, left_ns: Cell::new(None), stamps_sent: peer.is_some(), dropped: 0 };
        own.set(libc::SO_TIMESTAMPING, stamps as i32, "stamps of datagrams (SO_TIMESTAMPING)")?;
        own.dropped = own.drops();
        Ok(own)
    }

    fn set(&self, option: i32, value: i32, what: &'static str) -> Result<(), UdpError> {
        sys::set_option(&self.socket, libc::SOL_SOCKET, option, &value).map_err(|error| UdpError::Option(what, error))
    }

    /// What queueing disciplines, and the map of a VLAN interface to code points, choose by: 0 to 15.
    pub fn prioritize(&self, priority: u8) -> Result<(), UdpError> {
        self.set(sys::SO_PRIORITY, priority.into(), "a priority of datagrams (SO_PRIORITY)")
    }

    /// Has whoever takes a datagram look at the card's own queue first, where its driver lets the kernel (socket(7)). A value
    /// above that of the machine (`net.core.busy_read`) needs root.
    pub fn poll_busily(&self, at_most: Duration) -> Result<(), UdpError> {
        let us = i32::try_from(at_most.as_micros()).unwrap_or(i32::MAX);
        self.set(SO_BUSY_POLL, us, "reading the card's own queue (SO_BUSY_POLL)")
    }

    /// Where it receives.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Octets of the longest datagram that leaves to the other end as one packet, as far as the way is known.
    pub fn room(&self) -> Option<usize> {
        room(&self.socket)
    }

    /// Hands a datagram over, without waiting.
    #[inline]
    pub fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> Sent {
        match self.peer {
            Some(_) => sent(|| self.socket.send(datagram)),
            None => sent(|| self.socket.send_to(datagram, to)),
        }
    }

    /// When the datagram that was sent last left, in ns since 1970; nothing where the driver stamps none, or has not yet.
    pub fn take_sent_stamp(&mut self) -> Option<u64> {
        self.drain_stamps();
        self.left_ns.take()
    }

    fn drain_stamps(&self) {
        for _ in 0..MOST_STAMPS {
            match sys::sent_stamp(&self.socket) {
                Ok(stamp) => self.left_ns.set(stamp),
                Err(_) => break,
            }
        }
    }

    /// The next datagram; nothing if there is none. An error is what the other end's machine said of an earlier one, as that
    /// nobody is at its port.
    #[inline]
    pub fn next(&mut self, to: &mut [u8]) -> io::Result<Option<Datagram>> {
        match sys::receive_from(&self.socket, to) {
            Ok((octets, from, stamp_ns)) => Ok(from.map(|from| Datagram { octets, from, stamp_ns })),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until a datagram is there, or the time is over, or a signal came.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        let began = Instant::now();
        loop {
            // A stamp in the error queue would end the wait at once.
            if self.stamps_sent {
                self.drain_stamps();
            }
            let left = at_most.saturating_sub(began.elapsed());
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => return Ok(false),
                Err(errno) => return Err(errno.into()),
            }
            let found = fds[0].revents();
            if !found.contains(PollFlags::ERR) || found.contains(PollFlags::IN) {
                return Ok(found.contains(PollFlags::IN));
            }
            // What the other end's machine said is kept for whoever takes the next datagram only once: note it here.
            if let Some(error) = self.socket.take_error()? {
                return Err(error);
            }
            if left.is_zero() {
                return Ok(false);
            }
        }
    }

    /// Datagrams that came and found no room, since this was last asked.
    pub fn overflowed(&mut self) -> u64 {
        let now = self.drops();
        u64::from(now.wrapping_sub(std::mem::replace(&mut self.dropped, now)))
    }

    fn drops(&self) -> u32 {
        sys::option::<[u32; 9]>(&self.socket, libc::SOL_SOCKET, SO_MEMINFO).map_or(self.dropped, |all| all[DROPS])
    }
}

#[cfg(test)]
mod tests {
    use ontick_rt::clock::ClockId;

    use super::*;

    fn pair() -> (DatagramSocket, DatagramSocket, SocketAddr) {
        let answers = DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let at = answers.address().unwrap();
        (DatagramSocket::connect(at).unwrap(), answers, at)
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_datagram_goes_and_its_answer_comes_with_stamps_of_both() {
        let (mut asks, mut answers, at) = pair();
        asks.prioritize(6).unwrap();
        let mut room = [0; 16];
        // The first stamps of a machine may be on their way to being switched on, by a thread of the kernel's.
        let (mut stamped, began) = (None, std::time::Instant::now());
        while began.elapsed() < LONG {
            let before_ns = ClockId::Realtime.now_ns();
            assert_eq!(asks.send(at, b"request"), Sent::Done);
            assert!(answers.wait(LONG).unwrap());
            let request = answers.next(&mut room).unwrap().unwrap();
            assert_eq!((&room[..request.octets], request.from.ip()), (&b"request"[..], at.ip()));
            assert_eq!(answers.send(request.from, b"answer"), Sent::Done);
            assert!(asks.wait(LONG).unwrap());
            let answer = asks.next(&mut room).unwrap().unwrap();
            assert_eq!((&room[..answer.octets], answer.from), (&b"answer"[..], at));
            assert_eq!((asks.next(&mut room).unwrap(), answers.next(&mut room).unwrap()), (None, None));
            stamped = asks.take_sent_stamp().zip(request.stamp_ns).zip(answer.stamp_ns);
            if let Some(((left_ns, asked_ns), came_ns)) = stamped {
                let all = [before_ns, left_ns, asked_ns, came_ns, ClockId::Realtime.now_ns()];
                assert!(all.is_sorted(), "{all:?}");
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(stamped.is_some());
        assert_eq!(asks.take_sent_stamp(), None);
    }

    #[test]
    fn a_stamp_of_what_left_neither_ends_a_wait_nor_keeps_it_awake() {
        let used = || Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime)).unwrap();
        let (mut asks, _answers, at) = pair();
        let (long, began) = (Duration::from_millis(60), used());
        for _ in 0..2 {
            assert_eq!(asks.send(at, b"request"), Sent::Done);
            let began = Instant::now();
            assert!(!asks.wait(long).unwrap());
            assert!(began.elapsed() >= long);
        }
        // It slept: a wait that a stamp ends again and again takes all of the time.
        assert!(used() - began < long, "{:?}", used() - began);
    }

    #[test]
    fn that_nobody_is_there_is_reported_and_ends_a_wait() {
        let (mut asks, answers, at) = pair();
        drop(answers);
        assert_eq!(asks.send(at, b"request"), Sent::Done);
        assert_eq!(asks.wait(LONG).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(asks.send(at, b"request"), Sent::Done);
        assert_eq!(asks.next(&mut [0; 4]).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn what_finds_no_room_is_counted_once() {
        let (mut asks, mut answers, at) = pair();
        sys::set_option(&answers.socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &1i32).unwrap();
        (0..100).for_each(|_| assert_eq!(asks.send(at, &[0; 1_000]), Sent::Done));
        let mut came = 0;
        while answers.next(&mut [0; 4]).unwrap().is_some() {
            came += 1;
        }
        assert_eq!((came + answers.overflowed(), answers.overflowed()), (100, 0));
    }
}
