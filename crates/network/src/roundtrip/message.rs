//! What a request and its answer say.
//!
//! | octets | what |
//! |---|---|
//! | 0 to 3 | `OTR1` |
//! | 4 | bit 0: an answer; bit 1: practice, before anything is measured |
//! | 5 to 7 | zero |
//! | 8 to 11 | which run: a number by chance |
//! | 12 to 19 | number of the request, from 0 |
//! | 20 to 27 | time between requests, in ns |
//! | 28 to 31 | of an answer: from the kernel's stamp of the request until the responder had it, in ns |
//! | 32 to 35 | of an answer: from there until it was handed over, in ns |
//!
//! Numbers are in network order. In an Ethernet frame it is behind the EtherType for local experiments 0x88b6 (IEEE 802
//! clause 9.2.4); in a datagram it is the beginning. What follows is filling.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

/// Its octets: fewer than the shortest frame has of data, with a tag too.
pub const OCTETS: usize = 36;
const SIGN: [u8; 4] = *b"OTR1";
const ANSWER: u8 = 1;
const PRACTICE: u8 = 2;

/// A request, or the answer to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// What it asks, or what it answers.
    pub request: Request,
    /// Of an answer: how long the request was with the responder.
    pub residence: Option<Residence>,
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// It is not measured.
    pub practice: bool,
    /// Which run.
    pub run: u32,
    /// Its number.
    pub number: u64,
    /// When the next one comes, after this, in ns.
    pub period_ns: u64,
}

/// How long a request was with the responder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Residence {
    /// From the kernel's stamp until the program had it, in ns.
    pub kernel_ns: u32,
    /// From there until the answer was handed over, in ns.
    pub program_ns: u32,
}

impl Residence {
    /// All of it, in ns.
    pub fn ns(self) -> u64 {
        u64::from(self.kernel_ns) + u64::from(self.program_ns)
    }
}

impl Message {
    /// As it is sent.
    #[inline]
    pub fn octets(&self) -> [u8; OCTETS] {
        let mut to = [0; OCTETS];
        let Request { practice, run, number, period_ns } = self.request;
        to[..4].copy_from_slice(&SIGN);
        to[4] = if self.residence.is_some() { ANSWER } else { 0 } | if practice { PRACTICE } else { 0 };
        to[8..12].copy_from_slice(&run.to_be_bytes());
        to[12..20].copy_from_slice(&number.to_be_bytes());
        to[20..28].copy_from_slice(&period_ns.to_be_bytes());
        let Residence { kernel_ns, program_ns } = self.residence.unwrap_or_default();
        to[28..32].copy_from_slice(&kernel_ns.to_be_bytes());
        to[32..36].copy_from_slice(&program_ns.to_be_bytes());
        to
    }

    /// What the beginning of a frame's data says; nothing if it is of something else, or cut.
    #[inline]
    pub fn read(data: &[u8]) -> Option<Self> {
        let body = data.strip_prefix(&SIGN)?;
        let ([kind @ ..=3, 0, 0, 0], body) = body.split_first_chunk()? else { return None };
        let (run, body) = body.split_first_chunk()?;
        let (number, body) = body.split_first_chunk()?;
        let (period_ns, body) = body.split_first_chunk()?;
        let (kernel_ns, body) = body.split_first_chunk()?;
        let (program_ns, _) = body.split_first_chunk()?;
        let residence =
            Residence { kernel_ns: u32::from_be_bytes(*kernel_ns), program_ns: u32::from_be_bytes(*program_ns) };
        let request = Request {
            practice: kind & PRACTICE != 0,
            run: u32::from_be_bytes(*run),
            number: u64::from_be_bytes(*number),
            period_ns: u64::from_be_bytes(*period_ns),
        };
        Some(Self { request, residence: (kind & ANSWER != 0).then_some(residence) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_octets_are_those_of_the_table() {
        let request = Request { practice: true, run: 0x0102_0304, number: 70_000, period_ns: 1_000_000 };
        let answer = Message { request, residence: Some(Residence { kernel_ns: 5_000, program_ns: 700 }) };
        let octets = answer.octets();
        assert_eq!(octets[..12], *b"OTR1\x03\0\0\0\x01\x02\x03\x04");
        assert_eq!((&octets[17..20], &octets[24..28]), (&[1, 0x11, 0x70][..], &[0, 0x0f, 0x42, 0x40][..]));
        assert_eq!(octets[28..], [0, 0, 0x13, 0x88, 0, 0, 0x02, 0xbc]);
        assert_eq!((answer.residence.unwrap().ns(), Message { residence: None, ..answer }.octets()[4]), (5_700, 2));
    }

    proptest! {
        #[test]
        fn a_message_survives_the_wire_and_what_is_cut_or_changed_in_its_sign_does_not(
            practice: bool, run: u32, number: u64, period_ns: u64, residence: Option<(u32, u32)>, filling in 0usize..30,
            cut in 0..OCTETS, at in 0usize..4,
        ) {
            let residence = residence.map(|(kernel_ns, program_ns)| Residence { kernel_ns, program_ns });
            let message = Message { request: Request { practice, run, number, period_ns }, residence };
            let mut data = message.octets().to_vec();
            data.resize(OCTETS + filling, 7);
            prop_assert_eq!(Message::read(&data), Some(message));
            prop_assert_eq!(Message::read(&data[..cut]), None);
            data[at] ^= 1;
            prop_assert_eq!(Message::read(&data), None);
        }

        #[test]
        fn any_octets_are_survived(mut data in prop::collection::vec(any::<u8>(), 0..60), signed: bool) {
            if let (true, Some(sign)) = (signed, data.first_chunk_mut()) {
                *sign = SIGN;
            }
            if let Some(message) = Message::read(&data) {
                prop_assert_eq!(&message.octets()[..28], &data[..28]);
            }
        }
    }
}
