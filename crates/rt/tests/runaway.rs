//! A real-time loop that never rests is demoted.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ontick_rt::clock::ClockId;
use ontick_rt::cpus;
use ontick_rt::thread::{Policy, Setup};
use ontick_rt::watchdog::Watchdog;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// One at a time: the limit of open files is the whole process's.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a job in a real-time thread, where there is another CPU and the right to.
fn in_real_time(job: impl FnOnce() + Send + 'static) {
    if cpus::online().len() < 2 {
        return ontick_skip::skipped!("a runaway loop on the only CPU would stop the test as well");
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let run = || {
        let ready = Setup::new().cpu(cpus::preferred()).policy(Policy::Fifo(1)).best_effort();
        match ready.refused().first() {
            Some(refusal) => ontick_skip::skipped!("{refusal}"),
            None => job(),
        }
    };
    std::thread::spawn(run).join().unwrap();
}

fn spins_until_demoted(watchdog: &Watchdog) -> bool {
    let end = ClockId::Monotonic.now_ns() + 30_000_000_000;
    while !watchdog.demoted() && ClockId::Monotonic.now_ns() < end {
        std::hint::spin_loop();
    }
    watchdog.demoted()
}

#[test]
fn a_runaway_loop_is_demoted_and_a_resting_one_is_not() {
    in_real_time(|| {
        let limit = Duration::from_millis(400);

        let watchdog = Watchdog::watch_this_thread(limit).unwrap();
        let end = ClockId::Monotonic.now_ns() + 1_500_000_000;
        while ClockId::Monotonic.now_ns() < end {
            let until = ClockId::Monotonic.now_ns() + 4_000_000;
            while ClockId::Monotonic.now_ns() < until {}
            ClockId::Monotonic.sleep_until(until + 2_000_000);
        }
        assert!(!watchdog.demoted(), "a loop that rests a third of the time has not run away");
        drop(watchdog);

        // Real-time throttling would make the loop rest, were it within reach of its 950 ms; a loop that is
        // not demoted ends here all the same.
        assert!(spins_until_demoted(&Watchdog::watch_this_thread(limit).unwrap()));
    });
}

#[test]
fn a_runaway_loop_is_demoted_also_where_its_process_can_open_no_file() {
    in_real_time(|| {
        let watchdog = Watchdog::watch_this_thread(Duration::from_millis(400)).unwrap();
        let before = getrlimit(Resource::Nofile);
        // The lowest number that is free, which is the next to be given.
        let free = File::open("/dev/null").unwrap().as_raw_fd() as u64;
        setrlimit(Resource::Nofile, Rlimit { current: Some(free), ..before }).unwrap();
        let opens = File::open("/dev/null").is_ok();
        let refused = Watchdog::watch_this_thread(Duration::from_millis(400)).map(drop);
        let demoted = spins_until_demoted(&watchdog);
        setrlimit(Resource::Nofile, before).unwrap();
        assert!(!opens && demoted, "a file could be opened: {opens}; demoted: {demoted}");
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(rustix::io::Errno::MFILE.raw_os_error()));
    });
}
