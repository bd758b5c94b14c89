//! What the kernel has against a request (`struct nlmsgerr`).

use std::{fmt, io};

use crate::attributes::{attributes, text, u32_at};
use crate::message::{HEADER, Message};

/// Flags of an acknowledgement (linux/netlink.h): the request is not repeated in it, and attributes follow.
const CAPPED: u16 = 0x100;
const HAS_ATTRIBUTES: u16 = 0x200;
/// `NLMSGERR_ATTR_MSG`
const IN_WORDS: u16 = 1;

/// The kernel refused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The error's number, as in errno(3).
    pub errno: i32,
    /// The kernel's own words for it, where it has some.
    pub why: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);
        match &self.why {
            Some(why) => write!(f, "{why}: {error}"),
            None => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Of the same kind as the error of this number; [`errno`] finds that again.
impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        let plain = io::Error::from_raw_os_error(refusal.errno);
        match refusal.why {
            Some(_) => io::Error::new(plain.kind(), refusal),
            None => plain,
        }
    }
}

/// The number of an error that the operating system or a refusal gave.
pub fn errno(error: &io::Error) -> Option<i32> {
    let refusal = || error.get_ref()?.downcast_ref::<Refusal>();
    error.raw_os_error().or_else(|| refusal().map(|refusal| refusal.errno))
}

/// What an acknowledgement (`NLMSG_ERROR`) or the end of a list (`NLMSG_DONE`) says: whether the request succeeded. Some
/// ends say nothing.
pub(crate) fn outcome(message: &Message<'_>) -> Result<(), Refusal> {
    match u32_at(message.body, 0).map(|errno| (errno as i32).wrapping_neg()) {
        Some(0) => Ok(()),
        Some(errno) => Err(Refusal { errno, why: in_words(message) }),
        None if is_end(message) => Ok(()),
        None => Err(Refusal { errno: libc::EBADMSG, why: None }),
    }
}

fn is_end(message: &Message<'_>) -> bool {
    i32::from(message.kind) == libc::NLMSG_DONE
}

fn in_words(message: &Message<'_>) -> Option<String> {
    if message.flags & HAS_ATTRIBUTES == 0 {
        return None;
    }
    // After the number of an acknowledgement comes the request's header, and the rest of the request if that was not left
    // out.
    let request = match message.flags & CAPPED {
        _ if is_end(message) => 0,
        0 => u32_at(message.body, 4)? as usize,
        _ => HEADER,
    };
    let all = message.body.get(4 + request.next_multiple_of(4)..)?;
    attributes(all).find(|(kind, _)| *kind == IN_WORDS).map(|(_, words)| text(words)).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attributes;
    use crate::message::request;

    /// An acknowledgement of `of`, as the kernel makes it.
    fn acknowledged(errno: i32, flags: u16, of: &[u8], words: Option<&str>) -> Result<(), Refusal> {
        let words = words.map(|words| Attributes::default().number(2, 28).text(IN_WORDS, words).into_octets());
        let body = [&(-errno).to_ne_bytes()[..], of, &words.unwrap_or_default()].concat();
        outcome(&Message { kind: libc::NLMSG_ERROR as u16, flags, sequence: 1, port: 0, body: &body })
    }

    #[test]
    fn the_kernel_agrees_or_says_why_not() {
        let whole = request(36, libc::NLM_F_ACK, 1, &[0; 20]);
        assert_eq!(acknowledged(0, CAPPED, &whole[..HEADER], None), Ok(()));
        let plain = acknowledged(libc::EINVAL, 0, &whole, None).unwrap_err();
        assert_eq!(plain, Refusal { errno: libc::EINVAL, why: None });
        let words = Some("Cycle time is too short");
        for (flags, of) in [(CAPPED | HAS_ATTRIBUTES, &whole[..HEADER]), (HAS_ATTRIBUTES, &whole)] {
            let refusal = acknowledged(libc::EINVAL, flags, of, words).unwrap_err();
            assert_eq!(refusal.why.as_deref(), words);
            let error = io::Error::from(refusal);
            assert_eq!(error.to_string(), "Cycle time is too short: Invalid argument (os error 22)");
            assert_eq!((error.kind(), errno(&error)), (io::ErrorKind::InvalidInput, Some(libc::EINVAL)));
        }
        assert_eq!(acknowledged(libc::EINVAL, CAPPED, &whole[..HEADER], words).unwrap_err().why, None);
    }

    #[test]
    fn a_list_that_could_not_be_ended_is_a_refusal() {
        let done = |body: &[u8], flags| {
            let flags = libc::NLM_F_MULTI as u16 | flags;
            outcome(&Message { kind: libc::NLMSG_DONE as u16, flags, sequence: 1, port: 0, body })
        };
        assert_eq!((done(&[], 0), done(&0i32.to_ne_bytes(), 0)), (Ok(()), Ok(())));
        let number = (-libc::EINVAL).to_ne_bytes();
        assert_eq!(done(&number, 0), Err(Refusal { errno: libc::EINVAL, why: None }));
        let words = Attributes::default().text(IN_WORDS, "Invalid table id").into_octets();
        let why = Some("Invalid table id".into());
        assert_eq!(done(&[&number[..], &words].concat(), HAS_ATTRIBUTES), Err(Refusal { errno: libc::EINVAL, why }));
    }

    #[test]
    fn an_acknowledgement_that_is_cut_short_is_a_refusal() {
        let whole = request(36, 0, 1, &[]);
        let body =
            [&(-libc::EPERM).to_ne_bytes()[..], &whole, Attributes::default().text(IN_WORDS, "no!").octets()].concat();
        for end in 0..body.len() {
            let flags = CAPPED | HAS_ATTRIBUTES;
            let cut = Message { kind: libc::NLMSG_ERROR as u16, flags, sequence: 1, port: 0, body: &body[..end] };
            let errno = if end < 4 { libc::EBADMSG } else { libc::EPERM };
            assert_eq!(outcome(&cut), Err(Refusal { errno, why: None }), "cut at {end}");
        }
    }
}
