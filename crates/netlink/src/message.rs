//! Messages (`struct nlmsghdr` and what follows). What is cut short or says a wrong length ends the walk; nothing panics.

use crate::attributes::{after, u16_at, u32_at};

/// Octets of `struct nlmsghdr`.
pub const HEADER: usize = 16;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is about, or one of `NLMSG_…`.
    pub kind: u16,
    /// `NLM_F_…`
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

/// A request: of this kind, with these flags (`NLM_F_REQUEST` besides), number and body.
pub fn request(kind: u16, flags: i32, sequence: u32, body: &[u8]) -> Vec<u8> {
    let flags = (libc::NLM_F_REQUEST | flags) as u16;
    let mut request = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    request.extend(kind.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend(sequence.to_ne_bytes());
    // The kernel knows the sender.
    request.extend(0u32.to_ne_bytes());
    request.extend(body);
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_is_one_message() {
        let request = request(7, libc::NLM_F_ACK, 9, &[1, 2, 3, 4]);
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let whole = Message { kind: 7, flags, sequence: 9, port: 0, body: &[1, 2, 3, 4] };
        assert_eq!(messages(&request).collect::<Vec<_>>(), [whole]);
        assert!((0..request.len()).all(|end| messages(&request[..end]).next().is_none()));
    }

    proptest! {
        #[test]
        fn any_octets_are_taken_apart(octets in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(messages(&octets).count() <= octets.len() / HEADER);
        }

        /// Small numbers make lengths that fit.
        #[test]
        fn small_octets_are_taken_apart(octets in prop::collection::vec(0u8..40, 0..300)) {
            for message in messages(&octets) {
                prop_assert!(message.body.len() < octets.len());
            }
        }
    }
}
