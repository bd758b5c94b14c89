//! A child process that ends with this one.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the program that this command starts get SIGTERM when the calling thread ends, however it ends, so that it can end
/// as its user would have it (prctl(2), PR_SET_PDEATHSIG). For programs that keep their user: a change of user clears it.
pub fn end_with_this_thread(command: &mut Command) -> &mut Command {
    let parent = std::process::id() as libc::pid_t;
    let ask = move || {
        // SAFETY: prctl reads plain numbers; getppid and raise have no preconditions.
        unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) != 0 {
                return Err(io::Error::last_os_error());
            }
            // Who ended before that sends nothing any more.
            if libc::getppid() != parent {
                libc::raise(libc::SIGTERM);
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes async-signal-safe system calls only.
    unsafe { command.pre_exec(ask) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let start = || end_with_this_thread(Command::new("sleep").arg("600")).spawn();
        let mut child = std::thread::spawn(start).join().unwrap().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    }
}
