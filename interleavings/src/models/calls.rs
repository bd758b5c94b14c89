//! Threads that take turns.

use std::sync::Arc;

use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::sources::measure::{calls::Calls, leave::Leave};

/// As the program's are: a ring that comes first is not lost.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    sleeper: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.sleeper.notify_one();
    }

    fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.sleeper.wait(rung).unwrap();
        }
        *rung = false;
    }
}

pub fn wake_up_calls() {
    const CALLS: u64 = 3;
    let (calls, bell) = (Arc::new(Calls::default()), Arc::new(Bell::default()));
    let waker = thread::spawn({
        let (calls, bell) = (calls.clone(), bell.clone());
        move || {
            let mut rung = 0;
            for number in 1..=CALLS {
                if calls.call(|| number) {
                    bell.ring();
                    rung += 1;
                }
            }
            rung
        }
    });
    // The first call always rings.
    bell.wait();
    let (called, mut left_out) = calls.answer();
    assert_eq!(called, 1);
    let rung = waker.join().unwrap();
    let (called, rest) = calls.answer();
    left_out += rest;
    assert!(
        if rung == 2 { (2..=CALLS).contains(&called) } else { called == 0 },
        "{rung} rung, the last call: {called}"
    );
    assert_eq!(rung + left_out, CALLS);
}

pub fn leave() {
    let leave = Arc::new(Leave::default());
    let responder = thread::spawn({
        let leave = leave.clone();
        // Asked again where the answer was no.
        move || leave.to_rest(100) || leave.to_rest(100)
    });
    let measured = leave.to_stimulate(50);
    let rested = responder.join().unwrap();
    match measured {
        Ok(()) => assert!(!rested, "measured while it rests"),
        Err(until_ns) => assert_eq!(until_ns, 100),
    }
}
