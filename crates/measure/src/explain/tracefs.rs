//! The kernel's trace file system, and a private instance in it.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// Instances carry this, the process and its start time, so that one whose process was killed is known.
const PREFIX: &str = "ontick-";
/// Instances of one process at once, at most.
pub const INSTANCES: usize = 64;

/// Where the kernel keeps its trace files.
pub struct Tracefs {
    root: PathBuf,
    /// A mount of our own that has no place in the file tree: it ends with this, however the process ends.
    mount: Option<OwnedFd>,
}

impl Tracefs {
    /// The one that is mounted, else one mounted for this process alone.
    pub fn find() -> io::Result<Self> {
        let mounted = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(Path::new);
        if let Some(root) = mounted.into_iter().find(|root| root.join("instances").is_dir()) {
            return Ok(Self { root: root.into(), mount: None });
        }
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        Ok(Self { root: format!("/proc/self/fd/{}", mount.as_raw_fd()).into(), mount: Some(mount) })
    }

    /// Number and fields of an event (`sched/sched_switch`).
    pub fn event_format(&self, event: &str) -> io::Result<String> {
        fs::read_to_string(self.root.join("events").join(event).join("format"))
    }

    /// Whether others find it in the file tree, too.
    pub fn is_mounted(&self) -> bool {
        self.mount.is_none()
    }

