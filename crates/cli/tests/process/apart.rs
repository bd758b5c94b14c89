//! Which tests may run at the same time: those that keep a CPU or change settings run alone, others beside each other.
//!
//! Locked files hold between checkouts, too. Who waits to be alone comes before those who come later.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::thread;
use std::time::Instant;

use rustix::fs::{FlockOperation, flock};

/// Commands that start a real-time thread, and are refused a CPU that another one keeps.
const TIMED: [&str; 9] = ["latency", "prove", "pulse", "sample", "link", "switch", "run", "explain", "watch"];

enum Share {
    None,
    /// It keeps off nobody, whatever it starts.
    Unneeded,
    Beside {
        _machine: File,
    },
    Alone,
}

thread_local! {
    /// What the test of this thread has of the machine. Every test has a thread of its own.
    static SHARE: RefCell<Share> = const { RefCell::new(Share::None) };
}

/// Held by a test that changes settings of this machine or keeps a CPU.
pub struct Alone {
    since: Instant,
    _machine: File,
}

impl Alone {
    pub fn new() -> Self {
        // Two tests that both held a share would wait for each other.
        let had = SHARE.replace(Share::None);
        assert!(!matches!(had, Share::Alone), "this test is alone already, and would wait for itself");
        drop(had);
        let machine = locked(FlockOperation::LockExclusive);
        SHARE.with_borrow_mut(|share| *share = Share::Alone);
        Self { since: Instant::now(), _machine: machine }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _ = SHARE.try_with(|share| share.replace(Share::None));
        report(self.since);
    }
}

/// Appends for how long this test was alone to the file that `ONTICK_ALONE` names: the harness counts waiting, too.
fn report(since: Instant) {
    let Some(path) = std::env::var_os("ONTICK_ALONE") else { return };
    let line = format!("{:.1}\t{}\n", since.elapsed().as_secs_f64(), thread::current().name().unwrap_or_default());
    let _ = OpenOptions::new().append(true).create(true).open(path).map(|mut file| file.write_all(line.as_bytes()));
}

/// For a test whose commands keep no CPU and change no setting of the machine, though others of their name do: the kernel
/// itself forwards in a network namespace, say. It may run beside tests that are alone.
pub fn keeps_no_cpu() {
    SHARE.set(Share::Unneeded);
}

/// Waits until no other test is alone, if the command needs that; kept to the end of the test.
pub fn beside_others(arguments: &[&str]) {
    // Threads that a test starts have no name, and what the test has.
    let is_test = thread::current().name().is_some();
    if is_test && arguments.first().is_some_and(|command| TIMED.contains(command)) {
        beside();
    }
}

/// The same for a test that needs the machine's settings to stay as they are.
pub fn beside() {
    SHARE.with_borrow_mut(|share| {
        if matches!(share, Share::None) {
            *share = Share::Beside { _machine: locked(FlockOperation::LockShared) };
        }
    });
}

/// The same for a part of a test, which may go on beside tests that are alone.
pub fn part<T: Send>(part: impl FnOnce() -> T + Send) -> T {
    let of_this = || {
        beside();
        part()
    };
    // What a thread has of the machine it has to its end.
    thread::scope(|scope| scope.spawn(of_this).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn locked(how: FlockOperation) -> File {
    let _turn = lock_file("ontick-tests-turn.lock", FlockOperation::LockExclusive);
    lock_file("ontick-tests-of-settings.lock", how)
}

fn lock_file(name: &str, how: FlockOperation) -> File {
    let file = File::create(std::env::temp_dir().join(name)).expect("a lock file");
    flock(&file, how).expect("the lock");
    file
}
