//! Queueing disciplines as values, and as tc(8) shows them.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use ontick_tsn::model::Entry;
use ontick_tsn::shaper::Slopes;

/// Ours, at a port's root.
pub const HANDLE: &str = "a100:";
/// What a frame takes on the wire beside its octets: preamble, check sequence and gap.
const STAB: &str = "stab overhead 24 ";
/// The same as a number.
pub const WIRE_OVERHEAD: u32 = 24;
/// The latest that a frame that waited for credit is started by the kernel's timer without loss to its class.
pub const TIMER_LATE_NS: u64 = 100_000;
/// Socket buffers have one of sixteen priorities as far as queueing disciplines care.
pub const PRIORITIES: usize = 16;

/// A taprio queueing discipline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taprio {
    /// The traffic class of each priority.
    pub map: [u8; PRIORITIES],
    /// The first transmit queue of each traffic class.
    pub queues: Vec<u16>,
    /// How many each has; empty: one each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u16>,
    /// When cycles begin.
    pub base_ns: u64,
    /// Their length.
    pub cycle_ns: u64,
    /// Gate masks by traffic class, and their times.
    pub entries: Vec<(u32, u64)>,
    /// `TAI`, `REALTIME`, …, where the schedule is the kernel's.
    pub clock: Option<String>,
    /// 0: software, 1: transmission times, 2: the port.
    pub flags: u32,
    /// With transmission times: how long before, in ns.
    pub delay_ns: Option<u32>,
    /// Largest service data unit of each traffic class, 0 for any; empty where none is limited.
    pub max_sdu: Vec<u32>,
    /// Whether frames of each traffic class are preempted; empty where none are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preemptible: Vec<bool>,
}

/// What tc shows of a taprio queueing discipline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaprioState {
    /// What was asked for last and is not in force yet.
    pub admin: Option<Times>,
    /// What is in force.
    pub oper: Option<Times>,
    /// The traffic class of each priority.
    pub map: Vec<u64>,
    /// The first transmit queue of each traffic class, and how many it has.
    pub queues: Vec<(u64, u64)>,
    /// 0: software, 1: transmission times, 2: the port.
    pub flags: u64,
    /// Whether frames of each traffic class are preempted; empty where that is not shown.
    pub preemptible: Vec<bool>,
}

/// A schedule as tc shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Times {
    /// When its cycles begin, in ns.
    pub base_ns: u64,
    /// Their length, in ns.
    pub cycle_ns: u64,
    /// Gate masks and their times in ns.
    pub entries: Vec<(u64, u64)>,
}

impl Times {
    fn of(options: &Value) -> Option<Self> {
        let entry = |entry: &Value| Some((number(&entry["gatemask"])?, number(&entry["interval"])?));
        Some(Self {
            base_ns: number(&options["base_time"])?,
            cycle_ns: number(&options["cycle_time"])?,
            entries: options["schedule"].as_array()?.iter().filter_map(entry).collect(),
        })
    }

    fn is_of(&self, wanted: &Taprio) -> bool {
        let entries = wanted.entries.iter().map(|(gates, for_ns)| (u64::from(*gates), *for_ns));
        self.base_ns == wanted.base_ns && self.cycle_ns == wanted.cycle_ns && self.entries.iter().copied().eq(entries)
    }
}

impl TaprioState {
    /// From an entry of `tc -j qdisc show`.
    pub fn of(qdisc: &Value) -> Option<Self> {
        let options = &qdisc["options"];
        let numbers = |list: &Value| list.as_array().map(|all| all.iter().filter_map(number).collect());
        let queue = |queue: &Value| Some((number(&queue["offset"])?, number(&queue["count"])?));
        Some(Self {
            admin: Times::of(&options["admin"]),
            oper: Times::of(options),
            map: numbers(&options["map"])?,
            queues: options["queues"].as_array()?.iter().filter_map(queue).collect(),
            flags: number(&options["flags"]).unwrap_or(0),
            preemptible: preemptible(options),
        })
    }

    /// What of it is not as wanted; none if all is.
    pub fn differs(&self, wanted: &Taprio) -> Option<String> {
        let Some(times) = self.admin.as_ref().or(self.oper.as_ref()) else { return Some("it has no schedule".into()) };
        if !times.is_of(wanted) {
            Some(format!("another schedule: base time {} ns, cycle {} ns", times.base_ns, times.cycle_ns))
        } else if !self.map.iter().copied().eq(wanted.map.iter().map(|class| u64::from(*class))) {
            Some(format!("another map of priorities: {:?}", self.map))
        } else if !self.queues.iter().copied().eq(wanted.all_queues().map(|all| (all.start.into(), all.len() as u64))) {
            Some(format!("other transmit queues: {:?}", self.queues))
        } else if self.flags != u64::from(wanted.flags) {
            Some(format!("flags {:#x}", self.flags))
        } else {
            preempts_otherwise(&self.preemptible, &wanted.preemptible)
        }
    }
}

