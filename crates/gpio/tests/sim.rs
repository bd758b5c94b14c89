//! Simulated lines as their users see them: several handles, threads and processes at one chip.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ontick_gpio::sim::{self, Wire};
use ontick_gpio::{Bias, Debounce, Edge, Edges, Error, Group, Line, Name, OnExit, Request};
use ontick_rt::clock::ClockId;

/// A chip that is gone after the test.
struct Chip(String);

impl Chip {
    fn new(test: &str) -> Self {
        Self(format!("test-{test}-{}", std::process::id()))
    }

    fn line(&self, line: u32) -> Name {
        Name::Sim { chip: self.0.clone(), line }
    }

    fn file(&self) -> PathBuf {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { shared.into() } else { std::env::temp_dir() };
        folder.join(format!("ontick-sim-{}-{}", rustix::process::geteuid().as_raw(), self.0))
    }

    fn wired(test: &str, wire: Wire) -> (Self, Name, Name) {
        let chip = Self::new(test);
        let (from, to) = (chip.line(4), chip.line(17));
        sim::wire(&from, &to, wire).unwrap();
        (chip, from, to)
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        let _ = sim::remove(&self.0);
    }
}

fn soon() -> u64 {
    ClockId::Monotonic.now_ns() + Duration::from_secs(20).as_nanos() as u64
}

#[test]
fn a_wire_carries_the_level_both_ways_at_different_times() {
    let (_chip, a, b) = Chip::wired("carry", Wire::default());
    let mut out = Line::open(&a, &Request::output(true).on_exit(OnExit::Input)).unwrap();
    let mut input = Line::open(&b, &Request::input()).unwrap();
    assert!(input.read().unwrap());
    out.write(false).unwrap();
    assert!(!input.read().unwrap());
    drop((out, input));

    let mut input = Line::open(&a, &Request::input()).unwrap();
    let mut out = Line::open(&b, &Request::output(true)).unwrap();
    assert!(input.read().unwrap() && out.read().unwrap());
}

#[test]
fn bias_and_active_low_act_as_on_a_board() {
    let chip = Chip::new("bias");
    let mut line = Line::open(&chip.line(0), &Request::input().bias(Bias::PullUp)).unwrap();
    assert!(line.read().unwrap());
    drop(line);
    let mut line = Line::open(&chip.line(0), &Request::input().active_low(true)).unwrap();
    assert!(!line.read().unwrap());

    let (_chip, a, b) = Chip::wired("low", Wire::default());
    let mut out = Line::open(&a, &Request::output(true).active_low(true)).unwrap();
    let wanted = Request::input().edges(Edges::Rising).active_low(true);
    let mut input = Line::open(&b, &wanted).unwrap();
    assert!(input.read().unwrap());
    out.write(false).unwrap();
    out.write(true).unwrap();
    let edge = input.edge(soon()).unwrap().unwrap();
    assert!(edge.rising);
    assert_eq!(input.edge(0).unwrap(), None);
}

#[test]
fn every_edge_is_notified_in_order_with_its_time() {
    let (_chip, a, b) = Chip::wired("order", Wire::default());
    let mut out = Line::open(&a, &Request::output(false)).unwrap();
    let mut input = Line::open(&b, &Request::input().edges(Edges::Both)).unwrap();
    let mut last_ns = ClockId::Monotonic.now_ns() - 1_000_000;
    for n in 0..1000 {
        out.write(n % 2 == 0).unwrap();
    }
    for n in 0..1000 {
        let edge = input.edge(soon()).unwrap().unwrap();
        assert_eq!((edge.rising, edge.lost), (n % 2 == 0, 0));
        assert!(edge.time_ns >= last_ns);
        last_ns = edge.time_ns;
    }
    assert_eq!(input.edge(0).unwrap(), None);
}

