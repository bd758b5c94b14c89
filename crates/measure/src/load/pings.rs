//! Source 004's second load, pings from another host, where there is no other host: a network namespace of this machine
//! stands for it.

/// Programs that it takes, and the packages of those that a small system may lack.
const NEEDS: [(&str, &str); 4] =
    [("ip", "iproute2"), ("ping", "iputils-ping"), ("unshare", "util-linux"), ("nsenter", "util-linux")];
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PingsError {
    /// Only root makes namespaces.
    #[error("a second host in a network namespace needs root (sudo)")]
    NotRoot,
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
    if !rustix::process::geteuid().is_root() {
        return Err(PingsError::NotRoot);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let is_there = |program: &str| folders.iter().any(|folder| folder.join(program).exists());
    match NEEDS.iter().find(|(program, _)| !is_there(program)) {
        Some((program, package)) => Err(PingsError::NotInstalled { program, package }),
        None => Ok(()),
    }
}
