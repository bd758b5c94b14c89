//! The system calls of a command, and a kill before one of them, both by strace(1).

use std::collections::HashMap;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use super::Trial;
use crate::has;

/// Calls that may change files, sockets, processes, or settings of the kernel. Of open calls, those that only read are left
/// out.
const CHANGING: &str = "openat,write,pwrite64,writev,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,\
                        symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,fchownat,ftruncate,fsync,fdatasync,flock,sendto,\
                        sendmsg,ioctl,setsockopt,bind,clone,clone3,fork,vfork,sched_setaffinity,sched_setscheduler,prctl,\
                        sched_setattr,mlock,mlockall,mount,umount2,setns,unshare,bpf,kill,tgkill,pidfd_send_signal";

/// The nth call of its name in the command's main thread.
#[derive(Debug, Clone)]
pub struct Call {
    name: String,
    number: usize,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.number)
    }
}

/// All of them, as a run that is not disturbed makes them. `None` where there is no strace, or it may not trace.
pub fn calls_of(trial: &dyn Trial) -> Option<Vec<Call>> {
    if !has("strace") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("trace");
    let status = trial.run(&mut strace(trial, &log.display().to_string(), &[&format!("trace={CHANGING}")])).status;
    let text = std::fs::read_to_string(log).unwrap_or_default();
    if text.is_empty() {
        ontick_skip::skipped!("strace may not trace here");
        return None;
    }
    assert!(status.success(), "{}: {status}", trial.name());
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut calls = Vec::new();
    for (name, rest) in text.lines().filter_map(|line| line.split_once('(')) {
        let number = counts.entry(name).or_default();
        *number += 1;
        if name != "openat" || rest.contains("O_CREAT") || rest.contains("O_WRONLY") || rest.contains("O_RDWR") {
            calls.push(Call { name: name.to_owned(), number: *number });
        }
    }
    Some(calls)
}

/// Runs the command, and kills it as it is about to make this call. Whether it was: another run may make fewer calls.
pub fn killed_at(trial: &dyn Trial, call: &Call) -> bool {
    let what = [format!("trace={}", call.name), format!("inject={}:signal=KILL:when={}", call.name, call.number)];
    let status = trial.run(&mut strace(trial, "/dev/null", &what)).status;
    status.signal() == Some(9) || status.code() == Some(137)
}

/// What a killed command leaves at work must not keep a pipe open that somebody reads to its end.
fn strace(trial: &dyn Trial, log: &str, what: &[impl AsRef<str>]) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-o", log]).args(what.iter().flat_map(|what| ["-e", what.as_ref()]));
    strace.arg(env!("CARGO_BIN_EXE_ontick")).args(trial.words());
    strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    strace
}
