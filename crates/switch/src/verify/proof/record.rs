//! What was found, as the record has it.

use ontick_record::Series;
use ontick_record::run::Settings;
use ontick_record::switching::{Class, Switching, Trial};

use super::super::analysis::Link;
use super::Proof;
use crate::user::packet::Stamps;
use ontick_tsn::model::Gates;
use ontick_tsn::schedule;
use ontick_tsn::wire::LARGEST_SDU;

impl Proof {
    /// The record before the first trial.
    pub(super) fn nothing_found_yet(&self, gates: &Gates) -> Switching {
        let (switch, (from, to)) = (&self.switch, self.ports);
        let rate = self.rate(to);
        Switching {
            name: switch.name.clone(),
            from: switch.ports[from].name.clone(),
            to: switch.ports[to].name.clone(),
            rate,
            clock: switch.clock.name().into(),
            cycle_ns: gates.cycle_ns,
            guard_ns: self.guard_ns,
            closed_ns: schedule::guard_ns(gates.guard, LARGEST_SDU, rate),
            ..Switching::default()
        }
    }

    /// For each class, how long after its gate's opening the first frame came.
    pub(super) fn series(&self, switching: &Switching, trial: &Trial) -> Vec<Series> {
        let place = self.carrier.place().filter(|_| switching.plane == "user");
        let settings = Settings {
            interval_ns: switching.cycle_ns,
            cpu: place.and_then(|place| place.cpu),
            policy: place.map_or(String::new(), |place| place.policy.to_string()),
            clock: switching.clock.clone(),
            ..Settings::default()
        };
        let of = |class: &Class| Series {
            name: class.name.clone(),
            settings: settings.clone(),
            latency: class.first.clone(),
            ..Series::default()
        };
        trial.classes.iter().map(of).collect()
    }
}

/// How frames were taken to be on the link, in words.
pub(super) fn link(link: Link) -> String {
    let bits = |rate: u64| match rate {
        rate if rate >= 1_000_000_000 => format!("{} Gb/s", rate as f64 / 1e9),
        rate => format!("{} Mb/s", rate as f64 / 1e6),
    };
    match link {
        Link::Modelled(rate) => format!("modelled at {}", bits(rate)),
        Link::Stamped(rate) => format!("real, at {}", bits(rate)),
        Link::Unknown => String::new(),
    }
}

pub(super) fn stamps(stamps: Stamps) -> &'static str {
    match stamps {
        Stamps::Software => "kernel",
        Stamps::Hardware => "hardware",
    }
}
