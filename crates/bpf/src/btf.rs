//! The running kernel's types: functions that programs may call, places that they may be attached to, and where its
//! structures keep their members (Documentation/bpf/btf.rst).

use std::io;

/// Where the running kernel tells of its types.
const KERNEL: &str = "/sys/kernel/btf/vmlinux";

const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const TYPEDEF: u32 = 8;
const FUNCTION: u32 = 12;

/// Types, by numbers.
#[derive(Debug)]
pub struct Types(Vec<u8>);

/// One of them.
#[derive(Debug, Clone, Copy)]
struct Type {
    kind: u32,
    /// Where its name is among the texts.
    name: usize,
    /// Where its members are, and how many.
    members: (usize, usize),
    /// Its members' places have a width besides.
    bit_fields: bool,
}

impl Types {
    /// Those of the running kernel.
    pub fn of_the_kernel() -> io::Result<Self> {
        Ok(Self(std::fs::read(KERNEL)?))
    }

    /// The number of a function; none where the kernel has no such function.
    pub fn function(&self, name: &str) -> Option<u32> {
        self.number(FUNCTION, name)
    }

    /// The number of a type's other name.
    pub fn typedef(&self, name: &str) -> Option<u32> {
        self.number(TYPEDEF, name)
    }

    /// Where in a structure a member is, in octets; also one of a structure or union without a name inside it.
    pub fn member(&self, structure: &str, member: &str) -> Option<u32> {
        let all: Vec<Type> = self.all().collect();
        let of = all.iter().find(|of| of.kind == STRUCTURE && self.is_named(of.name, structure))?;
        self.member_of(&all, of, member, DEEPEST)
    }

    fn member_of(&self, all: &[Type], of: &Type, member: &str, depth: u32) -> Option<u32> {
        let (at, count) = of.members;
        (0..count).find_map(|n| {
            let at = at + n * 12;
            let (name, kind, place) = (self.word(at)?, self.word(at + 4)?, self.word(at + 8)?);
            let octets = if of.bit_fields { place & 0xff_ffff } else { place } / 8;
            if self.is_named(name as usize, member) {
                return Some(octets);
            }
            let inner = all.get((kind as usize).checked_sub(1)?)?;
            let hidden = name == 0 && depth > 0 && [STRUCTURE, UNION].contains(&inner.kind);
            hidden.then(|| self.member_of(all, inner, member, depth - 1))?.map(|inside| octets + inside)
        })
    }

    fn number(&self, kind: u32, name: &str) -> Option<u32> {
        self.all().position(|of| of.kind == kind && self.is_named(of.name, name)).map(|before| before as u32 + 1)
    }

    /// In the order of their numbers, which begin with 1.
    fn all(&self) -> impl Iterator<Item = Type> + '_ {
        const MAGIC: [u8; 2] = 0xeb9f_u16.to_ne_bytes();
        let header = if self.0.starts_with(&MAGIC) { self.word(4) } else { None };
        let begin = header.zip(self.word(8)).map(|(header, begin)| (header + begin) as usize);
        let (mut at, end) = begin.zip(self.word(12)).map_or((0, 0), |(begin, size)| (begin, begin + size as usize));
        std::iter::from_fn(move || {
            let (name, about) = (self.word(at)? as usize, self.word(at + 4)?);
            if at >= end {
                return None;
            }
            let (kind, count) = (about >> 24 & 0x1f, (about & 0xffff) as usize);
            let of = Type { kind, name, members: (at + 12, count), bit_fields: about >> 31 == 1 };
            // What follows the three words that each type begins with.
            at += 12
                + match kind {
                    1 | 14 | 17 => 4,
                    3 => 12,
                    STRUCTURE | UNION | 15 | 19 => count * 12,
                    6 | 13 => count * 8,
                    _ => 0,
                };
            Some(of)
        })
    }

    fn is_named(&self, at: usize, name: &str) -> bool {
        let texts = self.word(4).zip(self.word(16)).map(|(header, texts)| (header + texts) as usize);
        let text = texts.and_then(|texts| self.0.get(texts + at..)?.split(|octet| *octet == 0).next());
        text == Some(name.as_bytes())
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.0.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
    }
}

/// Structures without a name are inside each other no deeper.
const DEEPEST: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// An int, a structure with an unnamed one inside, two functions, and another name for the int.
    fn types() -> Vec<u8> {
        let texts = b"\0int\0first\0second\0task\0";
        let words: Vec<u32> = [
            vec![1, 1 << 24, 4, 0x20],
            vec![0, 4 << 24 | 2, 8, 0, 1, 0, 11, 1, 32],
            vec![5, 12 << 24, 2],
            vec![11, 12 << 24 | 1, 2],
            vec![18, 4 << 24 | 1 << 31 | 2, 16, 5, 1, 32 << 24, 0, 2, 64],
            vec![18, 8 << 24, 1],
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
    fn types_are_found_behind_those_of_every_length() {
        let types = Types(types());
        assert_eq!((types.function("first"), types.function("second")), (Some(3), Some(4)));
        assert_eq!((types.function("int"), types.function("third")), (None, None));
        assert_eq!((types.typedef("task"), types.typedef("first")), (Some(6), None));
        assert_eq!(Types(vec![1; 100]).function("first"), None);
    }

    #[test]
    fn members_are_found_inside_what_has_no_name() {
        let types = Types(types());
        assert_eq!((types.member("task", "first"), types.member("task", "second")), (Some(0), Some(12)));
        assert_eq!((types.member("task", "third"), types.member("first", "second")), (None, None));
    }

    #[test]
    fn types_that_are_cut_off_are_read_without_harm() {
        let types = types();
        for end in 0..types.len() {
            let cut = Types(types[..end].to_vec());
            assert_eq!((cut.function("third"), cut.member("task", "third")), (None, None));
        }
    }
}
