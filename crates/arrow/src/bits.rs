//! Truth values, eight to a byte, the first in the lowest bit.

#[derive(Debug, Clone, Default)]
pub struct Bits {
    bytes: Vec<u8>,
    length: usize,
}

impl Bits {
    /// So many that are true.
    pub fn ones(length: usize) -> Self {
        let mut bytes = vec![u8::MAX; length / 8];
        if length % 8 > 0 {
            bytes.push((1 << (length % 8)) - 1);
        }
        Self { bytes, length }
    }

    pub fn push(&mut self, bit: bool) {
        if self.length % 8 == 0 {
            self.bytes.push(0);
        }
        if let (true, Some(last)) = (bit, self.bytes.last_mut()) {
            *last |= 1 << (self.length % 8);
        }
        self.length += 1;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_lie_as_arrow_has_them() {
        let mut bits = Bits::default();
        [true, false, true, true, false, false, false, true, true].into_iter().for_each(|bit| bits.push(bit));
        assert_eq!(bits.bytes(), [0b1000_1101, 1]);
        let mut ones = Bits::ones(11);
        ones.push(false);
        ones.push(true);
        assert_eq!(ones.bytes(), [0xff, 0b1_0111]);
        assert_eq!(Bits::ones(8).bytes(), [0xff]);
    }
}
