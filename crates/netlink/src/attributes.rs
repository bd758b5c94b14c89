//! Attributes (`struct nlattr`): a length, a kind, and what is in them.

/// Octets of `struct nlattr`.
const HEADER: usize = 4;
/// Beside the kind: there are attributes within.
const NESTED: u16 = 1 << 15;

/// Attributes, put together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// With one more.
    ///
    /// # Panics
    ///
    /// If it is longer than 65 531 octets, for which an attribute has no room.
    #[must_use]
    pub fn with(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(HEADER + value.len()).expect("an attribute has less than 64 KiB");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        // Everything begins at a multiple of four.
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// With a number of 32 bits.
    #[must_use]
    pub fn number(self, kind: u16, value: u32) -> Self {
        self.with(kind, &value.to_ne_bytes())
    }

    /// With a number of 8 bits that is 0 or 1.
    #[must_use]
    pub fn flag(self, kind: u16, value: bool) -> Self {
        self.with(kind, &[value.into()])
    }

    /// With a text, which ends with a zero.
    #[must_use]
    pub fn text(self, kind: u16, value: &str) -> Self {
        self.with(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// With others within it, and marked so (`NLA_F_NESTED`), as newer requests have to be.
    #[must_use]
    pub fn nested(self, kind: u16, within: &Self) -> Self {
        self.with(kind | NESTED, &within.0)
    }

    /// With others within it, and not marked so, as in older requests.
    #[must_use]
    pub fn unmarked(self, kind: u16, within: &Self) -> Self {
        self.with(kind, &within.0)
    }

    /// As the kernel takes them.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// As the kernel takes them.
    pub fn into_octets(self) -> Vec<u8> {
        self.0
    }
}

/// Attributes taken apart: their kind and what is in them. What is cut short or says a wrong length ends them.
pub fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    /// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` stand beside the kind.
    const KIND: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & KIND;
        let value = rest.get(HEADER..length)?;
        rest = after(rest, length);
        Some((kind, value))
    })
}

/// What follows the first `length` octets: everything begins at a multiple of four.
pub(crate) fn after(all: &[u8], length: usize) -> &[u8] {
    all.get(length.next_multiple_of(4)..).unwrap_or_default()
}

/// A number of 16 bits, if so many octets are there.
pub fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().map(|two| u16::from_ne_bytes(*two))
}

/// A number of 32 bits, if so many octets are there.
pub fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|four| u32::from_ne_bytes(*four))
}

/// A number of 8 or 32 bits that is all of an attribute.
pub fn number(value: &[u8]) -> Option<u32> {
    match value {
        [octet] => Some((*octet).into()),
        _ => u32_at(value, 0),
    }
}

/// A text that ends with a zero.
pub fn text(value: &[u8]) -> String {
    let end = value.iter().position(|octet| *octet == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_sort_is_taken_apart_again() {
        let within = Attributes::default().text(2, "eth0");
        let all = Attributes::default().nested(1, &within).flag(2, true).number(9, 128).unmarked(3, &within);
        let apart: Vec<(u16, &[u8])> = attributes(all.octets()).collect();
        assert_eq!(apart.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [1, 2, 9, 3]);
        for nest in [apart[0], apart[3]] {
            assert_eq!(
                attributes(nest.1).map(|(kind, value)| (kind, text(value))).collect::<Vec<_>>(),
                [(2, "eth0".into())]
            );
        }
        assert_eq!((number(apart[1].1), number(apart[2].1)), (Some(1), Some(128)));
        assert_eq!(
            [u16_at(all.octets(), 2), u16_at(all.octets(), all.octets().len() - 14)],
            [Some(NESTED | 1), Some(3)]
        );
    }

    #[test]
    fn what_is_cut_short_ends_the_walk() {
        let all = Attributes::default().text(2, "eth0").number(9, 128).into_octets();
        for end in 0..all.len() {
            assert!(attributes(&all[..end]).count() < 2, "cut at {end}");
        }
    }

    #[test]
    #[should_panic(expected = "less than 64 KiB")]
    fn what_has_no_room_is_not_cut() {
        let _ = Attributes::default().with(1, &vec![0; 65_532]);
    }

    proptest! {
        #[test]
        fn any_octets_are_taken_apart(octets in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(attributes(&octets).count() <= octets.len() / HEADER);
        }

        /// Small numbers make lengths that fit.
        #[test]
        fn small_octets_are_taken_apart(octets in prop::collection::vec(0u8..40, 0..300)) {
            for (kind, value) in attributes(&octets) {
                prop_assert!(kind <= 0x3fff && value.len() < octets.len());
            }
        }

        #[test]
        fn what_is_put_together_is_taken_apart(parts in prop::collection::vec((0u16..0x4000, prop::collection::vec(any::<u8>(), 0..20)), 0..10)) {
            let all = parts.iter().fold(Attributes::default(), |all, (kind, value)| all.with(*kind, value));
            let apart: Vec<_> = attributes(all.octets()).map(|(kind, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(apart, parts);
        }
    }
}