impl Taprio {
    /// The transmit queues of each traffic class.
    pub fn all_queues(&self) -> impl Iterator<Item = Range<u16>> + '_ {
        let count = |class: usize| self.counts.get(class).copied().unwrap_or(1);
        self.queues.iter().enumerate().map(move |(class, first)| *first..first + count(class))
    }

    /// What follows `tc qdisc replace dev PORT`.
    pub fn words(&self) -> String {
        let list = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join(" ");
        let mut words = format!(
            "{STAB}parent root handle {HANDLE} taprio num_tc {} map {} queues {} base-time {} cycle-time {} {}",
            self.queues.len(),
            list(&mut self.map.iter().map(u8::to_string)),
            list(&mut self.all_queues().map(|all| format!("{}@{}", all.len(), all.start))),
            self.base_ns,
            self.cycle_ns,
            list(&mut self.entries.iter().map(|(gates, for_ns)| format!("sched-entry S {gates:02x} {for_ns}"))),
        );
        if !self.max_sdu.is_empty() {
            words += &format!(" max-sdu {}", list(&mut self.max_sdu.iter().map(u32::to_string)));
        }
        words += &fp(&self.preemptible);
        if self.flags != 0 {
            words += &format!(" flags {:#x}", self.flags);
        }
        if let Some(delay_ns) = self.delay_ns {
            words += &format!(" txtime-delay {delay_ns}");
        }
        if let Some(clock) = &self.clock {
            words += &format!(" clockid CLOCK_{clock}");
        }
        words
    }

    /// The schedule by traffic class, as entries.
    pub fn schedule(&self) -> Vec<Entry> {
        self.entries.iter().map(|(gates, for_ns)| Entry { open: *gates as u16, for_ns: *for_ns }).collect()
    }
}

/// A prio queueing discipline: strict priority, no gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prio {
    /// How many bands.
    pub bands: u8,
    /// The band of each priority; 0 goes first.
    pub map: [u8; PRIORITIES],
    /// Frames count with all that they take on the wire, as a shaper needs it.
    #[serde(default)]
    pub on_the_wire: bool,
}

impl Prio {
    /// What follows `tc qdisc replace dev PORT`.
    pub fn words(&self) -> String {
        let map: Vec<String> = self.map.iter().map(u8::to_string).collect();
        let stab = if self.on_the_wire { STAB } else { "" };
        format!("{stab}parent root handle {HANDLE} prio bands {} priomap {}", self.bands, map.join(" "))
    }

    /// What of an entry of `tc -j qdisc show` is not as wanted; none if all is.
    pub fn differs(&self, qdisc: &Value) -> Option<String> {
        let map: Vec<u64> = qdisc["options"]["priomap"].as_array()?.iter().filter_map(number).collect();
        (!map.iter().copied().eq(self.map.iter().map(|band| u64::from(*band)))).then(|| format!("another map: {map:?}"))
    }
}

/// An mqprio queueing discipline with the port's own queues: strict priority by the port, which preempts some classes'
/// frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mqprio {
    /// The traffic class of each priority. Each class has one transmit queue, of the same number.
    pub map: [u8; PRIORITIES],
    /// Whether frames of each traffic class are preempted.
    pub preemptible: Vec<bool>,
}

impl Mqprio {
    /// What follows `tc qdisc replace dev PORT`.
    pub fn words(&self) -> String {
        let map: Vec<String> = self.map.iter().map(u8::to_string).collect();
        let queues: Vec<String> = (0..self.preemptible.len()).map(|queue| format!("1@{queue}")).collect();
        format!(
            "parent root handle {HANDLE} mqprio num_tc {} map {} queues {}{} hw 1",
            queues.len(),
            map.join(" "),
            queues.join(" "),
            fp(&self.preemptible)
        )
    }

    /// What of an entry of `tc -j qdisc show` is not as wanted; none if all is.
    pub fn differs(&self, qdisc: &Value) -> Option<String> {
        let map: Vec<u64> = qdisc["options"]["map"].as_array()?.iter().filter_map(number).collect();
        if !map.iter().copied().eq(self.map.iter().map(|class| u64::from(*class))) {
            return Some(format!("another map: {map:?}"));
        }
        preempts_otherwise(&preemptible(&qdisc["options"]), &self.preemptible)
    }
}

/// Which traffic classes are express and which preemptible, as tc takes it.
fn fp(preemptible: &[bool]) -> String {
    if preemptible.is_empty() {
        return String::new();
    }
    let words = preemptible.iter().map(|preemptible| if *preemptible { " P" } else { " E" });
    format!(" fp{}", words.collect::<String>())
}

/// Whether frames of each traffic class are preempted, as tc shows it; empty where it does not.
fn preemptible(options: &Value) -> Vec<bool> {
    options["fp"].as_array().into_iter().flatten().map(|class| class == "P").collect()
}

