//! Lines that are driven together, on simulated chips.

use ontick_gpio::{Backend, Direction, Edges, Error, Group, Line, Name, OnExit, Outputs, Request, sim};
use rustix::time::{ClockId, clock_gettime};

/// A chip of the test's own.
struct Chip(String);

impl Chip {
    fn new(test: &str) -> Self {
        Self(format!("outputs-{test}-{}", std::process::id()))
    }

    fn line(&self, line: u32) -> Name {
        Name::Sim { chip: self.0.clone(), line }
    }

    fn lines<const N: usize>(&self, lines: [u32; N]) -> [Name; N] {
        lines.map(|line| self.line(line))
    }

    /// Level and whether it is driven.
    fn state(&self, line: usize) -> (bool, bool) {
        let line = &sim::line_states(&self.0).unwrap()[line];
        (line.level, line.driven)
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        let _ = sim::remove(&self.0);
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn what_is_written_at_once_has_one_time_and_other_lines_stay() {
    let (chip, other) = (Chip::new("once"), Chip::new("other"));
    let [four, five, six] = chip.lines([4, 5, 6]);
    let names = [four.clone(), other.line(5), five, six];
    let mut outputs = Outputs::open(&names, 0b1001, &Request::output(false)).unwrap();
    assert_eq!(Group::open(&chip.lines([4, 5, 6]), &Request::as_is()).unwrap().read().unwrap(), 0b101);
    let edges = |name: &Name| Line::open(name, &Request { edges: Edges::Both, ..Request::input() }).unwrap();
    let mut seen = names.each_ref().map(edges);
    outputs.write(0b0110, 0b0111).unwrap();
    let edge = |line: &mut Line| line.edge(now_ns()).unwrap().map(|edge| (edge.rising, edge.time_ns));
    let [a, b, c, d] = seen.each_mut().map(edge);
    let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
    assert_eq!((a.0, b.0, c.0, d), (false, true, true, None), "the last is not among those that change");
    assert_eq!((a.1, b.1), (c.1, c.1));
    assert_eq!((outputs.names(), outputs.backends()), (&names[..], vec![Backend::Simulated]));
}

#[test]
fn levels_are_the_users_and_lines_are_left_as_asked() {
    let chip = Chip::new("left");
    let names = chip.lines([4, 5]);
    for (on_exit, left) in [
        (OnExit::Keep, [(true, true), (false, true)]),
        (OnExit::High, [(false, true), (false, true)]),
        (OnExit::Low, [(true, true), (true, true)]),
        (OnExit::Input, [(false, false), (false, false)]),
    ] {
        let request = Request { direction: Direction::AsIs, ..Request::input() }.active_low(true).on_exit(on_exit);
        let mut outputs = Outputs::open(&names, 0b01, &request).unwrap();
        assert_eq!([chip.state(4).0, chip.state(5).0], [false, true], "{on_exit}");
        outputs.write(0b10, 0b11).unwrap();
        assert_eq!([chip.state(4).0, chip.state(5).0], [true, false], "{on_exit}");
        drop(outputs);
        assert_eq!([chip.state(4), chip.state(5)], left, "{on_exit}");
    }
}

#[test]
fn no_line_is_driven_where_one_cannot_be_had() {
    let chip = Chip::new("refused");
    let names = chip.lines([4, 5]);
    let held = Line::open(&names[1], &Request::output(true)).unwrap();
    let error = Outputs::open(&names, 0b11, &Request::output(false)).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    assert_eq!(chip.state(4), (false, false));
    drop(held);
    let refused = |names: &[Name]| Outputs::open(names, 0, &Request::output(false)).unwrap_err().to_string();
    assert!(refused(&chip.lines([4, 5, 4])).ends_with("/4: is to be driven twice"));
    assert!(refused(&[]).contains("no line is named"));
    let many: Vec<Name> = (0..65).map(|n| Name::Sim { chip: format!("{}{}", chip.0, n / 50), line: n % 50 }).collect();
    assert!(refused(&many).contains("at most 64"));
}
