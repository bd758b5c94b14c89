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
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

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

    /// Each writer fills its lines from the first to the last and empties them again in the same order: at any
    /// instant its lines are ones followed by zeros, or zeros followed by ones. Any mix of two instants that are
    /// further apart shows.
    #[test]
    fn a_snapshot_never_mixes_two_states(width in 2u32..=6, writers in 1u32..=3, slow in any::<bool>()) {
        let chip = Chip::new("mix");
        let names = chip.lines(0..width * writers);
        let mut group = Group::open(&names, &Request::input()).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..writers).map(|writer| {
                let names = &names[(writer * width) as usize..][..width as usize];
                let mut outs: Vec<Line> =
                    names.iter().map(|name| Line::open(name, &Request::output(false)).unwrap()).collect();
                scope.spawn(move || {
                    for turn in 0..200 {
                        for out in &mut outs {
                            out.write(turn % 2 == 0).unwrap();
                            if slow {
                                std::thread::yield_now();
                            }
                        }
                    }
                })
            }).collect();
            let reader = scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    match group.read() {
                        Ok(levels) => (0..writers).for_each(|writer| is_a_state(levels >> (writer * width), width)),
                        Err(busy) => assert_eq!(busy.0, Errno::AGAIN),
                    }
                }
                group.read()
            });
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            done.store(true, Ordering::Release);
            assert_eq!(reader.join().unwrap(), Ok(0), "when nobody writes, a read succeeds");
        });
    }
}

/// Ones from bit 0 on and zeros above, or the other way round.
fn is_a_state(levels: u64, width: u32) {
    let mask = (1u64 << width) - 1;
    let levels = levels & mask;
    let ones_first = levels & (levels + 1) == 0;
    let zeros_first = (!levels & mask) & ((!levels & mask) + 1) == 0;
    assert!(ones_first || zeros_first, "{levels:0width$b} never was", width = width as usize);
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