#[test]
fn edges_that_nobody_took_in_time_are_counted() {
    let (_chip, a, b) = Chip::wired("behind", Wire::default());
    let mut out = Line::open(&a, &Request::output(false)).unwrap();
    for (edges, share) in [(Edges::Both, 1), (Edges::Rising, 2), (Edges::Falling, 2)] {
        let mut input = Line::open(&b, &Request::input().edges(edges)).unwrap();
        // Also more than the line's word counts.
        let written = if edges == Edges::Falling { (2 << 20) + 10_000 } else { 10_000u32 };
        for n in 0..written {
            out.write(n % 2 == 0).unwrap();
        }
        let (mut taken, mut lost) = (0, 0);
        while let Some(edge) = input.edge(0).unwrap() {
            taken += 1;
            lost += edge.lost;
        }
        assert!(lost > 0, "{edges}");
        assert_eq!(taken + lost, written / share, "{edges}");
    }
}

#[test]
fn short_pulses_raise_no_notification_but_are_seen_by_polling() {
    let seconds_ns = u32::MAX;
    let (_chip, a, b) = Chip::wired("short", Wire { dead_time_ns: seconds_ns, ..Wire::default() });
    let mut out = Line::open(&a, &Request::output(false)).unwrap();
    let mut input = Line::open(&b, &Request::input().edges(Edges::Both)).unwrap();
    out.write(true).unwrap();
    assert!(input.edge(soon()).unwrap().unwrap().rising);
    for n in 0..7 {
        out.write(n % 2 == 1).unwrap();
        assert_eq!(input.read().unwrap(), n % 2 == 1);
    }
    assert_eq!(input.edge(0).unwrap(), None, "all followed too closely");
    sim::wire(&a, &b, Wire::default()).unwrap();
    out.write(true).unwrap();
    let edge = input.edge(soon()).unwrap().unwrap();
    assert_eq!((edge.rising, edge.lost), (true, 7), "they are counted when the next is notified");
}

/// Polling and notification see the same line: what was swallowed is missing for both, and the rest for neither.
#[test]
fn a_swallowed_pulse_is_missed_by_all_who_look() {
    for delay_ns in [0, 1_000] {
        let lossy = Wire { loss_ppm: 200_000, delay_ns, ..Wire::default() };
        let (_chip, a, b) = Chip::wired(&format!("loss-{delay_ns}"), lossy);
        let mut out = Line::open(&a, &Request::output(false)).unwrap();
        let mut reported = Line::open(&b, &Request::input().edges(Edges::Both)).unwrap();
        let mut polled = Line::open(&b, &Request::input()).unwrap();
        let (mut before, mut changes, mut edges) = (false, Vec::new(), Vec::new());
        for n in 0..1000 {
            out.write(n % 2 == 0).unwrap();
            let written_ns = ClockId::Monotonic.now_ns();
            // An edge's clock may be off by a microsecond.
            while delay_ns > 0 && ClockId::Monotonic.now_ns() < written_ns + u64::from(delay_ns) + 20_000 {}
            let level = polled.read().unwrap();
            if level != before {
                changes.push(level);
                before = level;
            }
            while let Some(edge) = reported.edge(0).unwrap() {
                assert_eq!(edge.lost, 0);
                edges.push(edge.rising);
            }
        }
        assert_eq!(changes, edges);
        assert!((600..1000).contains(&changes.len()), "{} edges of 1000", changes.len());
    }
}

#[test]
fn a_swallowed_pulse_is_not_among_those_that_are_counted_as_lost() {
    let (_chip, a, b) = Chip::wired("loss-behind", Wire { loss_ppm: 100_000, ..Wire::default() });
    let seen = |written: u32| {
        let mut out = Line::open(&a, &Request::output(false)).unwrap();
        let mut input = Line::open(&b, &Request::input().edges(Edges::Rising)).unwrap();
        let (mut taken, mut lost, mut polled) = (0, 0, 0);
        for n in 0..written {
            out.write(n % 2 == 0).unwrap();
            polled += u32::from(input.read().unwrap());
        }
        while let Some(edge) = input.edge(0).unwrap() {
            taken += 1;
            lost += edge.lost;
        }
        (taken, lost, polled)
    };
    let (taken, lost, polled) = seen(20_000);
    assert!(lost > 0 && polled < 9_500);
    assert_eq!(taken + lost, polled);
}

