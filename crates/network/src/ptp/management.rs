//! PTP's management messages (IEEE 1588-2019 clause 15), as far as ptp4l is asked: what it knows of its time.
//!
//! They are read here rather than by `pmc`, whose text is for people: one process for all questions of a run, and a
//! socket that ptp4l alone can answer to.

use std::fmt;

/// Common header, target and action: what is before the TLV.
const HEAD: usize = 48;
const MANAGEMENT: u8 = 0xd;
const VERSION: u8 = 2;
const GET: u8 = 0;
const RESPONSE: u8 = 2;
/// The TLV's type (table 52).
const TLV_MANAGEMENT: u16 = 1;
/// Of a time interval in one nanosecond (clause 5.3.2).
const SCALE_BITS: u32 = 16;

/// What there is to ask for, by its identifier (table 59; the last two are linuxptp's own).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataSet {
    /// What holds for the clock as a whole: of it the number of its ports.
    Default = 0x2000,
    /// How many clocks are between this one and the grandmaster, and the delay of the way.
    Current = 0x2001,
    /// Who the grandmaster is.
    Parent = 0x2002,
    /// The state of each port.
    Port = 0x2004,
    /// The offset from the master, when it was last looked at (`TIME_STATUS_NP`).
    TimeStatus = 0xc000,
    /// The interface of each port, and what stamps its frames (`PORT_PROPERTIES_NP`).
    PortProperties = 0xc004,
}

/// A clock's identity: eight octets, mostly those of an address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockIdentity(pub [u8; 8]);

/// As linuxptp writes it: `90e2ba.fffe.20c7f8`.
impl fmt::Display for ClockIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}.{d:02x}{e:02x}.{g:02x}{h:02x}{i:02x}")
    }
}

/// State of a port (table 20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortState {
    /// It begins.
    Initializing,
    /// Something is wrong with it.
    Faulty,
    /// It takes no part.
    Disabled,
    /// It waits for a master.
    Listening,
    /// It will be a master.
    PreMaster,
    /// It gives the time.
    Master,
    /// Another port of this network gives the time.
    Passive,
    /// It has a master, and is not yet in step.
    Uncalibrated,
    /// It follows its master.
    Slave,
}

impl PortState {
    fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Initializing,
            2 => Self::Faulty,
            3 => Self::Disabled,
            4 => Self::Listening,
            5 => Self::PreMaster,
            // linuxptp's grandmaster is a master.
            6 | 10 => Self::Master,
            7 => Self::Passive,
            8 => Self::Uncalibrated,
            9 => Self::Slave,
            _ => return None,
        })
    }

    /// As the standard writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Initializing => "INITIALIZING",
            Self::Faulty => "FAULTY",
            Self::Disabled => "DISABLED",
            Self::Listening => "LISTENING",
            Self::PreMaster => "PRE_MASTER",
            Self::Master => "MASTER",
            Self::Passive => "PASSIVE",
            Self::Uncalibrated => "UNCALIBRATED",
            Self::Slave => "SLAVE",
        }
    }
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// [`DataSet::Default`].
    Default {
        /// How many ports the clock has.
        ports: u16,
    },
    /// [`DataSet::Current`].
    Current {
        /// Clocks on the way.
        steps_removed: u16,
        /// Delay of the way from end to end, in ns; 0 where each cable's is measured.
        path_delay_ns: i64,
    },
    /// [`DataSet::Parent`].
    Parent {
        /// The grandmaster.
        grandmaster: ClockIdentity,
        /// Its priority.
        priority1: u8,
    },
    /// [`DataSet::Port`].
    Port {
        /// Its number, from 1.
        number: u16,
        /// Its state.
        state: PortState,
        /// Delay of its cable, in ns; 0 where the whole way's is measured.
        peer_delay_ns: i64,
    },
    /// [`DataSet::TimeStatus`].
    TimeStatus {
        /// This clock before the master's, in ns.
        offset_ns: i64,
        /// When the Sync came that it was measured with, in ns; 0 before the first.
        ingress_ns: i64,
        /// Whether another clock is the grandmaster.
        to_grandmaster: bool,
    },
    /// [`DataSet::PortProperties`].
    PortProperties {
        /// Its number, from 1.
        number: u16,
        /// Whether the network card stamps its frames, not the driver.
        by_hardware: bool,
        /// Its interface.
        interface: String,
    },
}

