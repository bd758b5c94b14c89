//! System calls that this process will never need are refused from here on (seccomp(2)): whoever takes it over has less of
//! the kernel to try.
#![allow(unsafe_code)]

use std::io;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, c_long, sock_filter, sock_fprog,
};
use rustix::thread::set_no_new_privs;

/// What a process does later all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needed {
    /// It starts programs, which are refused the same calls.
    pub programs: bool,
    /// It loads programs into the kernel (bpf(2)).
    pub bpf: bool,
}

/// Never needed. Those that an architecture lacks are left out of its own list.
const NEVER: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // File systems, and files by other ways than their paths.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    // Namespaces; clone(2) has a rule of its own.
    libc::SYS_setns,
    libc::SYS_unshare,
    // The kernel, and the machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_personality,
    // Where most faults of the kernel were found that gave their finder all rights.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    #[cfg(target_pointer_width = "32")]
    CLOCK_SETTIME64,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    libc::SYS_kexec_file_load,
    #[cfg(any(target_arch = "riscv64", target_arch = "arm"))]
    KEXEC_FILE_LOAD,
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    libc::SYS_iopl,
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    libc::SYS_ioperm,
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    libc::SYS_modify_ldt,
];
/// clock_settime(2) with 64 bits, the same on all machines of 32.
#[cfg(target_pointer_width = "32")]
const CLOCK_SETTIME64: c_long = 404;
/// kexec_file_load(2), which libc does not name on each of these.
#[cfg(target_arch = "riscv64")]
const KEXEC_FILE_LOAD: c_long = 294;
#[cfg(target_arch = "arm")]
const KEXEC_FILE_LOAD: c_long = 401;
const PROGRAMS: &[c_long] = &[libc::SYS_execve, libc::SYS_execveat];
const BPF: &[c_long] = &[libc::SYS_bpf];

/// The architecture's number in `linux/audit.h`.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(all(target_arch = "arm", target_endian = "little")) {
    Some(0x4000_0028)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else if cfg!(target_arch = "x86") {
    Some(0x4000_0003)
} else {
    None
};
/// Calls of x32 have this bit in their number, and the architecture of others.
const X32: u32 = 0x4000_0000;
/// All that makes a namespace.
const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// Where a filter finds what it looks at (`struct seccomp_data`): the number, the architecture, and the half of the first
/// argument that has the flags of clone(2), on machines whose octets begin with the smallest.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const FLAGS_AT: u32 = 16;

const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
/// As if the kernel had no such call: a C library takes the older one instead.
const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// Has the kernel refuse, with EPERM and for good, what is never needed: to all threads of this process, and to all that they
/// start.
pub fn refuse(needed: Needed) -> io::Result<()> {
    install(needed, libc::SECCOMP_FILTER_FLAG_TSYNC)
}

/// The same to the calling thread alone, and to what it starts.
pub fn refuse_here(needed: Needed) -> io::Result<()> {
    install(needed, 0)
}

fn install(needed: Needed, flags: libc::c_ulong) -> io::Result<()> {
    let unsupported = || io::Error::new(io::ErrorKind::Unsupported, "no filter is known for this architecture");
    let mut filter = filter(ARCHITECTURE.ok_or_else(unsupported)?, needed);
    set_no_new_privs(true)?;
    let program = sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the program and its instructions live through the call, which copies them.
    match unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) } {
        0 => Ok(()),
        thread @ 1.. => Err(io::Error::other(format!("thread {thread} has another filter"))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The filter. What is allowed whatever its arguments are, the kernel finds in a table of its own since Linux 5.11, without
/// running this.
fn filter(architecture: u32, needed: Needed) -> Vec<sock_filter> {
    let mut filter = vec![load(ARCHITECTURE_AT)];
    filter.extend(unless(BPF_JEQ, architecture, REFUSED));
    filter.push(load(NUMBER_AT));
    if cfg!(target_arch = "x86_64") {
        filter.extend(answer(BPF_JGE, X32, REFUSED));
    }
    let programs = PROGRAMS.iter().filter(|_| !needed.programs);
    let bpf = BPF.iter().filter(|_| !needed.bpf);
    for number in NEVER.iter().chain(programs).chain(bpf) {
        filter.extend(answer(BPF_JEQ, *number as u32, REFUSED));
    }
    // Its flags are behind a pointer, where no filter can look.
    filter.extend(answer(BPF_JEQ, libc::SYS_clone3 as u32, UNKNOWN));
    filter.extend(unless(BPF_JEQ, libc::SYS_clone as u32, ALLOWED));
    filter.push(load(FLAGS_AT));
    filter.extend(answer(BPF_JSET, NAMESPACES, REFUSED));
    filter.push(returns(ALLOWED));
    filter
}

/// Takes a word of what the filter looks at.
fn load(at: u32) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: at }
}

fn returns(what: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: what }
}

/// Returns this where the word compares so with `k`.
fn answer(comparison: u32, k: u32, what: u32) -> [sock_filter; 2] {
    [sock_filter { code: (BPF_JMP | BPF_K) as u16 | comparison as u16, jt: 0, jf: 1, k }, returns(what)]
}

