use super::*;

#[test]
fn the_cpu_of_a_loop_is_avoided_before_that_of_a_watchdog() {
    let state = |policy: i32, cpu: u32, sleeps: u64| ThreadState {
        policy: policy as u32,
        cpu,
        sleeps: Some(sleeps),
        ..ThreadState::default()
    };
    let (fifo, other) = (libc::SCHED_FIFO, libc::SCHED_OTHER);
    let states = [state(fifo, 0, 40), state(other, 2, 90_000), state(fifo, 1, 6_000), state(fifo, 0, 60)];
    assert_eq!(timed_cpus(&states), [1, 0]);
    assert_eq!(timed_cpus(&states[1..2]), [2], "none is real-time yet");
}

/// What is missing before anything counts is no gap in what was seen.
#[test]
fn what_went_unseen_is_added_up_once_a_thread_counts() {
    const SECOND: u64 = 1_000_000_000;
    let options = Options { duration: Duration::ZERO, after: Duration::from_secs(1), select: Select::All };
    let mut session = Session::new(std::process::id() as i32, "loop".into(), &options);
    // Nothing of this process is recorded.
    session.evidence = Evidence::Proc;
    let state = ThreadState { tid: 7, name: "loop".into(), ..ThreadState::default() };
    session.meet(state.clone(), true, SECOND);
    session.saw_nothing_for(900);
    assert_eq!((session.unseen_ns, session.gap_ns > 0), (0, true));
    session.meet(state, true, 3 * SECOND);
    session.saw_nothing_for(5_000);
    session.saw_nothing_for(6_000);
    assert_eq!(session.finish().unseen_ns, 11_000);
}
