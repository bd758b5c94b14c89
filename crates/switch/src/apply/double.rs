//! Machines of tests: each answers what its test is about, and whatever else it is asked ends the test.

use super::{Act, Host, Refused};
use crate::ethtool::mac_merge;
use crate::features::Features;

/// A [`Host`] of a test.
pub trait Double {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        panic!("{argv:?}")
    }

    fn try_out(&self, argv: &[&str], _input: &str) -> Result<String, Refused> {
        panic!("{argv:?}")
    }

    fn read(&self, path: &str) -> Option<String> {
        panic!("{path}")
    }

    fn features(&self, port: &str) -> Result<Features, Refused> {
        panic!("features of {port}")
    }

    fn mac_merge(&self, port: &str) -> Result<mac_merge::State, Refused> {
        panic!("MAC Merge sublayer of {port}")
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        panic!("{act}")
    }
}

/// Its ports have drivers that tell nothing.
impl<D: Double> Host for D {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        Double::query(self, argv)
    }

    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused> {
        Double::try_out(self, argv, input)
    }

    fn read(&self, path: &str) -> Option<String> {
        Double::read(self, path)
    }

    fn features(&self, port: &str) -> Result<Features, Refused> {
        Double::features(self, port)
    }

    fn mac_merge(&self, port: &str) -> Result<mac_merge::State, Refused> {
        Double::mac_merge(self, port)
    }

    fn transmit_queues(&self, _: &str) -> Option<u32> {
        None
    }

    fn rate(&self, _: &str) -> Option<u64> {
        None
    }

    fn driver(&self, _: &str) -> Option<String> {
        None
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        Double::act(self, act)
    }
}
