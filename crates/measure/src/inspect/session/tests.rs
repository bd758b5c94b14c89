use super::super::Select;
use super::*;

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

/// It is still there, and nothing is known of it.
#[test]
fn a_thread_that_began_too_shortly_before_the_end_is_left_out() {
    let options = Options { duration: Duration::ZERO, after: Duration::from_secs(1), select: Select::All };
    for lives in [true, false] {
        let mut session = Session::new(std::process::id() as i32, "loop".into(), &options);
        session.evidence = Evidence::Proc;
        let state = ThreadState { tid: 7, name: "servo".into(), ..ThreadState::default() };
        session.there = if lives { vec![(7, state.started)] } else { Vec::new() };
        session.meet(state, true, 1_000);
        let found = session.finish();
        assert_eq!(found.left_out, u64::from(lives));
        let why = if lives { "too shortly before the end: servo" } else { "they ended too early: servo" };
        assert!(found.notes.iter().any(|note| note.ends_with(why)), "{:?}", found.notes);
    }
}