/// Returns this where it does not.
fn unless(comparison: u32, k: u32, what: u32) -> [sock_filter; 2] {
    [sock_filter { code: (BPF_JMP | BPF_K) as u16 | comparison as u16, jt: 1, jf: 0, k }, returns(what)]
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Runs a test of this module in a process of its own, which is the only one that a filter is for.
    fn alone(name: &str, check: fn()) {
        const ALONE: &str = "ONTICK_TEST_ALONE";
        if std::env::var_os(ALONE).is_some() {
            return check();
        }
        let mut test = Command::new(std::env::current_exe().unwrap());
        let output = test.args(["--exact", "--nocapture", &format!("system_calls::tests::{name}")]).env(ALONE, "1");
        let output = output.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("1 passed"), "{said}");
    }

    /// A field of /proc/self/task/TID/status, of each thread.
    fn of_threads(field: &str) -> Vec<String> {
        let of = |entry: io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(entry.unwrap().path().join("status")).unwrap();
            text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap().trim().to_owned()
        };
        std::fs::read_dir("/proc/self/task").unwrap().map(of).collect()
    }

    /// A call with arguments of zero: without a filter, none of them would be refused with EPERM to root.
    fn called(number: c_long, first: c_long) -> Option<i32> {
        // SAFETY: the calls of this module are refused before they look at an argument; null pointers would be faults.
        let result = unsafe { libc::syscall(number, first, 0, 0, 0, 0, 0) };
        (result < 0).then(|| io::Error::last_os_error().raw_os_error().unwrap())
    }

    fn stands(needed: Needed) -> bool {
        match refuse(needed) {
            Ok(()) => true,
            Err(error) => {
                ontick_skip::skipped!("no filter of system calls: {error}");
                false
            }
        }
    }

    #[test]
    fn what_is_never_needed_is_refused_in_all_threads_for_good() {
        alone("what_is_never_needed_is_refused_in_all_threads_for_good", || {
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let before = std::thread::spawn(move || {
                let _ = ended.recv();
                called(libc::SYS_setns, -1)
            });
            if !stands(Needed::default()) {
                return;
            }
            assert!(of_threads("Seccomp").iter().all(|mode| mode == "2"));
            assert!(of_threads("NoNewPrivs").iter().all(|set| set == "1"));
            for number in NEVER.iter().chain(PROGRAMS).chain(BPF) {
                assert_eq!(called(*number, -1), Some(libc::EPERM), "call {number}");
            }
            end.send(()).unwrap();
            assert_eq!(before.join().unwrap(), Some(libc::EPERM), "a thread that was there before");
            assert_eq!(called(libc::SYS_clone, libc::CLONE_NEWUSER.into()), Some(libc::EPERM));
            assert_eq!(called(libc::SYS_clone3, 0), Some(libc::ENOSYS));
            let refused = Command::new("/bin/true").status().unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EPERM), "{refused}");
            // What is needed works: threads, files, sockets, time.
            assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
            std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            assert!(tempfile::tempfile().is_ok());
        });
    }

    /// By the numbers of the kernel's tables: a name that is left out of the list would be missing from its test, too.
    #[test]
    fn no_other_kernel_is_started_by_either_call() {
        let numbers: &[c_long] = if cfg!(target_arch = "x86_64") {
            &[246, 320]
        } else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
            &[104, 294]
        } else if cfg!(target_arch = "arm") {
            &[347, 401]
        } else if cfg!(target_arch = "x86") {
            &[283]
        } else {
            &[]
        };
        assert!(numbers.iter().all(|number| NEVER.contains(number)), "{numbers:?}");
        let refused = std::thread::spawn(move || {
            refuse_here(Needed::default())
                .map(|()| numbers.iter().map(|number| called(*number, -1)).collect::<Vec<_>>())
        });
        match refused.join().unwrap() {
            Ok(refused) => assert!(refused.iter().all(|errno| *errno == Some(libc::EPERM)), "{refused:?}"),
            Err(error) => ontick_skip::skipped!("no filter of system calls: {error}"),
        }
    }

    #[test]
    fn one_thread_may_be_refused_them_alone() {
        let filtered = std::thread::spawn(|| {
            let stands = refuse_here(Needed::default());
            (stands.map_err(|error| error.to_string()), called(libc::SYS_setns, -1))
        });
        match filtered.join().unwrap() {
            (Ok(()), refused) => assert_eq!(refused, Some(libc::EPERM)),
            (Err(error), _) => return ontick_skip::skipped!("no filter of system calls: {error}"),
        }
        assert_eq!(called(libc::SYS_setns, -1), Some(libc::EBADF), "this thread is not filtered");
    }

    #[test]
    fn programs_start_where_they_are_needed_and_are_refused_the_same() {
        alone("programs_start_where_they_are_needed_and_are_refused_the_same", || {
            if !stands(Needed { programs: true, bpf: true }) {
                return;
            }
            let status = Command::new("/bin/cat").arg("/proc/self/status").output().unwrap();
            assert!(String::from_utf8_lossy(&status.stdout).contains("\nSeccomp:\t2\n"));
            assert_ne!(called(libc::SYS_bpf, -1), Some(libc::EPERM));
            assert_eq!(called(libc::SYS_unshare, 0), Some(libc::EPERM), "which would do nothing");
        });
    }

    #[test]
    fn another_architecture_is_refused_everything() {
        for needed in [Needed::default(), Needed { programs: true, bpf: true }] {
            let filter = filter(ARCHITECTURE.unwrap_or(1), needed);
            // Its word is loaded first, and what follows is skipped by the right one alone.
            assert_eq!((filter[0].k, filter[1].jt, filter[1].jf), (ARCHITECTURE_AT, 1, 0));
            assert_eq!((filter[2].k, filter[3].k), (REFUSED, NUMBER_AT));
            assert!(filter.len() < 4096, "BPF_MAXINSNS");
        }
    }
}