#[test]
fn a_slow_wire_delivers_late_and_says_when() {
    let delay_ns = 2_000_000;
    let (_chip, a, b) = Chip::wired("slow", Wire { delay_ns, ..Wire::default() });
    let mut out = Line::open(&a, &Request::output(false)).unwrap();
    let mut input = Line::open(&b, &Request::input().edges(Edges::Rising)).unwrap();
    let before_ns = ClockId::Monotonic.now_ns();
    out.write(true).unwrap();
    let edge = input.edge(soon()).unwrap().unwrap();
    let now_ns = ClockId::Monotonic.now_ns();
    assert!(now_ns >= before_ns + u64::from(delay_ns));
    // The clock of an edge may be off by a microsecond: see ontick_rt::clock.
    assert!((before_ns + u64::from(delay_ns) - 10_000..=now_ns + 10_000).contains(&edge.time_ns));
    assert!(input.read().unwrap());
}

#[test]
fn a_line_in_use_says_by_whom() {
    let chip = Chip::new("owner");
    let line = chip.line(3);
    let _own = Line::open(&line, &Request::output(true)).unwrap();
    let error = Line::open(&line, &Request::output(false)).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&format!("(process {})", std::process::id())), "{error}");
}

#[test]
fn an_output_is_left_as_was_asked() {
    let (chip, a, b) = Chip::wired("left", Wire::default());
    let mut input = Line::open(&b, &Request::input().bias(Bias::PullUp)).unwrap();
    for (first, left, level) in [
        (true, OnExit::Keep, true),
        (true, OnExit::Low, false),
        (false, OnExit::High, true),
        (false, OnExit::Input, true),
    ] {
        drop(Line::open(&a, &Request::output(first).on_exit(left)).unwrap());
        assert_eq!(input.read().unwrap(), level, "{left}");
        assert!(sim::line_states(&chip.0).unwrap()[4].owner.is_none());
    }
}

#[test]
fn a_look_at_a_driven_line_leaves_it_driven() {
    let (_chip, a, b) = Chip::wired("as-is", Wire::default());
    drop(Line::open(&a, &Request::output(true)).unwrap());
    let read = |name, request: &Request| Line::open(name, request).unwrap().read().unwrap();
    assert!(read(&a, &Request::as_is()) && read(&b, &Request::as_is()));
    assert!(!read(&a, &Request::as_is().active_low(true)));
    assert!(!read(&a, &Request::input()), "an input is driven no more");
}

#[test]
fn a_line_that_is_taken_as_it_is_has_no_edges_and_no_bias() {
    let chip = Chip::new("as-is-only");
    let request = Request::as_is();
    for wanted in [request.edges(Edges::Both), request.bias(Bias::PullUp), request.bias(Bias::Disabled)] {
        let error = Line::open(&chip.line(1), &wanted).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains("open it as an input"), "{error}");
        let error = Group::open(&[chip.line(1), chip.line(2)], &wanted).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }
    Line::open(&chip.line(1), &request).unwrap();
}

#[test]
fn what_is_wrong_is_one_sentence() {
    let chip = Chip::new("wrong");
    let error = Line::open(&chip.line(99), &Request::input()).unwrap_err().to_string();
    assert!(error.ends_with("the chip has lines 0 to 53"), "{error}");
    // No chip was made for such a line.
    let file = chip.file();
    assert!(!file.exists());
    drop(Line::open(&chip.line(1), &Request::input()).unwrap());
    let mut whole = std::fs::read(&file).unwrap();
    whole[8] = 77;
    std::fs::File::create(&file).unwrap().write_all(&whole).unwrap();
    let error = Line::open(&chip.line(1), &Request::input()).unwrap_err().to_string();
    assert!(error.contains("has layout version 77") && error.contains("remove sim:"), "{error}");
    std::fs::write(&file, "something else").unwrap();
    let error = Line::open(&chip.line(1), &Request::input()).unwrap_err().to_string();
    assert!(error.contains("is not a chip of this version"), "{error}");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/null", &file).unwrap();
    let error = Line::open(&chip.line(1), &Request::input()).unwrap_err().to_string();
    assert!(error.contains("cannot be opened"), "{error}");
}

