//! Network namespaces without names, and virtual Ethernet between them.
//!
//! A namespace lives as long as something holds it. Only this process does, so however it ends, the namespace and its
//! interfaces go with it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::process::Stdio;

use crate::apply::not_installed;
use crate::apply::quoted::quoted;
use ontick_undo::program;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// Queues in each direction of a virtual Ethernet port: one for each traffic class.
const QUEUES: &str = "16";

/// A network namespace of this process.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

/// Why a namespace, or something in it, could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// It takes a privilege that this process does not have.
    #[error("{0} needs CAP_SYS_ADMIN (run it with sudo)")]
    Privilege(&'static str),
    /// The system failed.
    #[error("{what}: {why}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// How it failed.
        why: io::Error,
    },
    /// A program is not here.
    #[error("{0}")]
    Missing(String),
    /// A command failed.
    #[error("`{command}` failed in a network namespace: {why}")]
    Command {
        /// The command as a person would type it.
        command: String,
        /// Why, with what it said quoted at the end.
        why: String,
    },
}

impl NamespaceError {
    fn of(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |why| match why.kind() {
            io::ErrorKind::PermissionDenied => Self::Privilege(what),
            _ => Self::Io { what, why },
        }
    }
}

impl Namespace {
    /// A new one, with nothing but a loopback interface that is down. Interfaces in it speak no IPv6 of their own.
    pub fn new() -> Result<Self, NamespaceError> {
        let handle = std::thread::scope(|scope| scope.spawn(make).join()).expect("the thread does not panic");
        let namespace = Self { handle: handle.map_err(NamespaceError::of("a network namespace"))? };
        namespace.within(|| {
            for of in ["all", "default"] {
                // A kernel without IPv6 has no such file.
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6"), "1");
            }
        })?;
        Ok(namespace)
    }

    /// Does something inside, on a thread of its own: sockets that it opens stay in this namespace wherever they are
    /// used, and programs that it starts run there.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let inside = || self.enter().map(|()| work());
        let done = std::thread::scope(|scope| scope.spawn(inside).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Moves the calling thread in, for good.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        let moved = move_into_link_name_space(self.handle.as_fd(), Some(LinkNameSpaceType::Network));
        moved.map_err(|e| NamespaceError::of("entering a network namespace")(e.into()))
    }

    /// Where other programs find it for as long as this process lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.handle.as_raw_fd()).into()
    }

    /// Joins an interface here with one in another namespace (or in this one too), like two ports with a cable; both
    /// are up afterwards. Each has sixteen queues.
    pub fn join(&self, name: &str, other: &Namespace, peer: &str) -> Result<(), NamespaceError> {
        let path = other.path();
        let path = path.to_string_lossy();
        // After `name`, an interface may be called what is a word of ip's otherwise: `a`, `dev`, `type`.
        let ends = ["link", "add", "name", name, "numtxqueues", QUEUES, "numrxqueues", QUEUES, "type", "veth"];
        let peers = ["peer", "name", peer, "numtxqueues", QUEUES, "numrxqueues", QUEUES, "netns", &path];
        self.ip(&[&ends[..], &peers[..]].concat())?;
        self.ip(&["link", "set", "dev", name, "up"])?;
        other.ip(&["link", "set", "dev", peer, "up"])
    }

    /// Runs `ip` inside.
    pub fn ip(&self, arguments: &[&str]) -> Result<(), NamespaceError> {
        self.run("ip", arguments).map(drop)
    }

    /// Runs a program inside, to its end, and gives what it printed.
    pub fn run(&self, name: &str, arguments: &[&str]) -> Result<String, NamespaceError> {
        let failed = |why: String| NamespaceError::Command { command: format!("{name} {}", arguments.join(" ")), why };
        let output = self.within(|| program::command(name)?.args(arguments).stdin(Stdio::null()).output())?;
        let output = output.map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => NamespaceError::Missing(not_installed(name)),
            _ => failed(e.to_string()),
        })?;
        if !output.status.success() {
            return Err(failed(quoted(name, &String::from_utf8_lossy(&output.stderr))));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// On a thread that ends at once: only the handle keeps the namespace.
fn make() -> io::Result<File> {
    // SAFETY: a network namespace of its own takes nothing from under anybody: open files stay as they are.
    #[allow(unsafe_code)]
    unsafe {
        rustix::thread::unshare_unsafe(UnshareFlags::NEWNET)?;
    }
    File::open("/proc/thread-self/ns/net")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::testbed::namespace;

    fn interfaces(namespace: &Namespace) -> Vec<String> {
        let links = namespace.run("ip", &["-o", "link", "show"]).unwrap();
        links.lines().filter_map(|line| Some(line.split(": ").nth(1)?.split('@').next()?.to_string())).collect()
    }

    #[test]
    fn a_cable_between_two() {
        let (Some(here), Some(there)) = (namespace(), namespace()) else { return };
        here.join("port0", &there, "port1").unwrap();
        assert!(interfaces(&here).contains(&"port0".to_string()));
        assert_eq!(interfaces(&there).iter().filter(|name| *name == "port1").count(), 1);
        let up = |n: &Namespace, name: &str| n.run("ip", &["-o", "link", "show", name]).unwrap().contains("LOWER_UP");
        assert!(up(&here, "port0") && up(&there, "port1"));
        // What one end loses, the other does too.
        drop(there);
        let gone = || !interfaces(&here).contains(&"port0".to_string());
        let patience = std::time::Instant::now();
        while !gone() {
            assert!(patience.elapsed().as_secs() < 20, "a namespace that nobody holds is still there");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    #[test]
    fn an_interface_may_have_a_name_that_is_a_word_of_ip() {
        for name in ["a", "name", "dev", "type", "up", "peer", "netns"] {
            let (Some(here), Some(there)) = (namespace(), namespace()) else { return };
            here.join(name, &there, "host").unwrap();
            assert!(interfaces(&here).contains(&name.to_string()), "{name}");
        }
    }

    #[test]
    fn this_thread_stays_where_it_was() {
        let Some(namespace) = namespace() else { return };
        let own = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let before = own();
        assert_ne!(namespace.within(own).unwrap(), before);
        assert_eq!(own(), before);
    }

    #[test]
    fn a_failing_command_says_what_it_was() {
        let Some(namespace) = namespace() else { return };
        let error = namespace.ip(&["link", "set", "nothing", "up"]).unwrap_err().to_string();
        assert!(
            error.starts_with("`ip link set nothing up` failed") && error.contains("ip says \"Cannot find device"),
            "{error}"
        );
        let error = namespace.run("no-such-program", &[]).unwrap_err().to_string();
        assert!(error.contains("no-such-program"), "{error}");
    }
}
