//! Datagrams: to one host, or to a multicast group.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Clients;
use crate::Error;
use crate::backlog::Next;
use crate::format::{Format, Gap, Why};
use crate::hub::Stream;

/// Most bytes of a datagram: what an Ethernet frame holds of one, also behind a tunnel.
const DATAGRAM: usize = 1400;

/// Sends to an address. Each datagram has whole records; those of a binary stream begin with the stream's
/// beginning, so that a receiver may join at any time.
pub fn send(address: &str, stream: Arc<Stream>, clients: &Clients) -> Result<JoinHandle<()>, Error> {
    let system = |error| Error::System { what: format!("udp {address}"), error };
    let to = address.to_socket_addrs().map_err(system)?.next();
    let to = to.ok_or_else(|| system(io::ErrorKind::AddrNotAvailable.into()))?;
    let any: SocketAddr = if to.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).map_err(system)?;
    socket.connect(to).map_err(system)?;
    let mut place = stream.backlog.now();
    let client = clients.join(format!("udp {to}"), place);
    let run = move || {
        let packets = Packets::of(&stream);
        loop {
            match stream.backlog.next(&mut place, Duration::from_secs(3600)) {
                Next::Batch { bytes, samples, missed } => {
                    let mut records = Vec::new();
                    Gap::each(missed).for_each(|gap| stream.encoder.gap(gap, &mut records));
                    client.missed.fetch_add(missed[Why::Slow as usize], Relaxed);
                    records.extend_from_slice(&bytes);
                    // Nobody there yet (connection refused) is no reason to end: they may come.
                    packets.cut(&records, |packet| drop(socket.send(packet)));
                    client.samples.fetch_add(samples, Relaxed);
                }
                Next::Nothing => {}
                Next::End => return client.leave(None),
            }
        }
    };
    let thread = std::thread::Builder::new().name("ontick-udp".into()).spawn(run);
    thread.map_err(system)
}

/// Cuts records into datagrams.
struct Packets {
    begin: Vec<u8>,
    /// Length of a record; lines have none.
    record: Option<usize>,
}

impl Packets {
    fn of(stream: &Stream) -> Self {
        match stream.format {
            Format::Binary | Format::Arrow => {
                let mut gap = Vec::new();
                stream.encoder.gap(Gap { missed: 0, why: Why::Late }, &mut gap);
                Self { begin: stream.begin.to_vec(), record: Some(gap.len()) }
            }
            Format::Ndjson | Format::Csv => Self { begin: Vec::new(), record: None },
        }
    }

    fn cut(&self, records: &[u8], mut send: impl FnMut(&[u8])) {
        let mut packet = self.begin.clone();
        let mut rest = records;
        while !rest.is_empty() {
            let length = match self.record {
                Some(length) => length,
                None => rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1),
            };
            let (record, others) = rest.split_at(length.min(rest.len()));
            if packet.len() > self.begin.len() && packet.len() + record.len() > DATAGRAM {
                send(&packet);
                packet.truncate(self.begin.len());
            }
            packet.extend_from_slice(record);
            rest = others;
        }
        if packet.len() > self.begin.len() {
            send(&packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_have_whole_records() {
        for (record, begin) in [(None, Vec::new()), (Some(10), b"BEGIN".to_vec())] {
            let packets = Packets { begin: begin.clone(), record };
            let records: Vec<u8> = (0..1000).flat_map(|n| format!("{n:9}\n").into_bytes()).collect();
            let mut got = Vec::new();
            packets.cut(&records, |packet| {
                assert!(packet.len() <= DATAGRAM && packet.starts_with(&begin));
                assert_eq!((packet.len() - begin.len()) % 10, 0);
                got.extend_from_slice(&packet[begin.len()..]);
            });
            assert_eq!(got, records);
        }
    }
}
