//! `ontick sample` at rates too high to sleep in each period: others have the CPU all the same.

use std::time::{Duration, Instant};

use ontick_rt::cpus;
use ontick_rt::thread::set_affinity;
use rustix::time::{ClockId, clock_gettime};

use crate::{Restored, alone_on_this_machine, may_tune, ontick, run, stderr, stdout};

/// Nobody waits longer for a CPU that a loop keeps: a rest each tenth of a second, and what a busy host adds.
const LONGEST_WAIT: Duration = Duration::from_millis(400);
/// Of that CPU.
const LEAST_SHARE: f64 = 0.02;

/// What a thread of normal priority that always wants the CPU had beside sampling there, and what the run said of its rests.
fn beside_sampling(cpu: u32) -> (f64, Duration, String) {
    let place = cpu.to_string();
    let words = ["sample", "--rate", "100kHz", "--source", "wave:ramp", "--to", "tcp:127.0.0.1:0", "--duration", "3s"];
    let mut sampling = ontick(&[&words[..], &["--cpu", &place]].concat());
    let sampling = std::thread::spawn(move || sampling.output().unwrap());
    let busy = std::thread::spawn(move || {
        let had = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
        set_affinity(&[cpu]).unwrap();
        // Not while the program starts and ends.
        std::thread::sleep(Duration::from_millis(1_500));
        let (began, used) = (Instant::now(), had());
        let (mut last, mut longest) = (began, Duration::ZERO);
        while began.elapsed() < Duration::from_millis(1_500) {
            let now = Instant::now();
            longest = longest.max(now - last);
            last = now;
        }
        ((had() - used).as_secs_f64() / began.elapsed().as_secs_f64(), longest)
    });
    let ((share, longest), output) = (busy.join().unwrap(), sampling.join().unwrap());
    assert!(output.status.success(), "{}", stderr(&output));
    (share, longest, format!("{}{}", stdout(&output), stderr(&output)))
}

#[test]
fn a_thread_of_normal_priority_has_its_share_beside_sampling() {
    let _alone = alone_on_this_machine();
    if !run(&["run", "--", "true"]).status.success() {
        return ontick_skip::skipped!("no real-time scheduling");
    }
    let cpu = cpus::preferred();
    let judge = || {
        let (share, longest, said) = beside_sampling(cpu);
        assert!(share > LEAST_SHARE && longest < LONGEST_WAIT, "{share} of the CPU, {longest:?} without it: {said}");
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = judge();
    assert!(said.contains("the timed thread rests "), "{said}");
    if !may_tune() {
        return;
    }
    let _restored = Restored;
    let applied = run(&["tune", "apply", "rt-throttling", "rt-group-throttling"]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let said = judge();
    let may_count = !said.contains("programs of bpf(2) cannot be used") && !said.contains("real-time throttling is on");
    assert_eq!(said.contains("rests when another one wants its CPU"), may_count, "{said}");
}
