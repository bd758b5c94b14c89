//! Source 004's second load, pings from another host, where there is no other host: a network namespace of this machine
//! stands for it.

use ontick_undo::privilege::{missing, names};
use rustix::thread::CapabilitySet;

use super::there::is_there;

/// Programs that it takes, and the packages of those that a small system may lack.
const NEEDS: [(&str, &str); 4] =
    [("ip", "iproute2"), ("ping", "iputils-ping"), ("unshare", "util-linux"), ("nsenter", "util-linux")];
/// To make a namespace and interfaces in it, and to send echo requests.
const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::NET_ADMIN).union(CapabilitySet::NET_RAW);
/// For the record.
pub const ABOUT: &str =
    "pings every 10 ms from a second host, which is a network namespace of this machine (simulated)";

/// In a namespace of its own, which ends with its processes; so nothing of this machine's network changes. The kernel
/// that is measured answers the pings, as it would those of a real host, but for the network card's interrupts.
const SCRIPT: &str = r#"
set -e
ip link add name here type veth peer name there
ip addr add 192.0.2.1/30 dev here
ip link set dev here up
unshare --net sleep infinity &
other=$!
while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
ip link set dev there netns $other
nsenter --net=/proc/$other/ns/net ip addr add 192.0.2.2/30 dev there
nsenter --net=/proc/$other/ns/net ip link set dev there up
for cpu in $(seq "$1"); do cat /dev/zero & done
# No exec: the first namespace ends with the last process in it, which is this shell.
nsenter --net=/proc/$other/ns/net ping -n -q -i 0.01 192.0.2.1
exit $?
"#;

/// The command, beside which so many `cat /dev/zero` run.
pub fn command(readers: usize) -> Vec<String> {
    let words = ["unshare", "--net", "sh", "-c", SCRIPT, "load", &readers.to_string()];
    words.map(String::from).to_vec()
}

/// Why it cannot run here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PingsError {
    /// It takes capabilities that this process does not have: which.
    #[error("a second host in a network namespace needs {0} (run it with sudo)")]
    Privilege(String),
    /// A program that is needed.
    #[error("{program} is not installed (package {package})")]
    NotInstalled {
        /// Which.
        program: &'static str,
        /// Debian's package with it.
        package: &'static str,
    },
}

/// Whether it can run here.
pub fn check() -> Result<(), PingsError> {
    let missing = missing(NEEDED);
    if !missing.is_empty() {
        return Err(PingsError::Privilege(names(missing)));
    }
    match NEEDS.iter().find(|(program, _)| !is_there(program)) {
        Some((program, package)) => Err(PingsError::NotInstalled { program, package }),
        None => Ok(()),
    }
}
