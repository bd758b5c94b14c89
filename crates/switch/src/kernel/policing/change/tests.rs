use std::cell::{Cell, RefCell};

use ontick_tsn::config;

use super::*;
use crate::ethtool::mac_merge;
use crate::features::Features;
use crate::kernel::paper::{PAPER, Paper, refused};
use crate::kernel::{plan, regate};

/// A machine on paper whose filters at the ways in are put and taken.
struct Machine {
    /// Port, preference and the rest of the command of each.
    filters: RefCell<Vec<(String, u16, String)>>,
    /// Acts until one is refused.
    left: Cell<usize>,
    /// Which sizes frames of each kind were held to, after each act.
    held_to: RefCell<Vec<Vec<Option<u32>>>>,
    /// A port that is not there.
    gone: Cell<&'static str>,
}

/// Frames of the streams below, by their source: of the specific one, of the general one, of a port's own.
const FROM: [&str; 2] = ["02:00:00:00:00:07", "02:00:00:00:00:08"];

impl Machine {
    fn new(plan: &Plan) -> Self {
        let machine = Self {
            filters: RefCell::default(),
            left: Cell::new(usize::MAX),
            held_to: RefCell::default(),
            gone: Cell::new(""),
        };
        for act in plan.steps.iter().flat_map(|step| &step.acts).filter(|act| act.to_string().contains(" ingress ")) {
            machine.act(act).unwrap();
        }
        machine.held_to.borrow_mut().clear();
        machine
    }

    fn sizes(&self) -> Vec<Option<u32>> {
        let mut filters = self.filters.borrow().clone();
        filters.sort_by_key(|(_, preference, _)| *preference);
        let size = |(port, from): (&str, &str)| {
            let fits = |(at, _, words): &&(String, u16, String)| {
                at == port && (!words.contains("src_mac") || words.contains(&format!("src_mac {from}")))
            };
            let (_, _, words) = filters.iter().find(fits)?;
            words.split("mtu ").nth(1)?.split(' ').next()?.parse().ok()
        };
        ["a", "b"].into_iter().flat_map(|port| FROM.map(|from| (port, from))).map(size).collect()
    }
}

