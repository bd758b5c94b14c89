//! Reed–Solomon parity over GF(2^8), in codewords of at most 255 bytes.

use reed_solomon::{Decoder, Encoder};

/// Longest codeword.
const CODEWORD: usize = 255;

/// Appends parity to every stretch of `data`; `parity` bytes mend half as many wrong ones per stretch. 0: none.
pub fn protect(data: &[u8], parity: u8) -> Vec<u8> {
    if parity == 0 {
        return data.to_vec();
    }
    let encoder = Encoder::new(parity.into());
    data.chunks(CODEWORD - usize::from(parity)).flat_map(|stretch| encoder.encode(stretch).to_vec()).collect()
}

/// Mends what [`protect`] made and removes the parity; also tells how many bytes were wrong. `None` if more
/// were wrong than the parity can mend.
pub fn mend(protected: &[u8], parity: u8) -> Option<(Vec<u8>, usize)> {
    if parity == 0 {
        return Some((protected.to_vec(), 0));
    }
    let decoder = Decoder::new(parity.into());
    let (mut data, mut wrong) = (Vec::with_capacity(protected.len()), 0);
    for codeword in protected.chunks(CODEWORD) {
        if codeword.len() <= usize::from(parity) {
            return None;
        }
        let (mended, errors) = decoder.correct_err_count(codeword, None).ok()?;
        data.extend_from_slice(mended.data());
        wrong += errors;
    }
    Some((data, wrong))
}

/// How long `length` bytes are with parity.
pub fn protected_length(length: usize, parity: u8) -> usize {
    match parity {
        0 => length,
        _ => length + length.div_ceil(CODEWORD - usize::from(parity)) * usize::from(parity),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn half_as_many_wrong_bytes_as_parity_are_mended(
            data in proptest::collection::vec(any::<u8>(), 1..600),
            parity in (1u8..=16).prop_map(|half| half * 2),
            hits in proptest::collection::vec((any::<prop::sample::Index>(), 1u8..), 0..8),
        ) {
            let mut protected = protect(&data, parity);
            prop_assert_eq!(protected.len(), protected_length(data.len(), parity));
            let mut hit = std::collections::BTreeSet::new();
            for (index, flip) in hits.into_iter().take(usize::from(parity) / 2) {
                let index = index.index(protected.len());
                if hit.insert(index) {
                    protected[index] ^= flip;
                }
            }
            prop_assert_eq!(mend(&protected, parity), Some((data, hit.len())));
        }

        #[test]
        fn anything_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..400), parity in 0u8..=64) {
            let _ = mend(&bytes, parity);
        }
    }
}