/// The numbers by which instances of PTP tell their messages apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addressing {
    /// The domain.
    pub domain: u8,
    /// 1 for gPTP, else 0.
    pub transport_specific: u8,
}

/// A question to all ports.
pub fn get(addressing: Addressing, data_set: DataSet, sequence: u16) -> Vec<u8> {
    let mut message = vec![0; HEAD + 6];
    let length = message.len() as u16;
    message[0] = addressing.transport_specific << 4 | MANAGEMENT;
    message[1] = VERSION;
    message[2..4].copy_from_slice(&length.to_be_bytes());
    message[4] = addressing.domain;
    // Asked by port 1 of no clock; the control field and the interval are those of all management messages.
    message[29] = 1;
    message[30..32].copy_from_slice(&sequence.to_be_bytes());
    message[32..34].copy_from_slice(&[4, 0x7f]);
    // All clocks, all ports.
    message[34..44].fill(0xff);
    message[46] = GET;
    message[48..50].copy_from_slice(&TLV_MANAGEMENT.to_be_bytes());
    message[50..52].copy_from_slice(&2u16.to_be_bytes());
    message[52..54].copy_from_slice(&(data_set as u16).to_be_bytes());
    message
}

/// An answer: who gives it, to which question, and what it is. Nothing where it is none, or one to something else.
pub fn read(message: &[u8]) -> Option<(ClockIdentity, u16, Answer)> {
    let is_answer = message.len() >= HEAD + 6
        && message[0] & 0xf == MANAGEMENT
        && message[1] & 0xf == VERSION
        && message[46] & 0xf == RESPONSE;
    if !is_answer || word(message, 48)? != TLV_MANAGEMENT {
        return None;
    }
    let data = message.get(54..52 + usize::from(word(message, 50)?))?;
    let answer = match word(message, 52)? {
        id if id == DataSet::Default as u16 => Answer::Default { ports: word(data, 2)? },
        id if id == DataSet::Current as u16 => {
            Answer::Current { steps_removed: word(data, 0)?, path_delay_ns: long(data, 10)? >> SCALE_BITS }
        }
        id if id == DataSet::Parent as u16 => {
            Answer::Parent { grandmaster: identity(data, 24)?, priority1: *data.get(18)? }
        }
        id if id == DataSet::Port as u16 => Answer::Port {
            number: word(data, 8)?,
            state: PortState::of(*data.get(10)?)?,
            peer_delay_ns: long(data, 12)? >> SCALE_BITS,
        },
        id if id == DataSet::TimeStatus as u16 => Answer::TimeStatus {
            offset_ns: long(data, 0)?,
            ingress_ns: long(data, 8)?,
            to_grandmaster: data.get(38..42)?.iter().any(|octet| *octet != 0),
        },
        id if id == DataSet::PortProperties as u16 => Answer::PortProperties {
            number: word(data, 8)?,
            // The first of linuxptp's kinds of stamps is software's, all others are kinds of hardware's.
            by_hardware: *data.get(11)? != 0,
            interface: String::from_utf8_lossy(data.get(13..13 + usize::from(*data.get(12)?))?).into_owned(),
        },
        _ => return None,
    };
    Some((identity(message, 20)?, word(message, 30)?, answer))
}

