//! The network namespace of this process: a switch's settings go with it.
#![allow(unsafe_code)]

use std::fs;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};
use serde::{Deserialize, Serialize};

/// A network namespace. The kernel gives the number of one that is gone to the next one, and a cookie never twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Network {
    /// Its number, as in `net:[4026531840]`.
    #[serde(rename = "network")]
    pub number: u64,
    /// Its cookie, where the kernel tells it (Linux 5.14).
    #[serde(rename = "network_cookie", default, skip_serializing_if = "Option::is_none")]
    pub cookie: Option<u64>,
}

/// What became of a network namespace.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NamespaceState {
    /// This process is in it.
    Here,
    /// It is another one of this machine.
    Elsewhere,
    /// It is gone.
    Gone,
}

impl Network {
    /// This process's.
    pub fn of_this_process() -> Self {
        Self { number: number_of("/proc/thread-self/ns/net").unwrap_or(0), cookie: cookie() }
    }

    /// What became of it.
    pub fn find(&self) -> NamespaceState {
        let this = Self::of_this_process();
        if self.number == this.number {
            let another = self.cookie.zip(this.cookie).is_some_and(|(then, now)| then != now);
            return if another { NamespaceState::Gone } else { NamespaceState::Here };
        }
        if exists(self.number) { NamespaceState::Elsewhere } else { NamespaceState::Gone }
    }
}

fn number_of(link: &str) -> Option<u64> {
    let target = fs::read_link(link).ok()?;
    target.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// Whether a process is in this network namespace, or a name holds it (`ip netns`).
fn exists(number: u64) -> bool {
    let mounts = ontick_rt::kernel_text::read("/proc/self/mountinfo").unwrap_or_default();
    let named = mounts.lines().any(|line| line.contains(&format!(" net:[{number}] ")));
    let processes = || fs::read_dir("/proc").into_iter().flatten().flatten();
    named || processes().any(|p| number_of(&format!("{}/ns/net", p.path().display())) == Some(number))
}

/// Of the network namespace in which a new socket is.
fn cookie() -> Option<u64> {
    let socket = socket(AddressFamily::UNIX, SocketType::DGRAM, None).ok()?;
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets to `cookie`, which has as many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    (result == 0 && length as usize == size_of::<u64>()).then_some(cookie)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_one_that_is_gone_is_not_taken_for_it() {
        let this = Network::of_this_process();
        assert_eq!(this.find(), NamespaceState::Here);
        // A kernel without cookies, then or now.
        assert_eq!(Network { cookie: None, ..this.clone() }.find(), NamespaceState::Here);
        if let Some(cookie) = this.cookie {
            assert_eq!(Network { cookie: Some(cookie + 1), ..this.clone() }.find(), NamespaceState::Gone);
        }
        assert_eq!(Network { number: 1, ..this }.find(), NamespaceState::Gone);
    }
}
