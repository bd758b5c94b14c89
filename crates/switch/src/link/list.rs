//! The list of all interfaces.

use std::io;

use ontick_netlink::{Protocol, Socket};

use super::state::Link;

/// All interfaces of the calling thread's network namespace.
pub fn list() -> io::Result<Vec<Link>> {
    Lister::new()?.list()
}

/// Lists all interfaces of the network namespace in which it was made.
#[derive(Debug)]
pub struct Lister(Socket);

impl Lister {
    pub fn new() -> io::Result<Self> {
        Socket::open(Protocol::Route).map(Self)
    }

    pub fn list(&mut self) -> io::Result<Vec<Link>> {
        /// A list during which something changed is asked for anew; the last of so many is taken as it is.
        const TRIES: u32 = 10;
        for _ in 1..TRIES {
            if let (links, false) = self.list_once()? {
                return Ok(links);
            }
        }
        Ok(self.list_once()?.0)
    }

    /// Asks once; also whether something changed meanwhile.
    fn list_once(&mut self) -> io::Result<(Vec<Link>, bool)> {
        /// Octets of `struct ifinfomsg`, all zero: every interface.
        const INFO: usize = 16;
        let mut links = Vec::new();
        let changed = self.0.list(libc::RTM_GETLINK, &[0; INFO], |message| {
            links.extend(Link::read(message).filter(|_| message.kind == libc::RTM_NEWLINK));
        })?;
        Ok((links, changed))
    }
}
