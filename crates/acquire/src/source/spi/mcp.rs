//! The MCP3000 family: start bit and channel in, a zero and the value out, all in three bytes.
//!
//! Figures 6-1 of the data sheets ("Using the … with microcontroller (MCU) SPI ports", 8-bit segments, mode 0,0) place
//! the start bit so that the value's last bit is the last of the third byte. The bit before the value is always zero:
//! where it is not, nothing drives the line.

/// Bytes of a request and of its answer.
pub const BYTES: usize = 3;

/// How the bits are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// MCP3004, MCP3008 (DS21295, figure 6-1): `00000001 SDDDxxxx xxxxxxxx`, 10 bits.
    Ten,
    /// MCP3204, MCP3208 (DS21298, figure 6-1): `000001SD DDxxxxxx xxxxxxxx`, 12 bits.
    Twelve,
    /// MCP3202 (DS21034, figure 6-1): `00000001 SDMxxxxx xxxxxxxx`, 12 bits, most significant first.
    TwelveOfTwo,
}

impl Word {
    /// Bits of the value.
    pub const fn bits(self) -> u32 {
        match self {
            Word::Ten => 10,
            Word::Twelve | Word::TwelveOfTwo => 12,
        }
    }

    /// What reads this channel against ground.
    pub fn request(self, channel: u8) -> [u8; BYTES] {
        match self {
            Word::Ten => [0x01, 0x80 | channel << 4, 0],
            Word::Twelve => [0x06 | channel >> 2, (channel & 0b11) << 6, 0],
            Word::TwelveOfTwo => [0x01, 0xa0 | channel << 6, 0],
        }
    }

    /// The value in the answer.
    pub fn value(self, answer: &[u8]) -> Option<i64> {
        let word = u32::from(*answer.get(1)?) << 8 | u32::from(*answer.get(2)?);
        let null = word >> self.bits() & 1;
        (null == 0).then_some(i64::from(word & ((1 << self.bits()) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The input side of a converter, bit by bit as in figures 5-1: skip zeros, start bit, then the configuration,
    /// sample, zero, value.
    fn converter(
        request: [u8; BYTES],
        configuration_bits: u32,
        sample_clocks: u32,
        bits: u32,
        value: u32,
    ) -> (u32, [u8; BYTES]) {
        let sent = u32::from_be_bytes([0, request[0], request[1], request[2]]);
        let start = 31 - sent.leading_zeros();
        let configuration = sent >> (start - configuration_bits) & ((1 << configuration_bits) - 1);
        // From the bit after the configuration on: sampling, one zero, then the value.
        let last = start - configuration_bits - sample_clocks - 1;
        assert!(last >= bits, "the value does not fit");
        let out = value << (last - bits);
        let noise = !((1 << last) - 1) & 0xff_ffff;
        let bytes = (out | noise & !(1 << last)).to_be_bytes();
        (configuration, [bytes[1], bytes[2], bytes[3]])
    }

    #[test]
    fn requests_and_answers_are_the_data_sheets() {
        // Figures 6-1: what is sent for single-ended channels, first, one between and last.
        assert_eq!([0, 5, 7].map(|n| Word::Ten.request(n)), [[1, 0x80, 0], [1, 0xd0, 0], [1, 0xf0, 0]]);
        assert_eq!([0, 3, 4, 7].map(|n| Word::Twelve.request(n)), [[6, 0, 0], [6, 0xc0, 0], [7, 0, 0], [7, 0xc0, 0]]);
        assert_eq!([0, 1].map(|n| Word::TwelveOfTwo.request(n)), [[1, 0xa0, 0], [1, 0xe0, 0]]);
    }

    #[test]
    fn a_converter_understands_and_is_understood() {
        // Configuration: SGL and D2 D1 D0; of the MCP3202 SGL, channel, MSBF. It samples for a clock and a half before
        // the zero, of which the MCP3202's bit order overlaps one.
        for (word, configuration_bits, sample_clocks, channels) in
            [(Word::Ten, 4, 1, 8), (Word::Twelve, 4, 1, 8), (Word::TwelveOfTwo, 3, 0, 2)]
        {
            for channel in 0..channels {
                for value in [0, 1, 0x155, (1 << word.bits()) - 1] {
                    let request = word.request(channel);
                    let (seen, answer) = converter(request, configuration_bits, sample_clocks, word.bits(), value);
                    let wanted = match word {
                        Word::TwelveOfTwo => 0b101 | u32::from(channel) << 1,
                        _ => 0b1000 | u32::from(channel),
                    };
                    assert_eq!(seen, wanted, "{word:?} {channel}");
                    assert_eq!(word.value(&answer), Some(i64::from(value)), "{word:?} {answer:x?}");
                }
            }
        }
    }

    #[test]
    fn a_line_that_nobody_drives_is_no_answer() {
        for word in [Word::Ten, Word::Twelve, Word::TwelveOfTwo] {
            assert_eq!(word.value(&[0xff; 3]), None);
            assert_eq!(word.value(&[]), None);
        }
    }
}
