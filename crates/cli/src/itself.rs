//! This program as another process of itself.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// The file that runs, whatever has become of its path.
pub fn command() -> Command {
    let mut command = Command::new("/proc/self/exe");
    // Lists of processes, and whoever is refused its CPU, show it by this name.
    command.arg0("ontick");
    command
}

/// Gives a process that was started so the program's name; the kernel has named it by the path's last part.
pub fn take_name() {
    if rustix::thread::name().is_ok_and(|name| name.as_c_str() == c"exe") {
        let _ = rustix::thread::set_name(c"ontick");
    }
}
