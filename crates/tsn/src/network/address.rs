//! Destination addresses of streams: with the VLAN they are what switches know a stream by.

use std::collections::HashSet;

use super::Network;

/// Locally administered; "OT" behind it.
const INDIVIDUAL: [u8; 3] = [0x02, 0x4f, 0x54];
const GROUP: [u8; 3] = [0x03, 0x4f, 0x54];

impl Network {
    /// The destination address of each stream's frames: its own, or one that follows from its name, so that it stays when
    /// other streams come and go. It is a group's where there are several listeners.
    pub fn addresses(&self) -> Vec<[u8; 6]> {
        let mut taken: HashSet<[u8; 6]> = self.streams.iter().filter_map(|stream| stream.address).collect();
        let assign = |stream: &super::Stream| {
            stream.address.unwrap_or_else(|| {
                let [a, b, c] = if stream.listeners.len() == 1 { INDIVIDUAL } else { GROUP };
                let mut tail = hash(&stream.name);
                loop {
                    let [_, d, e, f] = tail.to_be_bytes();
                    if taken.insert([a, b, c, d, e, f]) {
                        return [a, b, c, d, e, f];
                    }
                    tail = tail.wrapping_add(1);
                }
            })
        };
        self.streams.iter().map(assign).collect()
    }
}

/// FNV-1a (Fowler, Noll, Vo; RFC 9923), folded to 24 bits.
fn hash(name: &str) -> u32 {
    let hash = name.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 24) ^ (hash & 0x00ff_ffff)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn addresses_differ_and_stay_when_other_streams_come() {
        let network = samples::ring(6, 3_000);
        let addresses = network.addresses();
        assert_eq!(addresses.iter().collect::<HashSet<_>>().len(), 3_000);
        assert!(addresses.iter().all(|address| address[0] == 2), "of one listener");
        let mut more = network.clone();
        more.streams.insert(0, super::super::Stream { name: "first".into(), ..network.streams[0].clone() });
        let same = more.addresses()[1..].iter().zip(&addresses).filter(|(a, b)| a == b).count();
        assert!(same > 2_990, "{same}");

        more.streams[0].listeners.push(7);
        more.streams[1].address = Some([2, 0, 0, 0, 0, 9]);
        assert_eq!((more.addresses()[0][0], more.addresses()[1]), (3, [2, 0, 0, 0, 0, 9]));
    }
}
