//! ethtool's messages over generic netlink (netlink(7), linux/genetlink.h, linux/ethtool_netlink.h): settings that the
//! ioctl does not have.

use std::io;

use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with};

/// Octets of `struct nlmsghdr`, and of `struct genlmsghdr` behind it.
const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
/// Octets of `struct nlattr`.
const ATTRIBUTE: usize = 4;
/// All that the kernel answers here is shorter.
const LONGEST: usize = 32 << 10;
const SEQUENCE: u32 = 1;

/// The controller's family, by which others are found (linux/genetlink.h).
const CONTROL: u16 = 0x10;
const GETFAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const FAMILY_OPS: u16 = 6;
const OP_ID: u16 = 1;

/// Attributes of a message, put together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// As the kernel takes them.
    #[cfg(test)]
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// With one more.
    pub fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend(((ATTRIBUTE + value.len()) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        // Everything begins at a multiple of four.
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// With a number of 32 bits.
    pub fn number(self, kind: u16, value: u32) -> Self {
        self.with(kind, &value.to_ne_bytes())
    }

    /// With a number of 8 bits that is 0 or 1.
    pub fn flag(self, kind: u16, value: bool) -> Self {
        self.with(kind, &[value.into()])
    }

    /// With a text.
    pub fn text(self, kind: u16, value: &str) -> Self {
        self.with(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// With others within it.
    pub fn nested(self, kind: u16, within: &Self) -> Self {
        const NESTED: u16 = 1 << 15;
        self.with(kind | NESTED, &within.0)
    }
}

/// Attributes taken apart: their kind and what is in them. What is cut short or says a wrong length ends them.
pub fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    /// Flags stand beside the kind.
    const KIND: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        let kind = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?) & KIND;
        let value = rest.get(ATTRIBUTE..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A number of 8 or 32 bits that is all of an attribute.
pub fn number(value: &[u8]) -> Option<u32> {
    match value {
        [octet] => Some((*octet).into()),
        _ => value.first_chunk().map(|octets| u32::from_ne_bytes(*octets)),
    }
}

/// Asks ethtool's family by this command; what follows the headers of the answer, which is nothing where the kernel only
/// agrees. A kernel that does not have the command is an error of kind `Unsupported`.
pub fn ask(command: u8, attributes: &Attributes) -> io::Result<Vec<u8>> {
    const VERSION: u8 = 1;
    transact(family(command)?, command, VERSION, attributes)
}

/// The number of ethtool's family, if it has the command.
fn family(command: u8) -> io::Result<u16> {
    let name = Attributes::default().text(FAMILY_NAME, "ethtool");
    let missing = |why: &str| io::Error::new(io::ErrorKind::Unsupported, why.to_owned());
    let answer = transact(CONTROL, GETFAMILY, 2, &name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing("the kernel has no ethtool over netlink (CONFIG_ETHTOOL_NETLINK)"),
        _ => error,
    })?;
    let of = |kind: u16| attributes(&answer).find(|(known, _)| *known == kind).map(|(_, value)| value);
    let has =
        |(_, operation)| attributes(operation).any(|(kind, id)| kind == OP_ID && number(id) == Some(command.into()));
    if !of(FAMILY_OPS).is_some_and(|operations| attributes(operations).any(has)) {
        return Err(missing("the kernel does not know this setting yet"));
    }
    let id = of(FAMILY_ID).and_then(|id| id.first_chunk()).map(|id| u16::from_ne_bytes(*id));
    id.ok_or_else(|| missing("the kernel gives ethtool's family no number"))
}

/// A message, and the answer to it.
fn message(family: u16, command: u8, version: u8, attributes: &Attributes) -> Vec<u8> {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    let length = (HEADER + GENERIC_HEADER + attributes.0.len()) as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(family.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(SEQUENCE.to_ne_bytes());
    // The kernel knows the sender.
    message.extend(0u32.to_ne_bytes());
    message.extend([command, version, 0, 0]);
    message.extend(&attributes.0);
    message
}

fn transact(family: u16, command: u8, version: u8, attributes: &Attributes) -> io::Result<Vec<u8>> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(GENERIC))?;
    bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    send(&socket, &message(family, command, version, attributes), SendFlags::empty())?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; LONGEST];
    // The answer, if there is one, and then what became of the request.
    loop {
        let (octets, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        if let Some(end) = take(&buffer[..octets], &mut answer) {
            return end.map(|()| answer);
        }
    }
}

/// Takes what was received; whether the request succeeded, once that is said.
fn take(mut rest: &[u8], answer: &mut Vec<u8>) -> Option<io::Result<()>> {
    while let Some(length) = rest.first_chunk().map(|length| u32::from_ne_bytes(*length) as usize) {
        let Some(body) = rest.get(HEADER..length) else { break };
        let kind = u16::from_ne_bytes([rest[4], rest[5]]);
        let sequence = u32::from_ne_bytes([rest[8], rest[9], rest[10], rest[11]]);
        match i32::from(kind) {
            _ if sequence != SEQUENCE => {}
            libc::NLMSG_ERROR => {
                let errno = body.first_chunk().map_or(libc::EBADMSG, |errno| -i32::from_ne_bytes(*errno));
                return Some(if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) });
            }
            _ => *answer = body.get(GENERIC_HEADER..).unwrap_or_default().to_vec(),
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_is_taken_apart() {
        let within = Attributes::default().text(2, "eth0");
        let all = Attributes::default().nested(1, &within).flag(2, true).number(9, 128);
        let apart: Vec<(u16, &[u8])> = attributes(&all.0).collect();
        assert_eq!(apart.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [1, 2, 9]);
        assert_eq!(attributes(apart[0].1).collect::<Vec<_>>(), [(2, &b"eth0\0"[..])]);
        assert_eq!((number(apart[1].1), number(apart[2].1)), (Some(1), Some(128)));
    }

    #[test]
    fn what_is_cut_short_ends_the_walk() {
        let all = Attributes::default().text(2, "eth0").number(9, 128).0;
        for end in 0..all.len() {
            assert!(attributes(&all[..end]).count() < 2, "cut at {end}");
        }
        let mut answer = Vec::new();
        let whole = message(CONTROL, GETFAMILY, 2, &Attributes::default().number(1, 7));
        assert!((0..whole.len()).all(|end| take(&whole[..end], &mut answer).is_none() && answer.is_empty()));
        assert!(take(&whole, &mut answer).is_none());
        assert_eq!(attributes(&answer).collect::<Vec<_>>(), [(1, &7u32.to_ne_bytes()[..])]);
    }

    #[test]
    fn the_kernel_agrees_or_says_why_not() {
        let outcome = |errno: i32| {
            let mut said = message(libc::NLMSG_ERROR as u16, 0, 0, &Attributes::default());
            said[HEADER..HEADER + 4].copy_from_slice(&(-errno).to_ne_bytes());
            take(&said, &mut Vec::new()).unwrap().map_err(|error| error.raw_os_error())
        };
        assert_eq!(outcome(0), Ok(()));
        assert_eq!(outcome(libc::EOPNOTSUPP), Err(Some(libc::EOPNOTSUPP)));
    }
}
