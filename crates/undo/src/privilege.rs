//! Capabilities (capabilities(7)): which of them the calling thread has or lacks, and giving up all but some for good.

use std::io;

use rustix::io::Errno;
use rustix::thread::{self, CapabilitySet, CapabilitySets};

/// The kernel numbers them from 0, and stops far below this.
const MOST: u32 = 64;

/// `CAP_NET_ADMIN, CAP_NET_RAW`, by number.
pub fn names(set: CapabilitySet) -> String {
    set.iter_names().map(|(name, _)| format!("CAP_{name}")).collect::<Vec<_>>().join(", ")
}

/// Those of a set that are not in effect.
pub fn missing(needed: CapabilitySet) -> CapabilitySet {
    needed - effective()
}

/// Whether this process can do what its user could not: whom it obeys matters then.
pub fn is_privileged() -> bool {
    rustix::process::geteuid().is_root() || !effective().is_empty()
}

fn effective() -> CapabilitySet {
    thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective)
}

/// Lets programs that this thread starts have these capabilities, as far as it has them itself (its ambient set). What
/// root starts has them anyway.
pub fn hand_down(set: CapabilitySet) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let before = thread::capabilities(None)?;
    let given = before.permitted & set;
    thread::set_capabilities(None, CapabilitySets { inheritable: before.inheritable | given, ..before })?;
    Ok(given.iter().try_for_each(|one| thread::configure_capability_in_ambient_set(one, true))?)
}

/// Gives up all but these capabilities, for good: for this thread, the threads that it starts from now on, and the
/// programs that any of them starts. Other threads keep what they have.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    let kept = kept | in_place_of(kept);
    let before = thread::capabilities(None)?;
    // No program regains one: by its file, or as root. Without the right to narrow the bounding set, the next line does it.
    if before.effective.contains(CapabilitySet::SETPCAP) {
        for one in known() - kept {
            thread::remove_capability_from_bounding_set(one)?;
        }
    }
    thread::set_no_new_privs(true)?;
    let sets = CapabilitySets {
        effective: before.effective & kept,
        permitted: before.permitted & kept,
        inheritable: before.inheritable & kept,
    };
    Ok(thread::set_capabilities(None, sets)?)
}

/// All that a timed thread keeps once it is set up. Its memory is locked, and so is what it is given later, which without
/// the right to it would be refused beyond a small limit (`RLIMIT_MEMLOCK`, mmap(2)).
const TIMED_KEEPS: CapabilitySet = CapabilitySet::IPC_LOCK;

/// The calling thread is timed, and set up: it gives up all that it needs no more. Who cannot give any up has none.
pub fn settle_timed_thread() {
    let _ = keep_only(TIMED_KEEPS);
}

/// What this kernel asks for in place of capabilities that it does not know: CAP_BPF and CAP_PERFMON came with Linux 5.8.
fn in_place_of(kept: CapabilitySet) -> CapabilitySet {
    let newer = CapabilitySet::BPF | CapabilitySet::PERFMON;
    match kept.intersects(newer) && !known().contains(newer) {
        true => CapabilitySet::SYS_ADMIN,
        false => CapabilitySet::empty(),
    }
}

/// Those that this kernel knows.
fn known() -> CapabilitySet {
    let one = |number: u32| CapabilitySet::from_bits_retain(1 << number);
    let is_known = |one: &CapabilitySet| thread::capability_is_in_bounding_set(*one) != Err(Errno::INVAL);
    (0..MOST).map(one).take_while(is_known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_have_the_names_of_the_manual() {
        assert_eq!(names(CapabilitySet::NET_RAW | CapabilitySet::NET_ADMIN), "CAP_NET_ADMIN, CAP_NET_RAW");
        assert_eq!(names(CapabilitySet::empty()), "");
        assert!(known().contains(CapabilitySet::CHOWN | CapabilitySet::NET_ADMIN));
        assert!(!known().contains(CapabilitySet::from_bits_retain(1 << (MOST - 1))));
    }

    /// A line of /proc/thread-self/status.
    fn status(name: &str) -> String {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        value.trim().to_owned()
    }

    #[test]
    fn what_is_given_up_is_gone_from_all_sets_of_this_thread_and_of_what_it_starts() {
        let kept = CapabilitySet::NET_RAW | CapabilitySet::CHOWN;
        if !missing(kept | CapabilitySet::SETPCAP).is_empty() {
            return ontick_skip::skipped!("only root has capabilities to give up");
        }
        let other = status("CapPrm");
        std::thread::spawn(move || {
            keep_only(kept).unwrap();
            let mask = format!("{:016x}", kept.bits());
            let all = || ["CapEff", "CapPrm", "CapBnd"].map(status);
            assert_eq!(all(), [mask.as_str(); 3]);
            assert_eq!(status("NoNewPrivs"), "1");
            assert_eq!(
                std::thread::spawn(move || ["CapEff", "CapBnd"].map(status)).join().unwrap(),
                [mask.as_str(); 2]
            );
            let started = std::process::Command::new("/bin/cat").arg("/proc/self/status").output().unwrap();
            let started = String::from_utf8(started.stdout).unwrap();
            assert!(started.contains(&format!("CapPrm:\t{mask}\nCapEff:\t{mask}\nCapBnd:\t{mask}")), "{started}");
            assert_eq!(missing(CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW), CapabilitySet::NET_ADMIN);
        })
        .join()
        .unwrap();
        assert_eq!(status("CapPrm"), other, "other threads keep theirs");
    }
}