/// What of it is not as wanted. It is shown of all sixteen classes that there may be.
fn preempts_otherwise(shown: &[bool], wanted: &[bool]) -> Option<String> {
    (shown.get(..wanted.len()) != Some(wanted)).then(|| match shown {
        [] => "no classes whose frames are preempted".into(),
        shown => format!("other classes whose frames are preempted:{}", fp(shown.get(..wanted.len()).unwrap_or(shown))),
    })
}

/// A cbs queueing discipline: the credit-based shaper in software.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cbs {
    /// In kbit/s.
    pub idle_kbit: u64,
    /// In kbit/s; zero or below.
    pub send_kbit: i64,
    /// hiCredit in octets.
    pub hi_credit: u64,
    /// loCredit in octets; zero or below.
    pub lo_credit: i64,
}

impl Cbs {
    /// In the units of tc: slopes rounded down, so that no class has more than its own, and bounds away from zero. hiCredit
    /// has what the class gains while the kernel's timer is late on top, which would be lost to it.
    pub fn of(slopes: &Slopes) -> Self {
        let gained_bits = (u128::from(slopes.idle) * u128::from(TIMER_LATE_NS)).div_ceil(1_000_000_000) as u64;
        Self {
            idle_kbit: slopes.idle / 1_000,
            send_kbit: slopes.send.div_euclid(1_000),
            hi_credit: (slopes.hi_credit + gained_bits).div_ceil(8),
            lo_credit: slopes.lo_credit.div_euclid(8),
        }
    }

    /// What follows `cbs`.
    pub fn words(&self) -> String {
        let Self { idle_kbit, send_kbit, hi_credit, lo_credit } = self;
        format!("idleslope {idle_kbit} sendslope {send_kbit} hicredit {hi_credit} locredit {lo_credit} offload 0")
    }

    /// What of an entry of `tc -j qdisc show` is not as wanted; none if all is.
    pub fn differs(&self, qdisc: &Value) -> Option<String> {
        let number = |key: &str| qdisc["options"][key].as_i64();
        let wanted = [
            ("idleslope", self.idle_kbit as i64),
            ("sendslope", self.send_kbit),
            ("hicredit", self.hi_credit as i64),
            ("locredit", self.lo_credit),
            ("offload", 0),
        ];
        let (key, _) = wanted.into_iter().find(|(key, value)| number(key) != Some(*value))?;
        Some(match number(key) {
            Some(value) => format!("{key} {value}"),
            None => format!("no {key}"),
        })
    }
}

/// A number, or a text like `0x3`.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let text = value.as_str()?;
        match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    })
}

/// The text of `tc -j qdisc show` as JSON: tc forgets the key of the schedule that is to come, whatever stands before.
pub(crate) fn with_every_key(text: &str) -> String {
    text.replace(",{\"base_time\":", ",\"admin\":{\"base_time\":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_that_is_to_come_is_read_with_and_without_one_in_force() {
        let times =
            r#"{"base_time":7,"cycle_time":9,"schedule":[{"index":0,"cmd":"S","gatemask":"0x1","interval":9}]}"#;
        let in_force = r#""base_time":1,"cycle_time":9,"schedule":[],"#;
        for before in [in_force, ""] {
            let text = format!(
                r#"[{{"kind":"taprio","options":{{"tc":1,"map":[0],"queues":[{{"offset":0,"count":1}}],"clockid":"TAI",{before}{times}}}}}]"#
            );
            let listed: Vec<Value> = serde_json::from_str(&with_every_key(&text)).unwrap();
            let shown = TaprioState::of(&listed[0]).unwrap();
            assert_eq!(shown.admin.unwrap().base_ns, 7);
            assert_eq!(shown.oper.map(|oper| oper.base_ns), (!before.is_empty()).then_some(1));
        }
    }

    /// As iproute2 6.4 and later show it: of all sixteen classes that there may be.
    #[test]
    fn classes_that_are_preempted_are_compared() {
        let shown = |fp: &str| -> Value {
            let map = vec!["1"; PRIORITIES].join(",");
            serde_json::from_str(&format!(r#"{{"kind":"mqprio","options":{{"tc":2,"map":[{map}]{fp}}}}}"#)).unwrap()
        };
        let wanted = Mqprio { map: [1; PRIORITIES], preemptible: vec![true, false] };
        assert_eq!(wanted.differs(&shown(r#","fp":["P","E","E","E"]"#)), None);
        let other = wanted.differs(&shown(r#","fp":["E","E","E","E"]"#));
        assert_eq!(other.as_deref(), Some("other classes whose frames are preempted: fp E E"));
        let none = wanted.differs(&shown(""));
        assert_eq!(none.as_deref(), Some("no classes whose frames are preempted"));
        assert!(Mqprio { map: [0; PRIORITIES], ..wanted }.differs(&shown("")).unwrap().starts_with("another map"));
    }
}
