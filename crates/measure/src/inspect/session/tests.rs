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