#[test]
fn what_is_no_chips_name_names_no_file() {
    let user = rustix::process::geteuid().as_raw();
    let (place, folder) = (tempfile::tempdir().unwrap(), format!("test-way-{}", std::process::id()));
    let victim = place.path().join("victim");
    std::fs::write(&victim, "somebody's").unwrap();
    let way = format!("/dev/shm/ontick-sim-{user}-{folder}");
    if std::fs::create_dir(&way).is_err() {
        return;
    }
    let long = "x".repeat(33);
    for chip in [&format!("{folder}/../../..{}", victim.display()), "", "..", "a b", &long] {
        let line = Name::Sim { chip: chip.into(), line: 1 };
        let refused = [
            sim::remove(chip).unwrap_err(),
            sim::line_states(chip).unwrap_err(),
            sim::wires(chip).unwrap_err(),
            sim::unwire(&line).unwrap_err(),
            Line::open(&line, &Request::input()).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, Error::Name(_)) && error.to_string().contains("1 to 32 letters"), "{error}");
        }
    }
    std::fs::remove_dir(&way).unwrap();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "somebody's");
}

#[test]
fn a_chip_of_an_earlier_version_is_made_anew_once_nobody_has_it_open() {
    let chip = Chip::new("earlier");
    let in_use = Line::open(&chip.line(1), &Request::output(true)).unwrap();
    let file = chip.file();
    let whole = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    whole.write_all_at(&[1], 8).unwrap();
    let error = Line::open(&chip.line(1), &Request::input()).unwrap_err().to_string();
    assert!(error.contains("has layout version 1"), "{error}");
    drop(in_use);
    Line::open(&chip.line(1), &Request::input()).unwrap();
}

#[test]
fn a_thread_that_sleeps_is_woken_through_another_mapping() {
    let (_chip, a, b) = Chip::wired("wake", Wire::default());
    let mut input = Line::open(&b, &Request::input().edges(Edges::Both)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut out = Line::open(&a, &Request::output(false)).unwrap();
            for n in 0..200 {
                out.write(n % 2 == 0).unwrap();
                std::thread::yield_now();
            }
        });
        for n in 0..200 {
            let edge = input.edge(soon()).unwrap().unwrap();
            assert_eq!((edge.rising, edge.lost), (n % 2 == 0, 0));
        }
    });
}

/// All edges that are there: whether each rises, and how many were lost.
fn taken(input: &mut Line) -> (Vec<bool>, u32) {
    let edges: Vec<_> = std::iter::from_fn(|| input.edge(0).unwrap()).collect();
    (edges.iter().map(|edge| edge.rising).collect(), edges.iter().map(|edge| edge.lost).sum())
}

#[test]
fn whichever_end_of_a_wire_is_driven_later_none_of_its_edges_is_lost() {
    let (_chip, a, b) = Chip::wired("later", Wire::default());
    for (watched, driven) in [(&a, &a), (&a, &b), (&b, &a), (&b, &b)] {
        let mut input = Line::open(watched, &Request::input().edges(Edges::Both)).unwrap();
        let mut looked = Line::open(watched, &Request::input().edges(Edges::Both)).unwrap();
        assert_eq!(looked.edge(0).unwrap(), None);
        let mut out = Line::open(driven, &Request::output(true).on_exit(OnExit::Input)).unwrap();
        out.write(false).unwrap();
        out.write(true).unwrap();
        out.write(false).unwrap();
        assert_eq!(taken(&mut looked), (vec![true, false, true, false], 0), "{watched} sees {driven}");
        // It drives the line no more when somebody looks.
        drop(out);
        assert_eq!(taken(&mut input), (vec![true, false, true, false], 0), "{watched} sees {driven}");
    }
}

