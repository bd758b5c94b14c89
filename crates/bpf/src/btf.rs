//! Functions of the running kernel that programs may call, by the numbers that its types have
//! (Documentation/bpf/btf.rst).

use std::io;

/// Where the running kernel tells of its types.
const KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// The number of a function of the running kernel; none where it has no such function.
pub fn function(name: &str) -> io::Result<Option<u32>> {
    Ok(function_in(&std::fs::read(KERNEL)?, name))
}

fn function_in(types: &[u8], name: &str) -> Option<u32> {
    const MAGIC: [u8; 2] = 0xeb9f_u16.to_ne_bytes();
    const FUNCTION: u32 = 12;
    let word = |at: usize| types.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word));
    if !types.starts_with(&MAGIC) {
        return None;
    }
    let header = word(4)? as usize;
    let (mut at, texts) = (header + word(8)? as usize, header + word(16)? as usize);
    let end = at + word(12)? as usize;
    let mut number = 0;
    while at < end {
        number += 1;
        let (text, about) = (word(at)? as usize, word(at + 4)?);
        let (kind, members) = (about >> 24 & 0x1f, (about & 0xffff) as usize);
        let named = || types.get(texts + text..)?.split(|octet| *octet == 0).next();
        if kind == FUNCTION && named() == Some(name.as_bytes()) {
            return Some(number);
        }
        // What follows the three words that each type begins with.
        at += 12
            + match kind {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => members * 12,
                6 | 13 => members * 8,
                _ => 0,
            };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An int, a structure of two members, and two functions.
    fn types() -> Vec<u8> {
        let texts = b"\0int\0first\0second\0";
        let words: Vec<u32> = [
            vec![1, 1 << 24, 4, 0x20],
            vec![0, 4 << 24 | 2, 8, 0, 1, 0, 0, 1, 32],
            vec![5, 12 << 24, 2],
            vec![11, 12 << 24 | 1, 2],
        ]
        .concat();
        let length = words.len() as u32 * 4;
        let mut bytes = 0xeb9f_u16.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        [24, 0, length, length, texts.len() as u32].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(texts);
        bytes
    }

    #[test]
    fn functions_are_found_behind_types_of_every_length() {
        let types = types();
        assert_eq!((function_in(&types, "first"), function_in(&types, "second")), (Some(3), Some(4)));
        assert_eq!((function_in(&types, "int"), function_in(&types, "third")), (None, None));
        // Cut anywhere, it is read without harm.
        (0..types.len()).for_each(|end| assert!(function_in(&types[..end], "third").is_none()));
        assert_eq!(function_in(&[1; 100], "first"), None);
    }
}
