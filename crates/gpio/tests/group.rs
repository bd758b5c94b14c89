//! Lines that are read at once.

use std::sync::atomic::{AtomicBool, Ordering};

use ontick_gpio::{Error, Group, Line, Name, Request, sim};
use proptest::prelude::*;
use rustix::io::Errno;

/// A chip that is gone after the test.
struct Chip(String);

impl Chip {
    fn new(test: &str) -> Self {
        Self(format!("group-{test}-{}", std::process::id()))
    }

    fn lines(&self, lines: impl IntoIterator<Item = u32>) -> Vec<Name> {
        lines.into_iter().map(|line| Name::Sim { chip: self.0.clone(), line }).collect()
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        let _ = sim::remove(&self.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_bit_is_the_line_at_its_place(levels in proptest::collection::vec(any::<bool>(), 1..=54), low in any::<bool>()) {
        let chip = Chip::new("bits");
        let names = chip.lines((0..levels.len() as u32).rev());
        let _outs: Vec<Line> =
            names.iter().zip(&levels).map(|(name, level)| Line::open(name, &Request::output(*level)).unwrap()).collect();
        let mut group = Group::open(&names, &Request::input().active_low(low)).unwrap();
        let wanted: u64 = levels.iter().enumerate().map(|(n, level)| u64::from(*level != low) << n).sum();
        prop_assert_eq!(group.read(), Ok(wanted));
    }

    /// Each writer passes a token round its lines, from the last to the first, and lets go of one line only when it
    /// has the next: at any instant one of its lines is high, or two neighbours. A look that goes from the first line
    /// to the last and is not caught in one instant meets none when the token passes it.
    #[test]
    fn a_snapshot_never_mixes_two_states(width in 2u32..=6, writers in 1u32..=3) {
        let chip = Chip::new("mix");
        let names = chip.lines(0..width * writers);
        let mut outs: Vec<Vec<Line>> = (0..writers).map(|writer| {
            let own = &names[(writer * width) as usize..][..width as usize];
            own.iter().enumerate().map(|(n, name)| Line::open(name, &Request::output(n == 0)).unwrap()).collect()
        }).collect();
        let mut group = Group::open(&names, &Request::input()).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let handles: Vec<_> = outs.iter_mut().map(|outs| scope.spawn(|| pass_round(outs, 300))).collect();
            let reader = scope.spawn(|| {
                let mut read = || match group.read() {
                    Ok(levels) => {
                        (0..writers).for_each(|writer| is_a_state(levels >> (writer * width), width));
                        true
                    }
                    Err(busy) => {
                        assert_eq!(busy.0, Errno::AGAIN);
                        false
                    }
                };
                while !done.load(Ordering::Acquire) {
                    read();
                }
                assert!(read(), "when nobody writes, a read succeeds");
            });
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            done.store(true, Ordering::Release);
            reader.join().unwrap();
        });
    }
}

fn pass_round(outs: &mut [Line], turns: u32) {
    let mut at = 0;
    for _ in 0..turns * outs.len() as u32 {
        let next = (at + outs.len() - 1) % outs.len();
        outs[next].write(true).unwrap();
        outs[at].write(false).unwrap();
        at = next;
        // Somebody who only looks must get a chance between two changes.
        (0..20).for_each(|_| std::hint::spin_loop());
    }
}

/// One line is high, or two neighbours (the last and the first are some too).
fn is_a_state(levels: u64, width: u32) {
    let high: Vec<u32> = (0..width).filter(|bit| levels >> bit & 1 == 1).collect();
    let is_one = match high[..] {
        [_] => true,
        [one, other] => other - one == 1 || (one == 0 && other == width - 1),
        _ => false,
    };
    assert!(is_one, "lines {high:?} of {width} were never high together");
}

#[test]
fn what_cannot_be_a_group_is_refused() {
    let chip = Chip::new("refuse");
    let open = |names: &[Name], request: Request| Group::open(names, &request).unwrap_err().to_string();
    let two = chip.lines([0, 1]);
    assert!(open(&two, Request::output(true)).contains("cannot be driven as a group"));
    assert!(open(&[], Request::input()).contains("a group without lines"));
    assert!(open(&chip.lines([1, 1]), Request::input()).contains("twice"));
    assert!(open(&[two[0].clone(), Name::Register(4)], Request::input()).contains("of one chip"));
    let error = Group::open(&chip.lines([53, 54]), &Request::input()).unwrap_err();
    assert!(matches!(error, Error::NoSuchLine { last: 53, .. }), "{error}");
}