#[test]
fn edges_of_both_ends_are_seen_where_one_is_driven_after_the_other() {
    let (_chip, a, b) = Chip::wired("in-turn", Wire::default());
    for watched in [&a, &b] {
        let mut input = Line::open(watched, &Request::input().edges(Edges::Both)).unwrap();
        let mut seen = Vec::new();
        for looks in [true, false] {
            for driven in [&a, &b] {
                let mut out = Line::open(driven, &Request::output(true).on_exit(OnExit::Input)).unwrap();
                out.write(false).unwrap();
                if looks {
                    seen.extend(taken(&mut input).0);
                }
            }
        }
        let mut out = Line::open(&a, &Request::output(true)).unwrap();
        let (left, lost) = taken(&mut input);
        seen.extend(left);
        let pulses = seen.chunks(2).filter(|pulse| *pulse == [true, false]).count();
        assert_eq!((seen.len(), pulses, lost), (9, 4, 0), "{watched}: {seen:?}");
        out.write(false).unwrap();
    }
}

#[test]
fn edges_of_an_end_that_is_not_heard_are_none_of_the_line() {
    let (_chip, a, b) = Chip::wired("unheard", Wire::default());
    let mut input = Line::open(&b, &Request::input().edges(Edges::Both)).unwrap();
    let mut far = Line::open(&a, &Request::output(false)).unwrap();
    let mut near = Line::open(&b, &Request::output(false).on_exit(OnExit::Input)).unwrap();
    far.write(true).unwrap();
    near.write(true).unwrap();
    assert_eq!(taken(&mut input), (vec![true], 0), "what drives the line itself");
    drop(near);
    assert_eq!(taken(&mut input), (vec![], 0));
    far.write(false).unwrap();
    assert_eq!(taken(&mut input), (vec![false], 0));
}

#[test]
fn who_sleeps_at_one_end_of_a_wire_is_woken_soon_when_the_other_is_driven() {
    let (_chip, a, b) = Chip::wired("soon", Wire::default());
    for watched in [&a, &b] {
        let mut input = Line::open(watched, &Request::input().edges(Edges::Rising)).unwrap();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(move || input.edge(soon()).unwrap().map(|edge| (edge.rising, edge.lost)));
            std::thread::sleep(Duration::from_millis(50));
            let began = std::time::Instant::now();
            let mut out = Line::open(&a, &Request::output(true).on_exit(OnExit::Input)).unwrap();
            assert_eq!(sleeper.join().unwrap(), Some((true, 0)), "{watched}");
            assert!(began.elapsed() < Duration::from_secs(10), "{watched}");
            out.write(false).unwrap();
        });
    }
}

fn debounce(ns: u64) -> Option<Debounce> {
    Some(Debounce::from_ns(ns).unwrap())
}

