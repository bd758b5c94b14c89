//! Where everything happens: folders, a small disk, and how commands are started.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::UnshareFlags;

/// Killed when nobody has it any more.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killed {
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.0), signal);
    }

    /// Its exit status, if it ends in this time.
    pub fn status_within(&mut self, patience: Duration) -> Option<i32> {
        let until = Instant::now() + patience;
        loop {
            if let Some(status) = self.0.try_wait().expect("a child") {
                return Some(status.code().unwrap_or(-1));
            }
            if Instant::now() > until {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Folders of a soak, in a mount namespace of this thread and of those that it starts.
pub struct Site {
    folder: tempfile::TempDir,
    /// What all processes have in their environment.
    pub mark: String,
}

impl Site {
    /// Nothing where this may not mount.
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            ontick_skip::skipped!("root is needed for a mount and network namespaces");
            return None;
        }
        // SAFETY: a mount namespace of its own takes nothing from under anybody: open files stay as they are.
        #[allow(unsafe_code)]
        let own = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) };
        if let Err(error) = own {
            ontick_skip::skipped!("a mount namespace: {error}");
            return None;
        }
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).expect("own mounts");
        let site =
            Self { folder: tempfile::tempdir().unwrap(), mark: format!("ONTICK_SOAK_RUN={}", std::process::id()) };
        [site.disk(), site.temporary()].iter().for_each(|folder| fs::create_dir(folder).unwrap());
        Some(site)
    }

    pub fn mount_disk(&self) {
        mount("none", self.disk(), "tmpfs", MountFlags::empty(), Some(c"size=8m")).expect("a small disk");
    }

    pub fn unmount_disk(&self) {
        unmount(self.disk(), UnmountFlags::DETACH).expect("the small disk");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file system of 8 MiB.
    pub fn disk(&self) -> PathBuf {
        self.path("disk")
    }

    /// The folder for temporary files of all processes.
    pub fn temporary(&self) -> PathBuf {
        self.path("temporary")
    }

    /// A command of ontick that ends with this thread, however that ends. Where `ordinary`, it may not take real-time
    /// priority. `through` is what starts it.
    pub fn command(&self, ordinary: bool, through: &[&str], words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if ordinary {
            command.args(["--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice"]);
        }
        // A shell has what it starts in the background ignore Ctrl-C.
        command.args(["--", "env", "--default-signal=INT"]).args(through).arg(env!("CARGO_BIN_EXE_ontick")).args(words);
        let (name, value) = self.mark.split_once('=').expect("a mark");
        command.env(name, value).env("TMPDIR", self.temporary()).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Starts it, with what it says in a file of this name.
    pub fn start(&self, name: &str, command: &mut Command) -> Killed {
        let said = File::create(self.said(name)).expect("a file");
        Killed(command.stderr(said).spawn().expect("setpriv starts"))
    }

    fn said(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.said"))
    }

    /// What the command of this name said last.
    pub fn last_words(&self, name: &str) -> String {
        let said = fs::read_to_string(self.said(name)).unwrap_or_default();
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Runs a command to its end.
    pub fn run(&self, words: &[impl AsRef<OsStr>]) -> Output {
        self.command(true, &[], words).stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("setpriv starts")
    }

    /// What a command that reads a record says, or why it cannot.
    pub fn read(&self, words: &[&str], path: &Path) -> Result<String, String> {
        let output = self.run(&[words, &[path.to_str().expect("a path")]].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(format!("{}: {}: {}", words.join(" "), path.display(), text(&output.stderr))),
        }
    }
}

/// Where a soak ends half-way, the disk is still there, and a folder with a mount cannot be removed.
impl Drop for Site {
    fn drop(&mut self) {
        let _ = unmount(self.disk(), UnmountFlags::DETACH);
    }
}
