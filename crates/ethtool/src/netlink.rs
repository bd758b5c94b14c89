//! ethtool's messages over generic netlink (linux/genetlink.h, linux/ethtool_netlink.h): settings that the ioctl does not
//! have.

use std::io;

use ontick_netlink::{Attributes, Protocol, Socket, attributes, number, u16_at};

/// Octets of `struct genlmsghdr`.
const GENERIC_HEADER: usize = 4;

/// The controller's family, by which others are found (linux/genetlink.h).
const CONTROL: u16 = 0x10;
const GETFAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const FAMILY_OPS: u16 = 6;
const OP_ID: u16 = 1;

/// Asks ethtool's family by this command; what follows the headers of the answer, which is nothing where the kernel only
/// agrees. A kernel that does not have the command is an error of kind `Unsupported`.
pub fn ask(command: u8, attributes: &Attributes) -> io::Result<Vec<u8>> {
    const VERSION: u8 = 1;
    let mut socket = Socket::open(Protocol::Generic)?;
    let family = family(&mut socket, command)?;
    transact(&mut socket, family, command, VERSION, attributes)
}

/// The number of ethtool's family, if it has the command.
fn family(socket: &mut Socket, command: u8) -> io::Result<u16> {
    let name = Attributes::default().text(FAMILY_NAME, "ethtool");
    let missing = |why: &str| io::Error::new(io::ErrorKind::Unsupported, why.to_owned());
    let answer = transact(socket, CONTROL, GETFAMILY, 2, &name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing("the kernel has no ethtool over netlink (CONFIG_ETHTOOL_NETLINK)"),
        _ => error,
    })?;
    let of = |kind: u16| attributes(&answer).find(|(known, _)| *known == kind).map(|(_, value)| value);
    let has =
        |(_, operation)| attributes(operation).any(|(kind, id)| kind == OP_ID && number(id) == Some(command.into()));
    if !of(FAMILY_OPS).is_some_and(|operations| attributes(operations).any(has)) {
        return Err(missing("the kernel does not know this setting yet"));
    }
    let id = of(FAMILY_ID).and_then(|id| u16_at(id, 0));
    id.ok_or_else(|| missing("the kernel gives ethtool's family no number"))
}

fn transact(
    socket: &mut Socket,
    family: u16,
    command: u8,
    version: u8,
    attributes: &Attributes,
) -> io::Result<Vec<u8>> {
    let body = [&[command, version, 0, 0], attributes.octets()].concat();
    let mut answer = Vec::new();
    socket.ask(family, 0, &body, |message| answer = message.body.get(GENERIC_HEADER..).unwrap_or_default().to_vec())?;
    Ok(answer)
}
