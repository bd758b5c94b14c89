//! System calls by number: their names, and which of them a thread waits by.

macro_rules! table {
    ($($(#[$attribute:meta])* $name:ident = $number:ident),* $(,)?) => {
        /// The calls that programs make in loops; others are named by their number.
        const NAMES: &[(i64, &str)] = &[$($(#[$attribute])* (libc::$number as i64, stringify!($name)),)*];
    };
}

table! {
    read = SYS_read, write = SYS_write, close = SYS_close, fstat = SYS_fstat, lseek = SYS_lseek,
    pread64 = SYS_pread64, pwrite64 = SYS_pwrite64, readv = SYS_readv, writev = SYS_writev, preadv = SYS_preadv,
    pwritev = SYS_pwritev, preadv2 = SYS_preadv2, pwritev2 = SYS_pwritev2, ioctl = SYS_ioctl, fcntl = SYS_fcntl,
    openat = SYS_openat, openat2 = SYS_openat2, unlinkat = SYS_unlinkat, mkdirat = SYS_mkdirat,
    renameat2 = SYS_renameat2, linkat = SYS_linkat, symlinkat = SYS_symlinkat, faccessat = SYS_faccessat,
    statx = SYS_statx, getdents64 = SYS_getdents64, fsync = SYS_fsync, fdatasync = SYS_fdatasync,
    sync = SYS_sync, syncfs = SYS_syncfs, ftruncate = SYS_ftruncate, fallocate = SYS_fallocate,
    flock = SYS_flock, sendfile = SYS_sendfile, splice = SYS_splice, copy_file_range = SYS_copy_file_range,
    msync = SYS_msync, munmap = SYS_munmap, mremap = SYS_mremap, mprotect = SYS_mprotect, madvise = SYS_madvise,
    brk = SYS_brk, mlock = SYS_mlock, mlock2 = SYS_mlock2, munlock = SYS_munlock, mlockall = SYS_mlockall,
    munlockall = SYS_munlockall, memfd_create = SYS_memfd_create,
    nanosleep = SYS_nanosleep, clock_nanosleep = SYS_clock_nanosleep, clock_gettime = SYS_clock_gettime,
    clock_settime = SYS_clock_settime, gettimeofday = SYS_gettimeofday, timerfd_create = SYS_timerfd_create,
    timerfd_settime = SYS_timerfd_settime, timerfd_gettime = SYS_timerfd_gettime, timer_create = SYS_timer_create,
    timer_settime = SYS_timer_settime, timer_gettime = SYS_timer_gettime, setitimer = SYS_setitimer,
    futex = SYS_futex, ppoll = SYS_ppoll, pselect6 = SYS_pselect6, epoll_pwait = SYS_epoll_pwait,
    epoll_pwait2 = SYS_epoll_pwait2, epoll_ctl = SYS_epoll_ctl, eventfd2 = SYS_eventfd2, pipe2 = SYS_pipe2,
    io_uring_enter = SYS_io_uring_enter, io_getevents = SYS_io_getevents, io_submit = SYS_io_submit,
    rt_sigtimedwait = SYS_rt_sigtimedwait, rt_sigsuspend = SYS_rt_sigsuspend, rt_sigreturn = SYS_rt_sigreturn,
    rt_sigprocmask = SYS_rt_sigprocmask, rt_sigaction = SYS_rt_sigaction, kill = SYS_kill, tkill = SYS_tkill,
    tgkill = SYS_tgkill, sigaltstack = SYS_sigaltstack,
    sendto = SYS_sendto, recvfrom = SYS_recvfrom, sendmsg = SYS_sendmsg, recvmsg = SYS_recvmsg,
    sendmmsg = SYS_sendmmsg, recvmmsg = SYS_recvmmsg, accept4 = SYS_accept4, connect = SYS_connect,
    socket = SYS_socket, bind = SYS_bind, setsockopt = SYS_setsockopt, getsockopt = SYS_getsockopt,
    mq_timedsend = SYS_mq_timedsend, mq_timedreceive = SYS_mq_timedreceive,
    clone = SYS_clone, clone3 = SYS_clone3, execve = SYS_execve, execveat = SYS_execveat, exit = SYS_exit,
    exit_group = SYS_exit_group, wait4 = SYS_wait4, waitid = SYS_waitid,
    getpid = SYS_getpid, gettid = SYS_gettid, getcpu = SYS_getcpu, getrandom = SYS_getrandom, uname = SYS_uname,
    getrusage = SYS_getrusage, prctl = SYS_prctl, sched_yield = SYS_sched_yield,
    sched_setaffinity = SYS_sched_setaffinity, sched_getaffinity = SYS_sched_getaffinity,
    sched_setscheduler = SYS_sched_setscheduler, sched_setparam = SYS_sched_setparam,
    sched_setattr = SYS_sched_setattr, setpriority = SYS_setpriority, syslog = SYS_syslog,
    membarrier = SYS_membarrier, rseq = SYS_rseq, set_robust_list = SYS_set_robust_list,
    restart_syscall = SYS_restart_syscall,
    #[cfg(not(target_arch = "arm"))] mmap = SYS_mmap,
    #[cfg(not(target_arch = "arm"))] sync_file_range = SYS_sync_file_range,
    // The same by other numbers; rules know them by these names.
    #[cfg(target_arch = "arm")] mmap = SYS_mmap2,
    #[cfg(target_arch = "arm")] sync_file_range = SYS_arm_sync_file_range,
    #[cfg(target_arch = "x86_64")] open = SYS_open,
    #[cfg(target_arch = "x86_64")] creat = SYS_creat,
    #[cfg(target_arch = "x86_64")] stat = SYS_stat,
    #[cfg(target_arch = "x86_64")] lstat = SYS_lstat,
    #[cfg(target_arch = "x86_64")] access = SYS_access,
    #[cfg(target_arch = "x86_64")] unlink = SYS_unlink,
    #[cfg(target_arch = "x86_64")] rename = SYS_rename,
    #[cfg(target_arch = "x86_64")] readlink = SYS_readlink,
    #[cfg(target_arch = "x86_64")] poll = SYS_poll,
    #[cfg(target_arch = "x86_64")] select = SYS_select,
    #[cfg(target_arch = "x86_64")] epoll_wait = SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")] pause = SYS_pause,
    #[cfg(target_arch = "x86_64")] alarm = SYS_alarm,
    #[cfg(target_arch = "x86_64")] fork = SYS_fork,
    #[cfg(target_arch = "x86_64")] vfork = SYS_vfork,
    #[cfg(target_arch = "x86_64")] time = SYS_time,
    #[cfg(target_arch = "x86_64")] newfstatat = SYS_newfstatat,
    #[cfg(target_arch = "aarch64")] newfstatat = SYS_newfstatat,
}

/// Its name; `None` for one that is not in the table.
pub fn known_name(number: i64) -> Option<&'static str> {
    NAMES.iter().find(|(of, _)| *of == number).map(|(_, name)| *name)
}

/// Its name, or its number.
pub fn name(number: i64) -> String {
    known_name(number).map_or_else(|| format!("system call {number}"), String::from)
}

/// What a file descriptor stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenFile {
    /// A file on a disk, by its path.
    File(String),
    /// A terminal.
    Terminal(String),
    /// A timer; whether it is of a clock that can be set.
    Timer {
        /// `CLOCK_REALTIME`.
        settable: bool,
    },
    /// A socket, a pipe, a device, memory: what a loop may use.
    Other(String),
}

/// A system call that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: i64,
    /// Its arguments; pointers among them are addresses only.
    pub arguments: [u64; 6],
    /// What it returned.
    pub result: i64,
    /// When it began.
    pub at_ns: u64,
    /// How long it took.
    pub took_ns: u64,
    /// Of that, how long the thread waited.
    pub waited_ns: u64,
    /// What its first argument stands for, where that is a file descriptor that matters.
    pub file: Option<OpenFile>,
}

impl Call {
    /// Its name, where it is known.
    pub fn name(&self) -> Option<&'static str> {
        known_name(self.number)
    }

    /// Whether its name is one of these.
    pub fn is(&self, names: &[&str]) -> bool {
        self.name().is_some_and(|name| names.contains(&name))
    }

    /// The futex operation without its flags, and the flags.
    pub fn futex(&self) -> Option<(u64, u64)> {
        self.is(&["futex"]).then_some((self.arguments[1] & 0x7f, self.arguments[1] & !0x7f))
    }

    /// Whether the thread waits by it: for its next round, or for something to do.
    pub fn is_wait(&self) -> bool {
        let sleeps = ["nanosleep", "clock_nanosleep", "pause", "rt_sigsuspend", "rt_sigtimedwait", "restart_syscall"];
        self.is(&sleeps) || self.waited_ns > 0 && self.is(&WAITS)
    }
}

/// A thread that waits by one of these slept in it.
const WAITS: [&str; 28] = [
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "futex",
    "read",
    "readv",
    "pread64",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "accept4",
    "io_uring_enter",
    "io_getevents",
    "mq_timedreceive",
    "wait4",
    "waitid",
    "ioctl",
    "sched_yield",
    "preadv",
    "preadv2",
    "splice",
    "sendfile",
    "semop",
    "msgrcv",
];

/// Calls whose first argument is a file descriptor that matters: reads, writes, and what acts on files.
pub fn takes_file(number: i64) -> bool {
    const NAMES: [&str; 22] = [
        "read",
        "write",
        "pread64",
        "pwrite64",
        "readv",
        "writev",
        "preadv",
        "pwritev",
        "preadv2",
        "pwritev2",
        "fsync",
        "fdatasync",
        "sync_file_range",
        "ftruncate",
        "fallocate",
        "getdents64",
        "copy_file_range",
        "sendfile",
        "lseek",
        "fstat",
        "ioctl",
        "flock",
    ];
    known_name(number).is_some_and(|name| NAMES.contains(&name))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A call by its name.
    pub fn call(name: &str, arguments: [u64; 6]) -> Call {
        let number = NAMES.iter().find(|(_, of)| *of == name).unwrap_or_else(|| panic!("no call {name}")).0;
        Call { number, arguments, result: 0, at_ns: 1_000, took_ns: 500, waited_ns: 0, file: None }
    }

    #[test]
    fn numbers_have_names() {
        assert_eq!((name(libc::SYS_write), name(99_999)), ("write".into(), "system call 99999".into()));
        let mut numbers: Vec<i64> = NAMES.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), NAMES.len(), "each number once");
    }

    #[test]
    fn a_wait_is_a_call_in_which_the_thread_slept() {
        assert!(call("clock_nanosleep", [0; 6]).is_wait());
        assert!(!call("read", [0; 6]).is_wait());
        assert!(Call { waited_ns: 1, ..call("read", [0; 6]) }.is_wait());
        assert!(!Call { waited_ns: 1, ..call("write", [0; 6]) }.is_wait());
    }
}