fn word(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

fn long(octets: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

fn identity(octets: &[u8], at: usize) -> Option<ClockIdentity> {
    Some(ClockIdentity(*octets.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Answers of linuxptp 3.1.1, of a gPTP node that follows another without setting its clock.
    const CURRENT: &str = "1d02004800000000000000000000000000000000fa65a7fffe80896f00000001047f0000000000000000000100000200000100142001000100000000024a00000000000000000000";
    const PARENT: &str = "1d02005600000000000000000000000000000000fa65a7fffe80896f00000002047f000000000000000000010000020000010022200246db95fffe0977c900010000ffff7fffffff40f8feffff8046db95fffe0977c9";
    const PORT: &str = "1d02005000000000000000000000000000000000fa65a7fffe80896f00010003047f00000000000000000001000002000001001c2004fa65a7fffe80896f000108000000000005da0000fe03fd020002";
    const TIME_STATUS: &str = "1d02006800000000000000000000000000000000fa65a7fffe80896f00000004047f000000000000000000010000020000010034c000fffffffffffffbd518eba2d680394a5dffec7db00000000000000000000000000000000000000000000146db95fffe0977c9";

    /// Of one of the default profile.
    const DEFAULT: &str = "0d02004a00000000000000000000000000000000c6bf44fffe53a66300000000047f000000000000000000010000020000010016200001000001f8f8feffff80c6bf44fffe53a6630000";
    const PORT_PROPERTIES: &str = "0d02004600000000000000000000000000000000c6bf44fffe53a66300010000047f000000000000000000010000020000010012c004c6bf44fffe53a6630001080002706200";

    fn octets(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    #[test]
    fn answers_of_ptp4l_are_read() {
        let own = ClockIdentity([0xfa, 0x65, 0xa7, 0xff, 0xfe, 0x80, 0x89, 0x6f]);
        let master = ClockIdentity([0x46, 0xdb, 0x95, 0xff, 0xfe, 0x09, 0x77, 0xc9]);
        let answers = [
            (CURRENT, 1, Answer::Current { steps_removed: 1, path_delay_ns: 0 }),
            (PARENT, 2, Answer::Parent { grandmaster: master, priority1: 64 }),
            (PORT, 3, Answer::Port { number: 1, state: PortState::Uncalibrated, peer_delay_ns: 1_498 }),
            (
                TIME_STATUS,
                4,
                Answer::TimeStatus { offset_ns: -1_067, ingress_ns: 1_795_707_918_595_213_917, to_grandmaster: true },
            ),
        ];
        for (hex, sequence, answer) in answers {
            assert_eq!(read(&octets(hex)), Some((own, sequence, answer)));
        }
        assert_eq!(master.to_string(), "46db95.fffe.0977c9");
        let own = ClockIdentity([0xc6, 0xbf, 0x44, 0xff, 0xfe, 0x53, 0xa6, 0x63]);
        assert_eq!(read(&octets(DEFAULT)), Some((own, 0, Answer::Default { ports: 1 })));
        let properties = Answer::PortProperties { number: 1, by_hardware: false, interface: "pb".into() };
        assert_eq!(read(&octets(PORT_PROPERTIES)), Some((own, 0, properties)));
    }

    #[test]
    fn a_question_has_its_addressing() {
        let message = get(Addressing { domain: 7, transport_specific: 1 }, DataSet::TimeStatus, 258);
        assert_eq!((message[0], message[4], &message[30..32]), (0x1d, 7, &[1, 2][..]));
        assert_eq!(message[48..], [0, 1, 0, 2, 0xc0, 0]);
        assert_eq!(read(&message), None, "a question is no answer");
    }

    proptest! {
        #[test]
        fn no_octets_make_it_panic(octets in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = read(&octets);
        }

        #[test]
        fn an_answer_that_is_cut_is_none(length in 0usize..103) {
            prop_assert_eq!(read(&octets(TIME_STATUS)[..length]), None);
        }

        #[test]
        fn a_name_longer_than_its_message_is_none(length in 3u8..) {
            let mut octets = octets(PORT_PROPERTIES);
            octets[66] = length;
            // One octet behind the name makes the message even.
            prop_assert_eq!(read(&octets).is_some(), length == 3);
        }
    }
}