#[test]
fn a_debounced_line_shows_a_level_once_it_has_lasted() {
    let (_chip, a, b) = Chip::wired("debounced", Wire::default());
    let mut out = Line::open(&a, &Request::output(false)).unwrap();
    const PERIOD_NS: u64 = 50_000_000;
    let wanted = Request::input().edges(Edges::Both);
    let mut own = Line::open(&b, &wanted).unwrap();
    let mut input = Line::open(&b, &wanted.debounce(debounce(PERIOD_NS))).unwrap();
    let mut read = Line::open(&b, &Request::input().debounce(debounce(PERIOD_NS))).unwrap();
    for n in 0..9 {
        out.write(n % 2 == 0).unwrap();
    }
    // However long this thread was stopped in between, what is seen follows from the times of the edges.
    let driven: Vec<Edge> = std::iter::from_fn(|| own.edge(0).unwrap()).collect();
    assert_eq!(driven.len(), 9);
    let (mut level, mut expected) = (false, Vec::new());
    for (n, edge) in driven.iter().enumerate() {
        let lasts = driven.get(n + 1).is_none_or(|next| next.time_ns - edge.time_ns >= PERIOD_NS);
        if lasts && edge.rising != level {
            level = edge.rising;
            expected.push(Edge { time_ns: edge.time_ns + PERIOD_NS, ..*edge });
        }
    }
    let (read_early, early_ns) = (read.read().unwrap(), ClockId::Monotonic.now_ns());
    assert!(!read_early || early_ns >= expected[0].time_ns);
    for edge in &expected {
        assert_eq!(input.edge(soon()).unwrap(), Some(*edge));
    }
    assert!(input.read().unwrap() && read.read().unwrap());
    // A pulse that is long enough, and of which only one edge is wanted.
    let mut falling = Line::open(&b, &Request::input().edges(Edges::Falling).debounce(debounce(1_000))).unwrap();
    for level in [false, true] {
        out.write(level).unwrap();
        ontick_rt::clock::sleep_for(2_000_000);
    }
    let edge = falling.edge(soon()).unwrap().unwrap();
    assert!(!edge.rising);
    assert_eq!(falling.edge(0).unwrap(), None);
    assert!(falling.read().unwrap());
}

#[test]
fn edges_that_a_filter_holds_are_notified_by_the_time_alone() {
    let (_chip, a, b) = Chip::wired("timer", Wire::default());
    let mut out = Line::open(&a, &Request::output(false)).unwrap();
    let mut input = Line::open(&b, &Request::input().edges(Edges::Both).debounce(debounce(3_000_000))).unwrap();
    out.write(true).unwrap();
    // Nothing else happens on the line: the wait ends when the level counts.
    let edge = input.edge(soon()).unwrap().unwrap();
    assert!(edge.rising && ClockId::Monotonic.now_ns() >= edge.time_ns);
    assert_eq!(input.edge(ClockId::Monotonic.now_ns() + 10_000_000).unwrap(), None);
}

#[test]
fn a_debounced_line_follows_who_drives_it() {
    let chip = Chip::new("hands");
    let line = chip.line(3);
    let mut out = Line::open(&line, &Request::output(true).on_exit(OnExit::Input)).unwrap();
    out.write(true).unwrap();
    let mut input = Line::open(&line, &Request::input().debounce(debounce(1_000))).unwrap();
    assert!(input.read().unwrap());
    drop(out);
    // Nobody drives it any more, and no edge tells of that.
    assert!(
        !input.read().unwrap() || {
            ontick_rt::clock::sleep_for(1_000_000);
            !input.read().unwrap()
        }
    );
}

/// The edge was there before the line was opened, and comes through after.
#[test]
fn a_level_that_is_on_its_way_counts_too() {
    let (_chip, a, b) = Chip::wired("on-its-way", Wire { delay_ns: 300_000_000, ..Wire::default() });
    let mut out = Line::open(&a, &Request::output(false)).unwrap();
    out.write(true).unwrap();
    let mut input = Line::open(&b, &Request::input().edges(Edges::Both).debounce(debounce(1_000))).unwrap();
    // Where this thread was stopped for so long that it has come already, it counted from the start.
    assert!(input.read().unwrap() || input.edge(soon()).unwrap().unwrap().rising);
    assert!(input.read().unwrap());
}

#[test]
fn only_inputs_that_something_can_filter_are_debounced() {
    let chip = Chip::new("no-filter");
    let refused = |request: Request| Line::open(&chip.line(0), &request).unwrap_err().to_string();
    for request in [Request::output(false), Request::as_is()] {
        let said = refused(request.debounce(debounce(1_000)));
        assert!(said.ends_with("simulated lines cannot be debounced but as inputs: open it as an input"), "{said}");
    }
    let lines = [chip.line(0), chip.line(1)];
    let said = Group::open(&lines, &Request::input().debounce(debounce(1_000))).unwrap_err().to_string();
    assert!(said.contains("cannot be debounced as a group"), "{said}");
}
