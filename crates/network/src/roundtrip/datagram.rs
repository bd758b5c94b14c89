//! Messages as UDP datagrams, by the machine's own stack.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ontick_switch::user::datagrams::DatagramSocket;
use ontick_switch::user::port::Sent;
use ontick_switch::user::udp::UdpError;

use super::message::{Message, OCTETS};
use super::port::{Arrival, Port};

/// Octets of data of the largest datagram: by Ethernet and IPv4, one packet.
pub const LARGEST_DATAGRAM: usize = 1_472;
/// Datagrams of others that are passed over in one call.
const AT_ONCE: u32 = 64;

/// A socket that sends and receives messages.
#[derive(Debug)]
pub struct DatagramPort {
    socket: DatagramSocket,
    /// What is sent: a message, and zeros behind it.
    data: Box<[u8; LARGEST_DATAGRAM]>,
    /// What came.
    room: Box<[u8; LARGEST_DATAGRAM]>,
    to: Option<SocketAddr>,
    /// The other end's machine said that nobody is at the port.
    is_refused: bool,
}

impl DatagramPort {
    /// For requests to an address, in the calling thread's network namespace.
    pub fn connect(to: SocketAddr) -> Result<Self, UdpError> {
        Ok(Self::new(DatagramSocket::connect(to)?, Some(to)))
    }

    /// For requests that come to an address of this machine, in the calling thread's network namespace.
    pub fn bind(at: SocketAddr) -> Result<Self, UdpError> {
        Ok(Self::new(DatagramSocket::bind(at)?, None))
    }

    fn new(socket: DatagramSocket, to: Option<SocketAddr>) -> Self {
        let [data, room] = [(); 2].map(|()| Box::new([0; LARGEST_DATAGRAM]));
        Self { socket, data, room, to, is_refused: false }
    }

    /// Octets of the longest datagram that leaves as one packet, as far as the way is known: a longer one goes in fragments.
    pub fn room(&self) -> Option<usize> {
        self.socket.room()
    }

    /// What queueing disciplines choose by, 0 to 15.
    pub fn prioritize(&self, priority: u8) -> Result<(), UdpError> {
        self.socket.prioritize(priority)
    }

    /// Has each look at the socket look at the card's own queue first, where its driver lets the kernel.
    pub fn poll_busily(&self, at_most: Duration) -> Result<(), UdpError> {
        self.socket.poll_busily(at_most)
    }

    /// Where it receives.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.address()
    }
}

impl Port for DatagramPort {
    type Peer = SocketAddr;

    #[inline]
    fn send(&mut self, to: SocketAddr, octets: &[u8; OCTETS], size: usize) -> Sent {
        self.data[..OCTETS].copy_from_slice(octets);
        self.socket.send(to, &self.data[..size.clamp(OCTETS, LARGEST_DATAGRAM)])
    }

    fn take_sent_stamp(&mut self) -> Option<u64> {
        self.socket.take_sent_stamp()
    }

    #[inline]
    fn next(&mut self) -> Option<Arrival<SocketAddr>> {
        for _ in 0..AT_ONCE {
            match self.socket.next(&mut self.room[..]) {
                Ok(Some(came)) => {
                    // A group is no sender, and nobody is at port 0.
                    let is_somebody = !came.from.ip().is_multicast() && came.from.port() != 0;
                    if let Some(message) = Message::read(&self.room[..came.octets]).filter(|_| is_somebody) {
                        self.is_refused = false;
                        return Some(Arrival { message, peer: came.from, stamp_ns: came.stamp_ns, size: came.octets });
                    }
                }
                Ok(None) => return None,
                Err(error) => self.note(&error),
            }
        }
        None
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<bool> {
        self.socket.wait(at_most).inspect_err(|error| self.is_refused |= is_refusal(error))
    }

    fn overflowed(&mut self) -> u64 {
        self.socket.overflowed()
    }

    fn trouble(&self) -> Option<String> {
        let to = self.to.filter(|_| self.is_refused)?;
        Some(format!("the machine there says that nobody is at port {}", to.port()))
    }
}

impl DatagramPort {
    #[cold]
    fn note(&mut self, error: &io::Error) {
        self.is_refused |= is_refusal(error);
    }
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roundtrip::message::{Request, Residence};

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn messages_go_and_come_and_others_are_passed_over() {
        let mut answers = DatagramPort::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let at = answers.address().unwrap();
        let mut asks = DatagramPort::connect(at).unwrap();
        let request = Request { practice: false, run: 7, number: 8, period_ns: 9 };
        let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        other.send_to(b"something else", at).unwrap();
        assert_eq!(asks.send(at, &Message { request, residence: None }.octets(), 1_000), Sent::Done);
        let came = loop {
            answers.wait(LONG).unwrap();
            if let Some(came) = answers.next() {
                break came;
            }
        };
        assert_eq!((came.message, came.size), (Message { request, residence: None }, 1_000));
        let answer = Message { request, residence: Some(Residence { kernel_ns: 1, program_ns: 2 }) };
        // Whoever is not the other end is not listened to.
        other.send_to(&answer.octets(), asks.address().unwrap()).unwrap();
        assert_eq!(answers.send(came.peer, &answer.octets(), 1), Sent::Done);
        assert!(asks.wait(LONG).unwrap());
        let back = asks.next().unwrap();
        // No smaller than the message is.
        assert_eq!((back.message, back.peer, back.size), (answer, at, OCTETS));
        assert_eq!((asks.next(), asks.trouble()), (None, None));
        drop(answers);
        asks.send(at, &answer.octets(), OCTETS);
        assert!(asks.wait(LONG).is_err());
        assert_eq!(asks.trouble(), Some(format!("the machine there says that nobody is at port {}", at.port())));
    }
}
