//! Messages of netlink(7), taken apart. What is cut short or says a wrong length ends the walk; nothing panics.

/// Octets of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Octets of `struct rtattr`.
const ATTRIBUTE: usize = 4;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    pub kind: u16,
    pub flags: u16,
    /// Number of the request that it answers.
    pub sequence: u32,
    /// Port of who asked; 0: the kernel itself.
    pub port: u32,
    /// What follows the header.
    pub body: &'a [u8],
}

/// The messages in what was received.
pub fn messages(mut rest: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let length = u32_at(rest, 0)? as usize;
        let body = rest.get(HEADER..length)?;
        let message = Message {
            kind: u16_at(rest, 4)?,
            flags: u16_at(rest, 6)?,
            sequence: u32_at(rest, 8)?,
            port: u32_at(rest, 12)?,
            body,
        };
        rest = after(rest, length);
        Some(message)
    })
}

/// Attributes: their kind and what is in them.
pub fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    /// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` stand beside the kind.
    const KIND: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & KIND;
        let value = rest.get(ATTRIBUTE..length)?;
        rest = after(rest, length);
        Some((kind, value))
    })
}

/// Everything begins at a multiple of four.
fn after(all: &[u8], length: usize) -> &[u8] {
    all.get(length.next_multiple_of(4)..).unwrap_or_default()
}

pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_ne_bytes(*b))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_ne_bytes(*b))
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
    let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((ATTRIBUTE + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    proptest! {
        #[test]
        fn any_octets_are_taken_apart(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(messages(&bytes).count() <= bytes.len() / HEADER);
            prop_assert!(attributes(&bytes).count() <= bytes.len() / ATTRIBUTE);
        }

        /// Small numbers make lengths that fit.
        #[test]
        fn small_octets_are_taken_apart(bytes in prop::collection::vec(0u8..40, 0..300)) {
            for (kind, value) in attributes(&bytes) {
                prop_assert!(kind <= 0x3fff && value.len() < bytes.len());
            }
            for message in messages(&bytes) {
                prop_assert!(message.body.len() < bytes.len());
            }
        }

        #[test]
        fn what_is_put_together_is_taken_apart(parts in prop::collection::vec((0u16..0x4000, prop::collection::vec(any::<u8>(), 0..20)), 0..10)) {
            let bytes: Vec<u8> = parts.iter().flat_map(|(kind, value)| attribute(*kind, value)).collect();
            let apart: Vec<_> = attributes(&bytes).map(|(kind, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(apart, parts);
        }
    }
}
