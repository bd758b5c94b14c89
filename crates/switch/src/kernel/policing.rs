//! Per-stream filtering and policing (IEEE 802.1Q-2022 clause 8.6.5.2): tc-flower(8) at each port's way in, tc-police(8) for
//! the size of frames and the meter, tc-gate(8) for the stream gate.
//!
//! A stream that comes in by several ports has one gate and one meter for all of them: actions have numbers, by which the
//! filters of all ports share them.

mod actions;
mod change;
mod counts;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use ontick_tsn::config::Terms;
use ontick_tsn::model::{Bridge, Meter, Stream, StreamGate, Switch};

use super::gates::{When, base_ns, clock_name};
use super::hook::filters_step;
use super::probe;
use crate::apply::{Act, Expect, FIRST_PREFERENCE, Hook, Host, Iface, Link, Plan, Step, StreamActions, Undo};

pub use actions::parts;
pub use change::StreamChange;
pub use counts::StreamCount;
pub(super) use counts::counts;

use actions::{as_planned, taken};

/// Others may have taken numbers of actions up to here.
const FIRST_ACTION: u32 = 40_000;
/// Octets of a frame that are no data: addresses and EtherType, which the kernel has taken off by then, and check sequence.
const AROUND: u32 = 14 + 4;
const TAG: u32 = 4;
/// `police` adds the addresses and the EtherType to the size at the way in from this release on.
const WHOLE_FRAMES_SINCE: (u32, u32) = (5, 18);
const ETHERNET_HEADER: u32 = 14;
/// Larger than any frame: the meter asks for no size.
const ANY_SIZE: u32 = 65_535;
/// The kernel counts a burst as the time that it takes at the rate, in steps of 64 ns and 32 bits.
const LONGEST_BURST_S: u64 = 250;
/// tc(8) has 1024 octets for a filter up to its gate, drops what finds no room there, and reports success.
const MOST_ENTRIES: usize = 20;

/// Why the kernel does not police these streams.
pub fn unpoliced(switch: &Switch, terms: Terms) -> Option<String> {
    let user = terms.pick(", or plane = \"user\"", "");
    if switch.bridge != Bridge::Linux && !switch.streams.is_empty() {
        let file = "[[stream]] with Open vSwitch is not offered: use bridge = \"linux\"";
        return Some(terms.pick(file, "streams with Open vSwitch are not offered").into());
    }
    switch.streams.iter().find_map(|stream| {
        let name = &stream.name;
        if stream.eliminate.is_some() || stream.replicate.is_some() {
            let file = "eliminate and replicate are of the user data plane alone: use plane = \"user\"";
            let yang = "sequence generation and recovery are of the user data plane alone";
            return Some(format!("stream {name}: {}", terms.pick(file, yang)));
        }
        let entries = stream.gate.as_ref().map_or(0, |gate| gate.entries.len());
        if entries > MOST_ENTRIES {
            return Some(format!(
                "stream {name}: {entries} entries, and tc has room for {MOST_ENTRIES}: have fewer{user}"
            ));
        }
        let too_long = |meter: &Meter| u64::from(meter.burst) * 8 > meter.rate.saturating_mul(LONGEST_BURST_S);
        stream.meter.as_ref().filter(|meter| too_long(meter)).map(|_| {
            format!(
                "stream {name}: the burst takes longer than {LONGEST_BURST_S} s at the rate, as the kernel cannot \
                     count: have a smaller burst{user}"
            )
        })
    })
}

/// What the filters of all ports are made from.
#[derive(Debug, Clone)]
pub(super) struct Policing<'a> {
    switch: &'a Switch,
    /// Of each stream.
    actions: Vec<StreamActions>,
    /// `police` counts whole frames where it looks at their size.
    whole_frames: bool,
}

impl<'a> Policing<'a> {
    /// For a switch whose actions get the first numbers that are free.
    pub fn plan(host: &impl Host, switch: &'a Switch, now_ns: u64) -> Result<Self, String> {
        Self::planned(host, switch, |_| None, &BTreeSet::new(), |stream| base_of(stream, now_ns))
    }

    /// With these actions of streams where there are some, and the first free numbers for the others, but for those that are
    /// kept free.
    fn planned(
        host: &impl Host,
        switch: &'a Switch,
        known: impl Fn(&Stream) -> Option<StreamActions>,
        kept_free: &BTreeSet<u32>,
        base_ns: impl Fn(&Stream) -> u64,
    ) -> Result<Self, String> {
        if switch.streams.is_empty() {
            return Ok(Self::of(host, switch, Vec::new()));
        }
        if let Some(why) = unpoliced(switch, Terms::File) {
            return Err(why);
        }
        let taken = taken(host).map_err(|refused| refused.to_string())?;
        let is_free = |number: u32| !taken.contains(&number) && !kept_free.contains(&number);
        let mut free = (FIRST_ACTION..u32::MAX).step_by(2).filter(|first| is_free(*first) && is_free(first + 1));
        let mut next = |stream| StreamActions::from(free.next().unwrap_or(FIRST_ACTION), base_ns(stream));
        let actions = switch.streams.iter().map(|stream| known(stream).unwrap_or_else(|| next(stream))).collect();
        let policing = Self::of(host, switch, actions);
        let lines: Vec<String> = (0..switch.streams.len()).flat_map(|place| policing.filters("lo", place)).collect();
        probe::policing(host, &lines).required()?;
        Ok(policing)
    }

    /// As it was planned, with the numbers that the actions have; nothing where no stream is policed.
    pub fn again(host: &impl Host, switch: &'a Switch, plan: &Plan) -> Option<Self> {
        let actions = as_planned(plan);
        (actions.len() == switch.streams.len() && !actions.is_empty()).then(|| Self::of(host, switch, actions.to_vec()))
    }

