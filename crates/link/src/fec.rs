//! Parity blocks that replace lost ones: a Reed–Solomon code over GF(2^8) across blocks.
//!
//! Byte n of every block belongs to one codeword, so a block that is lost is one byte lost in each, and it is known
//! which. As many can be replaced as there are parity blocks.

use crate::field;

/// Longest codeword.
pub const CODEWORD: usize = 255;

/// The parity blocks of blocks of one size.
pub fn parity_blocks<B: AsRef<[u8]>>(data: &[B], parity: usize) -> Vec<Vec<u8>> {
    let size = data.first().map_or(0, |block| block.as_ref().len());
    let mut blocks = vec![vec![0; size]; parity];
    if parity == 0 {
        return blocks;
    }
    // What a division by the generator leaves, for all bytes of a block at once.
    let generator = field::generator(parity);
    for block in data {
        let next = xor(&blocks[0], block.as_ref());
        blocks[0].fill(0);
        blocks.rotate_left(1);
        blocks.iter_mut().zip(&generator[1..]).for_each(|(block, factor)| field::add_times(block, *factor, &next));
    }
    blocks
}

/// The data blocks of what came of data and parity blocks, all of this size; `None` if more are lost than there is
/// parity.
///
/// Parity is linear. What that of the blocks that came lacks is that of the lost ones, and those follow from as many
/// parity blocks as are lost: a system of a few equations.
pub fn restore(came: &[Option<&[u8]>], parity: usize, size: usize) -> Option<Vec<Vec<u8>>> {
    let (data, parity_came) = came.split_at(came.len().checked_sub(parity)?);
    let lost: Vec<usize> = (0..data.len()).filter(|n| data[*n].is_none()).collect();
    let rows: Vec<usize> = (0..parity).filter(|n| parity_came[*n].is_some()).take(lost.len()).collect();
    if rows.len() < lost.len() || came.len() > CODEWORD {
        return None;
    }
    let mut blocks: Vec<Vec<u8>> = data.iter().map(|block| block.map_or(vec![0; size], <[u8]>::to_vec)).collect();
    if lost.is_empty() {
        return Some(blocks);
    }
    let without = parity_blocks(&blocks, parity);
    // What each lost block adds to each parity block.
    let mut units = vec![vec![0; lost.len()]; blocks.len()];
    lost.iter().enumerate().for_each(|(n, place)| units[*place][n] = 1);
    let shares = parity_blocks(&units, parity);

    let matrix = rows.iter().map(|row| shares[*row].clone()).collect();
    let right = rows.iter().map(|row| xor(&without[*row], parity_came[*row].unwrap_or_default())).collect();
    for (place, block) in lost.into_iter().zip(field::solve(matrix, right)?) {
        blocks[place] = block;
    }
    Some(blocks)
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// As the crate `reed-solomon` has them: frames of before are read, and read there.
    #[test]
    fn parity_is_that_of_the_usual_code() {
        let many = [142, 205, 226, 92, 244, 231, 103, 228, 0, 201, 165, 120, 158, 17, 36, 208];
        for (data, parity) in [
            (&b"Hello World"[..], &[22u8, 196, 120, 174, 222, 229, 118, 105][..]),
            (b"ontick link", &[223, 59, 208]),
            (&[0, 255, 1, 254, 2], &many),
        ] {
            let blocks: Vec<[u8; 1]> = data.iter().map(|byte| [*byte]).collect();
            assert_eq!(parity_blocks(&blocks, parity.len()).concat(), parity, "{data:?}");
        }
    }

    proptest! {
        #[test]
        fn as_many_lost_blocks_as_parity_are_replaced(
            bytes in proptest::collection::vec(any::<u8>(), 1..800),
            size in 1usize..40,
            parity in 1usize..12,
            hits in proptest::collection::vec(any::<prop::sample::Index>(), 0..16),
        ) {
            let data: Vec<Vec<u8>> = bytes.chunks(size).map(|block| {
                let mut block = block.to_vec();
                block.resize(size, 0);
                block
            }).collect();
            prop_assume!(data.len() + parity <= CODEWORD);
            let all: Vec<Vec<u8>> = data.iter().cloned().chain(parity_blocks(&data, parity)).collect();
            let lost: BTreeSet<usize> = hits.into_iter().map(|index| index.index(all.len())).collect();
            let came = |n: usize| (!lost.contains(&n)).then(|| &all[n][..]);
            let came: Vec<Option<&[u8]>> = (0..all.len()).map(came).collect();
            let wanted = (lost.len() <= parity).then_some(data);
            let restored = restore(&came, parity, size);
            // More may be lost when the parity is: it is not needed for itself.
            prop_assert!(restored == wanted || wanted.is_none() && restored.is_none_or(|blocks| blocks == all[..blocks.len()]));
        }

        #[test]
        fn anything_is_answered(
            blocks in proptest::collection::vec(proptest::option::of(any::<[u8; 4]>()), 0..300),
            parity in 0usize..100,
        ) {
            let came: Vec<Option<&[u8]>> = blocks.iter().map(|block| block.as_ref().map(|block| &block[..])).collect();
            let _ = restore(&came, parity, 4);
        }
    }
}
