//! Numbers as converters send them.

/// A number of 24 bits, the first byte highest, negative in two's complement.
pub(super) fn signed_24(bytes: [u8; 3]) -> i64 {
    i64::from(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], 0]) >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_24_bits_have_a_sign() {
        for (bytes, value) in [
            ([0, 0, 0], 0),
            ([0, 0, 1], 1),
            ([0x7f, 0xff, 0xff], 8_388_607),
            ([0xff, 0xff, 0xff], -1),
            ([0x80, 0, 0], -8_388_608),
        ] {
            assert_eq!(signed_24(bytes), value);
        }
    }
}