    fn of(host: &impl Host, switch: &'a Switch, actions: Vec<StreamActions>) -> Self {
        Self { switch, actions, whole_frames: super::release(host) >= WHOLE_FRAMES_SINCE }
    }

    /// The step for a port, given those that come before it; nothing where no stream comes in by it.
    pub fn step(&self, host: &impl Host, port: &Link, before: &[Step]) -> Result<Option<Step>, String> {
        self.step_from(FIRST_PREFERENCE, host, port, before)
    }

    /// The commands for the streams that come in by a port, each with the preference 0.
    fn filters_of(&self, port: &str) -> Vec<String> {
        self.streams_of(port).flat_map(|place| self.filters(port, place)).collect()
    }

    /// The places of those streams.
    fn streams_of(&self, port: &str) -> impl Iterator<Item = usize> {
        let at = self.switch.ports.iter().position(|of| of.name == port);
        let here =
            move |stream: &Stream| stream.ingress.as_ref().is_none_or(|ports| at.is_some_and(|at| ports.contains(&at)));
        self.switch.streams.iter().enumerate().filter(move |(_, stream)| here(stream)).map(|(place, _)| place)
    }

    /// The step with preferences from this one on.
    fn step_from(&self, first: u16, host: &impl Host, port: &Link, before: &[Step]) -> Result<Option<Step>, String> {
        let filters = self.filters_of(&port.name);
        if filters.is_empty() {
            return Ok(None);
        }
        let gate =
            |place: usize| Some((self.actions[place].gate, self.switch.streams[place].gate.as_ref()?.entries.len()));
        let gates = self.streams_of(&port.name).filter_map(gate).collect();
        let (name, port) = (&port.name, Iface::from(port));
        let preferences: Vec<u16> = (first..).take(filters.len()).collect();
        let undo = Undo::Policers { port: port.clone(), preferences: preferences.clone() };
        let step = Step::of(name, "streams are filtered and policed (tc police, gate)");
        let mut step = filters_step(host, step, (&port, Hook::Ingress), &preferences, before, undo)?;
        for (preference, filter) in preferences.iter().zip(filters) {
            step = step.act(Act::run(filter.replace(" pref 0 ", &format!(" pref {preference} "))));
        }
        let actions = self.actions.clone();
        Ok(Some(step.expect(Expect::Policed { port: name.clone(), actions, preferences, gates })))
    }

    /// The commands for a stream at a port, each with the preference 0.
    fn filters(&self, port: &str, place: usize) -> Vec<String> {
        let stream = &self.switch.streams[place];
        let address = |key: &str, mac: &[u8; 6]| format!(" {key} {}", super::classify::mac(mac));
        let keys =
            address("dst_mac", &stream.to) + &stream.from.map_or(String::new(), |from| address("src_mac", &from));
        let actions = self.actions(stream, place);
        let one = |matched: String| format!("tc filter add dev {port} ingress pref 0 {matched}{keys}{actions}");
        match stream.vlan {
            None => vec![one("protocol all flower".into())],
            // Frames with a tag that names no VLAN are of none, too.
            Some(0) => {
                ["protocol all flower num_of_vlans 0", "protocol 802.1Q flower vlan_id 0"].map(|m| one(m.into())).into()
            }
            Some(vlan) => vec![one(format!("protocol 802.1Q flower vlan_id {vlan}"))],
        }
    }

    /// Size, gate and meter, in this order: what one of them drops does not count for the next.
    fn actions(&self, stream: &Stream, place: usize) -> String {
        let numbers = self.actions[place];
        let size = stream.max_sdu.map(|octets| {
            let mtu = octets + if self.whole_frames { ETHERNET_HEADER } else { 0 };
            format!("police mtu {mtu} index {} conform-exceed drop", numbers.size)
        });
        let gate = stream.gate.as_ref().map(|gate| self.gate(gate, numbers));
        let meter = stream.meter.map(|Meter { rate, burst }| {
            let overhead = AROUND + if stream.vlan.is_some_and(|vlan| vlan > 0) { TAG } else { 0 };
            format!(
                "police rate {rate}bit burst {burst}b mtu {ANY_SIZE} overhead {overhead} index {} conform-exceed drop",
                numbers.meter
            )
        });
        let all: Vec<String> = [size, gate, meter].into_iter().flatten().collect();
        let last = all.len() - 1;
        let then = |(at, action): (usize, &String)| {
            let between = if action.starts_with("police") { "/" } else { " " };
            format!(" action {action}{between}{}", if at == last { "pass" } else { "pipe" })
        };
        all.iter().enumerate().map(then).collect()
    }

    fn gate(&self, gate: &StreamGate, numbers: StreamActions) -> String {
        let state = |open: bool| if open { "open" } else { "close" };
        // Neither a priority of its own nor a limit of octets.
        let entry = |entry: &ontick_tsn::model::StreamGateEntry| {
            format!(" sched-entry {} {} -1 -1", state(entry.open), entry.for_ns)
        };
        let entries: String = gate.entries.iter().map(entry).collect();
        let (clock, StreamActions { gate: number, base_ns, .. }) = (clock_name(self.switch.clock), numbers);
        format!("gate index {number} clockid CLOCK_{clock} base-time {base_ns}{entries}")
    }
}

/// When the list of a stream's gate begins that is planned now.
fn base_of(stream: &Stream, now_ns: u64) -> u64 {
    stream.gate.as_ref().map_or(0, |gate| base_ns(gate.base, When::Now(now_ns)))
}
