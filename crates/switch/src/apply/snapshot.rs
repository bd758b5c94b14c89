//! One look at the machine, for many comparisons.

use std::cell::RefCell;
use std::collections::HashMap;

use super::{Act, Host, Refused};
use crate::ethtool::mac_merge;
use crate::features::Features;

/// A machine that is asked each question once. What it answers is of one moment, or nearly: make one for a comparison or
/// a plan, and drop it. A change through it makes it ask anew.
#[derive(Debug)]
pub struct Snapshot<'a, H> {
    host: &'a H,
    answers: RefCell<HashMap<Question, Result<String, Refused>>>,
    features: RefCell<HashMap<String, Result<Features, Refused>>>,
}

/// A program's arguments and its input.
type Question = (Vec<String>, String);

impl<'a, H: Host> Snapshot<'a, H> {
    /// Of this machine.
    pub fn of(host: &'a H) -> Self {
        Self { host, answers: RefCell::default(), features: RefCell::default() }
    }

    fn answer(
        &self,
        argv: &[&str],
        input: &str,
        ask: impl FnOnce() -> Result<String, Refused>,
    ) -> Result<String, Refused> {
        let key = (argv.iter().map(|word| (*word).to_owned()).collect(), input.to_owned());
        self.answers.borrow_mut().entry(key).or_insert_with(ask).clone()
    }
}

impl<H: Host> Host for Snapshot<'_, H> {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        self.answer(argv, "", || self.host.query(argv))
    }

    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused> {
        self.answer(argv, input, || self.host.try_out(argv, input))
    }

    fn read(&self, path: &str) -> Option<String> {
        self.host.read(path)
    }

    fn features(&self, port: &str) -> Result<Features, Refused> {
        self.features.borrow_mut().entry(port.to_owned()).or_insert_with(|| self.host.features(port)).clone()
    }

    fn mac_merge(&self, port: &str) -> Result<mac_merge::State, Refused> {
        self.host.mac_merge(port)
    }

    fn transmit_queues(&self, port: &str) -> Option<u32> {
        self.host.transmit_queues(port)
    }

    fn rate(&self, port: &str) -> Option<u64> {
        self.host.rate(port)
    }

    fn driver(&self, port: &str) -> Option<String> {
        self.host.driver(port)
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        self.answers.borrow_mut().clear();
        self.features.borrow_mut().clear();
        self.host.act(act)
    }
}

#[cfg(test)]
mod tests {
    use super::super::double::Double;
    use super::*;
    use std::cell::Cell;

    /// Counts what it is asked.
    #[derive(Default)]
    struct Asked(Cell<u32>);

    impl Asked {
        fn once_more(&self) -> Result<String, Refused> {
            self.0.set(self.0.get() + 1);
            Ok(self.0.get().to_string())
        }
    }

    impl Double for Asked {
        fn query(&self, _: &[&str]) -> Result<String, Refused> {
            self.once_more()
        }

        fn try_out(&self, _: &[&str], _: &str) -> Result<String, Refused> {
            self.once_more()
        }

        fn features(&self, port: &str) -> Result<Features, Refused> {
            Err(Refused { what: port.into(), why: self.once_more()? })
        }

        fn act(&self, _: &Act) -> Result<(), Refused> {
            Ok(())
        }
    }

    #[test]
    fn each_question_is_asked_once_until_something_is_changed() {
        let host = Asked::default();
        let now = Snapshot::of(&host);
        let ask_all = || {
            (
                now.query(&["ip", "link"]).unwrap(),
                now.query(&["ip", "addr"]).unwrap(),
                now.try_out(&["ip", "link"], "a").unwrap(),
                now.features("p1").unwrap_err().why,
                now.features("p2").unwrap_err().why,
            )
        };
        let first = ask_all();
        assert_eq!((first.0.as_str(), first.4.as_str()), ("1", "5"));
        assert_eq!((ask_all(), host.0.get()), (first, 5));
        now.act(&Act::run("ip link delete dev p1")).unwrap();
        assert_eq!((ask_all().0.as_str(), host.0.get()), ("6", 10));
    }
}