    /// Where one of its files is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The text of one of its files.
    pub fn file(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.path(name))
    }

    fn instances(&self) -> PathBuf {
        self.root.join("instances")
    }

    /// Removes instances of runs that were killed. Those of running processes stay; that they are held keeps
    /// also those whose process is in another PID namespace and cannot be seen from here.
    pub fn clean(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.instances()) else { return Vec::new() };
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| is_stale(name) && fs::remove_dir(self.instances().join(name)).is_ok()).collect()
    }

    /// A new instance: a ring of its own, which nobody else's tracing meets.
    pub fn instance(self) -> io::Result<Instance> {
        let pid = std::process::id();
        let born = born(pid).unwrap_or(0);
        let free = (0..INSTANCES).map(|n| self.instances().join(format!("{PREFIX}{pid}-{born}-{n}")));
        for path in free {
            match fs::create_dir(&path) {
                Ok(()) => {
                    let held = fs::File::open(path.join("tracing_on")).ok();
                    return Ok(Instance { path, held, _tracefs: self });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// Whether an instance was made by this program in a process that is gone.
fn is_stale(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let mut numbers = rest.split('-').map(str::parse::<u64>);
    match (numbers.next(), numbers.next()) {
        // A later process may have been given the same number.
        (Some(Ok(pid)), Some(Ok(at))) => u32::try_from(pid).is_ok_and(|pid| born(pid) != Some(at)),
        _ => false,
    }
}

/// When a process began, in ticks since boot; `None` once it is gone.
fn born(pid: u32) -> Option<u64> {
    let stat = ontick_rt::kernel_text::read(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces; the 22nd field is the 20th after it.
    let after = stat.rsplit_once(')')?.1;
    if after.trim_start().starts_with(['Z', 'X']) {
        return None;
    }
    after.split_whitespace().nth(19)?.parse().ok()
}

/// A private instance; removed when dropped.
pub struct Instance {
    path: PathBuf,
    /// The kernel does not remove an instance of which a file is open.
    held: Option<fs::File>,
    _tracefs: Tracefs,
}

impl Instance {
    /// One of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes to one of its files.
    pub fn set(&self, name: &str, value: &str) -> io::Result<()> {
        fs::write(self.file(name), value)
    }

    /// Reads one of its files.
    pub fn get(&self, name: &str) -> io::Result<String> {
        let mut file = fs::File::open(self.file(name))?;
        let mut text = Vec::new();
        // Some of these files answer only one read, which has to have room for all of it.
        let mut room = vec![0; 1 << 16];
        loop {
            match file.read(&mut room)? {
                0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
                length => text.extend_from_slice(&room[..length]),
            }
        }
    }
}

#[cfg(test)]
impl Tracefs {
    /// Plain files in place of the kernel's.
    pub fn of_files(root: PathBuf) -> Self {
        Self { root, mount: None }
    }
}

#[cfg(test)]
impl Instance {
    /// Plain files in place of the kernel's.
    pub fn of_files(path: PathBuf) -> Self {
        let _tracefs = Tracefs::of_files(path.clone());
        Self { path, held: None, _tracefs }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.held = None;
        let _ = self.set("tracing_on", "0");
        let _ = fs::remove_dir(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Those that clean this machine's instances would meet each other's.
    static MACHINES: Mutex<()> = Mutex::new(());

    #[test]
    fn only_instances_of_gone_processes_are_stale() {
        let pid = std::process::id();
        let born = born(pid).unwrap();
        assert!(!is_stale(&format!("ontick-{pid}-{born}-0")));
        assert!(is_stale(&format!("ontick-{pid}-{}-0", born + 1)));
        assert!(is_stale("ontick-4294967295-1-0"));
        for other in ["rtla", "ontick-", "ontick-x-1", "ontick-12", "my-ontick-1-1"] {
            assert!(!is_stale(other), "{other}");
        }
    }

    #[test]
    fn a_process_that_runs_was_born() {
        assert!(born(std::process::id()).unwrap() > 0);
        assert_eq!(born(u32::MAX), None);
    }

    #[test]
    fn only_what_gone_processes_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let tracefs = Tracefs { root: folder.path().into(), mount: None };
        assert_eq!(tracefs.clean(), [""; 0], "where there are no instances");
        let pid = std::process::id();
        let running = format!("ontick-{pid}-{}-0", born(pid).unwrap());
        let names = [running.as_str(), "rtla", "ontick-4294967295-1-0", "ontick-4294967295-1-1"];
        names.iter().for_each(|name| fs::create_dir_all(tracefs.instances().join(name)).unwrap());
        // The kernel does not remove one of which a file is open, nor this machine a folder that is not empty.
        fs::write(tracefs.instances().join("ontick-4294967295-1-1/tracing_on"), "").unwrap();
        assert_eq!(tracefs.clean(), ["ontick-4294967295-1-0"]);
        assert_eq!(fs::read_dir(tracefs.instances()).unwrap().count(), 3);
        let _machines = MACHINES.lock();
        assert!(super::super::clean().iter().all(|name| name.starts_with(PREFIX)), "of this machine");
    }

    /// One of the same number may be there: another thread's of this process.
    #[test]
    fn an_instance_has_a_folder_of_its_own_and_ends_its_tracing() {
        let folder = tempfile::tempdir().unwrap();
        let tracefs = || Tracefs { root: folder.path().into(), mount: None };
        assert!(tracefs().instance().is_err(), "nowhere to make one");
        fs::create_dir(tracefs().instances()).unwrap();
        let made = [(); 2].map(|()| tracefs().instance().unwrap());
        assert_ne!(made[0].path, made[1].path);
        assert!(made.iter().all(|made| !is_stale(&made.path.file_name().unwrap().to_string_lossy())));
        let text = "long ".repeat(30_000);
        made[0].set("trace", &text).unwrap();
        assert_eq!(made[0].get("trace").unwrap(), text, "all of it");
        let on = made[0].file("tracing_on");
        drop(made);
        assert_eq!(fs::read_to_string(on).unwrap(), "0");
    }

    #[test]
    fn a_killed_runs_instance_goes_and_a_running_ones_stays() {
        let _machines = MACHINES.lock();
        let (Ok(tracefs), Ok(other)) = (Tracefs::find(), Tracefs::find()) else {
            return ontick_skip::skipped!("tracefs cannot be used here");
        };
        let killed = tracefs.instances().join("ontick-4294967295-1-0");
        if fs::create_dir(&killed).is_err() {
            return ontick_skip::skipped!("no instance can be made here");
        }
        // As from another PID namespace: no process here has the number, and yet it runs.
        let elsewhere = tracefs.instances().join("ontick-4294967295-2-0");
        // Until it is held, whoever cleans takes it away.
        let held = loop {
            let made = fs::create_dir(&elsewhere);
            match fs::File::open(elsewhere.join("tracing_on")) {
                Ok(held) => break held,
                Err(_) if made.is_ok() => {}
                Err(error) => panic!("{error}, {made:?}"),
            }
        };
        let mine = other.instance().unwrap();
        let cleaned = tracefs.clean();
        // Another run may have cleaned it first.
        assert!(!killed.exists() && mine.file("trace_clock").exists(), "{cleaned:?}");
        assert!(fs::read_to_string(elsewhere.join("tracing_on")).unwrap().starts_with('1'));
        drop(held);
        tracefs.clean();
        assert!(!elsewhere.exists());
        let path = mine.path.clone();
        drop(mine);
        assert!(!tracefs.instances().join(path.file_name().unwrap()).exists());
    }
}