impl Host for Machine {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        match argv {
            ["tc", "-s", "-j", "qdisc", ..] => {
                Ok(r#"[{"kind":"noqueue","handle":"0:","root":true},{"kind":"clsact","handle":"ffff:"}]"#.into())
            }
            ["tc", "-j", "filter", "show", "dev", port, "ingress"] => {
                let filters = self.filters.borrow();
                let of_port = filters.iter().filter(|(at, ..)| at == port);
                let shown: Vec<String> =
                    of_port.map(|(_, preference, _)| format!(r#"{{"pref":{preference}}}"#)).collect();
                Ok(format!("[{}]", shown.join(",")))
            }
            other => Paper { gone: self.gone.get(), ..PAPER }.query(other),
        }
    }

    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused> {
        PAPER.try_out(argv, input)
    }

    fn read(&self, path: &str) -> Option<String> {
        PAPER.read(path)
    }

    fn features(&self, port: &str) -> Result<Features, Refused> {
        PAPER.features(port)
    }

    fn mac_merge(&self, port: &str) -> Result<mac_merge::State, Refused> {
        PAPER.mac_merge(port)
    }

    fn transmit_queues(&self, port: &str) -> Option<u32> {
        PAPER.transmit_queues(port)
    }

    fn rate(&self, port: &str) -> Option<u64> {
        PAPER.rate(port)
    }

    fn driver(&self, port: &str) -> Option<String> {
        PAPER.driver(port)
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        // One act alone is refused.
        self.left.set(self.left.get().wrapping_sub(1));
        if self.left.get() == 0 {
            return Err(refused("out of memory"));
        }
        let words = act.to_string();
        let parts: Vec<&str> = words.split(' ').collect();
        match parts[..] {
            ["tc", "filter", "add", "dev", port, "ingress", "pref", preference, ..] => {
                let filter = (port.to_owned(), preference.parse().unwrap(), words.clone());
                self.filters.borrow_mut().push(filter);
            }
            ["tc", "filter", "del", "dev", port, "ingress", "pref", preference] => {
                let preference: u16 = preference.parse().unwrap();
                self.filters.borrow_mut().retain(|(at, of, _)| (at.as_str(), *of) != (port, preference));
            }
            _ => panic!("{words}"),
        }
        self.held_to.borrow_mut().push(self.sizes());
        Ok(())
    }
}

fn switch(streams: &[(&str, &str)]) -> Switch {
    let one =
        |(name, rest): &(&str, &str)| format!("[[stream]]\nname = \"{name}\"\nto = \"02:00:00:00:01:01\"\n{rest}\n");
    let head = "[switch]\nname = \"br0\"\nplane = \"kernel\"\nclassifier = \"flower\"\n[[class]]\nname = \"blue\"\nqueue = 0\n\
                [[port]]\nname = \"a\"\n[[port]]\nname = \"b\"\n";
    let text = head.to_owned() + &streams.iter().map(one).collect::<String>();
    config::read(&text).unwrap_or_else(|errors| panic!("{errors}")).switch
}

const SPECIFIC: &str = "from = \"02:00:00:00:00:07\"\nmax-sdu = 100";
const GATED: &str = "max-sdu = 300\n[stream.gate]\nbase-time = 1700000000000000001\nentries = [{ open = true, for = \"1ms\" }, { \
                     open = false, for = \"1ms\" }]";

/// Each frame is held to the size of before or of now, after every single act, and then to that of now.
#[track_caller]
fn changes(machine: &Machine, standing: &mut Plan, before: &Switch, after: &Switch) {
    let old = machine.sizes();
    let changed = regate(machine, (standing, &[]), before, after, 0).unwrap().unwrap();
    let new = {
        let fresh = plan(&PAPER, after, 0).unwrap();
        Machine::new(&fresh).sizes()
    };
    changed.streams.unwrap().carry_out(machine).unwrap();
    for held in machine.held_to.take() {
        let same = held.iter().zip(old.iter().zip(&new)).all(|(now, (old, new))| now == old || now == new);
        assert!(same, "{held:?} is neither {old:?} nor {new:?}");
    }
    assert_eq!(machine.sizes(), new);
    *standing = changed.plan;
    // Nothing else is left than what the plan has.
    let mut planned: Vec<u16> = standing.steps.iter().flat_map(preferences_of).collect();
    let mut present: Vec<u16> = machine.filters.borrow().iter().map(|(_, preference, _)| *preference).collect();
    planned.sort_unstable();
    present.sort_unstable();
    assert_eq!(present, planned);
}

#[test]
fn each_frame_is_held_to_what_was_before_or_to_what_is_now() {
    let first = switch(&[("of7", SPECIFIC), ("rest", "max-sdu = 200")]);
    let mut standing = plan(&PAPER, &first, 0).unwrap();
    let machine = Machine::new(&standing);
    assert_eq!(machine.sizes(), [Some(114), Some(214), Some(114), Some(214)]);
    let then = [
        switch(&[("of7", &SPECIFIC.replace("100", "150")), ("rest", "max-sdu = 250")]),
        switch(&[("of8", &SPECIFIC.replace(":07", ":08")), ("rest", GATED)]),
        switch(&[("rest", "max-sdu = 250\ningress = [\"b\"]")]),
        switch(&[("of7", SPECIFIC), ("rest", "max-sdu = 200")]),
    ];
    let mut before = first;
    for after in then {
        changes(&machine, &mut standing, &before, &after);
        assert_eq!(as_planned(&standing).len(), after.streams.len());
        before = after;
    }
}

/// Streams that stay have the actions of before, and with them their counters, their tokens and their gates.
#[test]
fn actions_of_streams_that_stay_are_those_of_before() {
    let before = switch(&[("of7", SPECIFIC), ("rest", GATED)]);
    let after = switch(&[("of8", &SPECIFIC.replace(":07", ":08")), ("of7", SPECIFIC), ("rest", GATED)]);
    let standing = plan(&PAPER, &before, 0).unwrap();
    let machine = Machine::new(&standing);
    let changed = regate(&machine, (&standing, &[]), &before, &after, 0).unwrap().unwrap();
    let (old, new) = (as_planned(&standing), as_planned(&changed.plan));
    assert_eq!(old, new[1..].to_vec().as_slice());
    assert!(!old.iter().any(|of| of.size == new[0].size), "{new:?}");
    let streams = changed.streams.unwrap();
    assert!(streams.starters.is_empty(), "{:?}", streams.starters);
    // Another list is another action, which is started before a frame comes to it, in phase with its base time.
    let later = switch(&[("of7", SPECIFIC), ("rest", &GATED.replace("1ms", "2ms"))]);
    let changed = regate(&machine, (&standing, &[]), &before, &later, 1_600_000_000_000_000_000).unwrap().unwrap();
    let streams = changed.streams.unwrap();
    assert_eq!((streams.starters.len(), streams.starts_in.as_millis()), (1, 5));
    let starter = streams.starters[0].to_string();
    assert!(starter.contains("base-time 1599999999996000001 "), "{starter}");
    assert_eq!(as_planned(&changed.plan)[0], old[0]);
}

/// Whichever act is refused, the filters are as before.
#[test]
fn a_refusal_leaves_the_filters_of_before() {
    let before = switch(&[("of7", SPECIFIC), ("rest", "max-sdu = 200")]);
    let after = switch(&[("of7", &SPECIFIC.replace("100", "150")), ("rest", GATED)]);
    let standing = plan(&PAPER, &before, 0).unwrap();
    let whole = |machine: &Machine| {
        let mut filters = machine.filters.borrow().clone();
        filters.sort();
        filters
    };
    let mut refusals = 0;
    for fails in 1.. {
        let machine = Machine::new(&standing);
        let old = whole(&machine);
        let changed = regate(&machine, (&standing, &[]), &before, &after, 0).unwrap().unwrap().streams.unwrap();
        machine.left.set(fails);
        if changed.carry_out(&machine).is_ok() {
            break;
        }
        assert_eq!(whole(&machine), old, "act {fails}");
        refusals += 1;
    }
    // Four filters that come, four that go, and what starts the gate, there and gone.
    assert_eq!(refusals, 10);
}

/// What is written down of the port would be of the streams before.
#[test]
fn a_policed_port_that_is_gone_keeps_streams_from_changing() {
    let at = |port: &str, size: u32| {
        switch(&[("of7", &format!("{SPECIFIC}\ningress = [\"{port}\"]").replace("100", &size.to_string()))])
    };
    let before = at("b", 100);
    let standing = plan(&PAPER, &before, 0).unwrap();
    let machine = Machine::new(&standing);
    let changed = |after: &Switch| regate(&machine, (&standing, &[]), &before, after, 0);
    machine.gone.set("b");
    for after in [at("b", 150), at("a", 100), switch(&[])] {
        let refused = changed(&after).unwrap_err().reasons;
        assert_eq!(refused, ["port b is gone: what changes there can be set when it is back"]);
    }
    // No stream comes in by the other one, before or after.
    machine.gone.set("a");
    assert!(changed(&at("b", 150)).unwrap().unwrap().streams.is_some());
    assert!(changed(&at("a", 100)).is_err());
}
