//! The credit-based shaper (IEEE 802.1Q-2022 clauses 8.6.8.2 and 34): slopes and bounds of the credit of a port's classes.
//!
//! | here | formula |
//! |---|---|
//! | idle slope | operIdleSlope × cycle / time for which the gate is open in it; without gates operIdleSlope (8.6.8.2) |
//! | send slope | idle slope − rate of the port (8.6.8.2) |
//! | loCredit | largest frame of the class × send slope / rate (Annex L) |
//! | hiCredit | idle slope × (largest frame of others + debts of higher shaped classes) / (rate − their idle slopes) (Annex L) |
//!
//! The debt of a class is its loCredit without the sign. Frames count with all that they occupy on the wire: tag, check
//! sequence, preamble and gap.

use ontick_units::{exact, show_bit_rate};

use crate::model::{CLASSES, Offload, Port, Switch};
use crate::schedule::{Schedule, Shares};
use crate::wire;

/// Idle slopes are so much of a port's rate together, unless somebody decides otherwise (deltaBandwidth, clause 34.3.1).
const USUAL_PERCENT: u64 = 75;
/// No credit is larger, in bits: its billionths are counted with 63 of them.
const MOST_BITS: u64 = 1 << 32;

/// What a shaped class is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slopes {
    /// How fast the credit rises while the gate is open, in bits per second.
    pub idle: u64,
    /// How fast it changes while a frame of the class is sent, in bits per second; zero or below.
    pub send: i64,
    /// Its upper bound, in bits.
    pub hi_credit: u64,
    /// Its lower bound, in bits; zero or below.
    pub lo_credit: i64,
}

/// What is shaped at a port, by queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortShaping {
    /// operIdleSlope, in bits per second; 0: not shaped.
    oper_idle: [u64; CLASSES],
    /// Of the largest frame on the wire, in bits; 0: there is no such class.
    frame_bits: [u64; CLASSES],
}

impl PortShaping {
    /// Of a port of the switch; nothing where no class is shaped.
    pub fn of(switch: &Switch, port: &Port) -> Option<Self> {
        if !port.is_shaped() {
            return None;
        }
        let mut shaping = Self { oper_idle: [0; CLASSES], frame_bits: [0; CLASSES] };
        for (place, class) in switch.classes.iter().enumerate() {
            let queue = usize::from(class.queue);
            let sdu = port.max_sdu.get(place).copied().flatten().unwrap_or(wire::LARGEST_SDU);
            shaping.frame_bits[queue] = wire::largest_frame_bits(sdu);
            shaping.oper_idle[queue] = port.idle_slopes.get(place).copied().flatten().unwrap_or(0);
        }
        Some(shaping)
    }

    /// Shaped queues, one bit for each.
    pub fn queues(&self) -> u16 {
        (0..CLASSES).filter(|queue| self.oper_idle[*queue] > 0).fold(0, |all, queue| all | 1 << queue)
    }

    /// What a shaped queue is held to on a link of this rate; without `shares` all gates are always open.
    pub fn slopes(&self, queue: usize, rate: u64, shares: Option<&Shares>) -> Slopes {
        let rate = rate.max(1);
        let idle = self.idle(queue, shares).min(rate);
        let (mut higher_idle, mut debts) = (0, 0);
        for higher in self.rivals(queue, shares) {
            let idle = self.idle(higher, shares).min(rate);
            higher_idle += idle;
            debts += self.debt(higher, idle, rate);
        }
        let waits_for = self.interference(queue, shares.is_some()) + debts;
        let hi_credit = match rate.checked_sub(higher_idle) {
            // The link is slower than what is reserved on it.
            None | Some(0) => waits_for.into(),
            Some(left) => u128::from(idle) * u128::from(waits_for) / u128::from(left),
        };
        Slopes {
            idle,
            send: idle as i64 - rate as i64,
            hi_credit: hi_credit.min(MOST_BITS.into()) as u64,
            lo_credit: -(self.debt(queue, idle, rate) as i64),
        }
    }

    fn idle(&self, queue: usize, shares: Option<&Shares>) -> u64 {
        let oper = self.oper_idle[queue];
        match shares.map(|shares| (shares.open_ns[queue], shares.cycle_ns)) {
            None | Some((0, _)) => oper,
            Some((open_ns, cycle_ns)) => {
                let idle = u128::from(oper) * u128::from(cycle_ns) / u128::from(open_ns);
                idle.min(i64::MAX as u128) as u64
            }
        }
    }

    /// Shaped queues that go before this one, and whose gates are open at a time when its own is.
    fn rivals(&self, queue: usize, shares: Option<&Shares>) -> impl Iterator<Item = usize> {
        let together = shares.map_or(u16::MAX, |shares| shares.open_with[queue]);
        let rivals = self.queues() & together & (u16::MAX << queue) & !(1 << queue);
        (0..CLASSES).filter(move |other| rivals & (1 << other) != 0)
    }

    /// What a queue owes after its largest frame, in bits; rounded up.
    fn debt(&self, queue: usize, idle: u64, rate: u64) -> u64 {
        let bits = u128::from(self.frame_bits[queue]) * u128::from(rate - idle);
        bits.div_ceil(u128::from(rate)) as u64
    }

    /// The largest frame for which one of this queue waits while its gate is open, in bits. With gates it may also wait
    /// as it would not end before its own closes.
    fn interference(&self, queue: usize, gated: bool) -> u64 {
        let shaped = |other: usize| self.oper_idle[other] > 0;
        let others = (0..CLASSES).filter(|other| *other < queue || *other > queue && !shaped(*other));
        match others.map(|other| self.frame_bits[other]).max().unwrap_or(0) {
            0 => self.frame_bits[queue],
            others if gated => others.max(self.frame_bits[queue]),
            others => others,
        }
    }
}

/// The shaped classes of a port on a link of this rate, by their place in [`Switch::classes`].
pub fn shaped(switch: &Switch, port: &Port, rate: u64) -> Vec<(usize, Slopes)> {
    let Some(shaping) = PortShaping::of(switch, port) else { return Vec::new() };
    let shares = shares(switch, port, rate);
    let classes = switch.classes.iter().enumerate().map(|(place, class)| (place, usize::from(class.queue)));
    let shaped = classes.filter(|(_, queue)| shaping.oper_idle[*queue] > 0);
    shaped.map(|(place, queue)| (place, shaping.slopes(queue, rate, shares.as_ref()))).collect()
}

fn shares(switch: &Switch, port: &Port, rate: u64) -> Option<Shares> {
    Schedule::of(switch, port, 0, rate).map(|schedule| schedule.shares())
}

impl Slopes {
    /// In one line: `idle slope 20Mbit, send slope -980Mbit, hiCredit 247 bits, loCredit -12094 bits`.
    pub fn words(&self) -> String {
        let Self { idle, send, hi_credit, lo_credit } = self;
        let (idle, send) = (show_bit_rate(*idle), show_bit_rate(send.unsigned_abs()));
        format!("idle slope {idle}, send slope -{send}, hiCredit {hi_credit} bits, loCredit {lo_credit} bits")
    }
}

/// Why the idle slopes of a port cannot be kept, one sentence each. Without the rate of its link, only what holds on any.
pub fn unfit(switch: &Switch, port: &Port, rate: Option<u64>) -> Vec<String> {
    let mut reasons = Vec::new();
    let named =
        |place: usize| Some((&switch.classes.get(place)?.name, port.idle_slopes.get(place).copied().flatten()?));
    let shaped: Vec<(usize, &String, u64)> =
        (0..switch.classes.len()).filter_map(|place| named(place).map(|(name, idle)| (place, name, idle))).collect();
    if let (Offload::TxTime { .. }, Some((_, name, _))) = (port.offload, shaped.first()) {
        reasons.push(format!(
            "`{name}` has an idle slope, and offload = \"txtime\" sends each frame at a time of its own: leave one of them out"
        ));
    }
    for (place, name, _) in &shaped {
        let queues = port.transmit_queues_of(*place);
        if queues > 1 {
            reasons.push(format!(
                "`{name}` has an idle slope and {queues} transmit queues, which cannot share one credit: leave one of them out"
            ));
        }
    }
    let Some(rate) = rate else { return reasons };
    let sum = shaped.iter().fold(0u64, |sum, (.., idle)| sum.saturating_add(*idle));
    if sum > rate {
        reasons.push(format!(
            "the idle slopes sum up to {}, and the link has {}: lower them",
            show_bit_rate(sum),
            show_bit_rate(rate)
        ));
        return reasons;
    }
    let (Some(shaping), Some(shares)) = (PortShaping::of(switch, port), shares(switch, port, rate)) else {
        return reasons;
    };
    for (place, name, oper) in shaped {
        let queue = usize::from(switch.classes[place].queue);
        let rivals = shaping.rivals(queue, Some(&shares)).map(|rival| shaping.idle(rival, Some(&shares)));
        let needed = rivals.fold(shaping.idle(queue, Some(&shares)), u64::saturating_add);
        if needed > rate {
            reasons.push(format!(
                "`{name}` is open for {} of {}, where an idle slope of {} needs, with those of higher classes, {} of a link \
                 with {}: lower it or lengthen the entries",
                exact(shares.open_ns[queue]),
                exact(shares.cycle_ns),
                show_bit_rate(oper),
                show_bit_rate(needed),
                show_bit_rate(rate)
            ));
        }
    }
    reasons
}

/// What of the idle slopes of a port is possible, and perhaps not meant; one sentence each.
pub fn doubtful(switch: &Switch, port: &Port, rate: Option<u64>) -> Vec<String> {
    let mut doubts = Vec::new();
    let Some(shaping) = PortShaping::of(switch, port) else { return doubts };
    let sum: u64 = shaping.oper_idle.iter().fold(0, |sum, idle| sum.saturating_add(*idle));
    if let Some(rate) = rate.filter(|rate| u128::from(sum) * 100 > u128::from(*rate) * u128::from(USUAL_PERCENT)) {
        doubts.push(format!(
            "the idle slopes sum up to {} of {}, more than the {USUAL_PERCENT} % that are usual (clause 34.3.1)",
            show_bit_rate(sum),
            show_bit_rate(rate)
        ));
    }
    let shares = rate.and_then(|rate| shares(switch, port, rate));
    let name =
        |queue: usize| switch.classes.iter().find(|class| usize::from(class.queue) == queue).map(|class| &class.name);
    for queue in (0..CLASSES).filter(|queue| shaping.oper_idle[*queue] > 0) {
        let together = shares.as_ref().map_or(u16::MAX, |shares| shares.open_with[queue]);
        let free = |other: &usize| {
            shaping.oper_idle[*other] == 0 && shaping.frame_bits[*other] > 0 && together & (1 << other) != 0
        };
        if let (Some(name), Some(other)) = (name(queue), (queue + 1..CLASSES).find(free).and_then(name)) {
            doubts.push(format!(
                "`{other}` goes before `{name}` and has no idle slope: nothing bounds how long `{name}` waits for it"
            ));
        }
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    const MEGABIT: u64 = 1_000_000;

    fn switch(port: &str) -> Switch {
        let text = format!(
            "[switch]\nname = \"s\"\nrole = \"station\"\n[[class]]\nname = \"a\"\nqueue = 3\nmatch = [{{ pcp = 3 }}]\n\
             [[class]]\nname = \"b\"\nqueue = 2\nmatch = [{{ pcp = 2 }}]\n[[class]]\nname = \"other\"\nqueue = 0\n\
             [[port]]\nname = \"p\"\nrate = \"100Mbit\"\n{port}"
        );
        config::read(&text).unwrap_or_else(|errors| panic!("{errors}")).switch
    }

    fn slopes(port: &str) -> Vec<Slopes> {
        let switch = switch(port);
        shaped(&switch, &switch.ports[0], 100 * MEGABIT).into_iter().map(|(_, slopes)| slopes).collect()
    }

    /// By hand: frames of 1542 octets on the wire are 12336 bits.
    #[test]
    fn credits_follow_from_slopes_and_frames() {
        let [a, b] = slopes("idle-slope = { a = \"20Mbit\", b = \"30Mbit\" }").try_into().unwrap();
        // 12336 x 20 / 100, and 12336 x 80 / 100 rounded away from zero.
        assert_eq!(a, Slopes { idle: 20 * MEGABIT, send: -80_000_000, hi_credit: 2_467, lo_credit: -9_869 });
        // 30 x (12336 + 9869) / (100 - 20).
        assert_eq!(b, Slopes { idle: 30 * MEGABIT, send: -70_000_000, hi_credit: 8_326, lo_credit: -8_636 });
        assert_eq!(a.words(), "idle slope 20Mbit, send slope -80Mbit, hiCredit 2467 bits, loCredit -9869 bits");
        // Smaller frames of the class itself owe less; those of others keep it waiting as before.
        let [small] = slopes("idle-slope = { a = \"20Mbit\" }\nmax-sdu = { a = 458 }").try_into().unwrap();
        assert_eq!((small.hi_credit, small.lo_credit), (2_467, -3_200));
    }

    /// The example of the guide.
    #[test]
    fn audio_and_video_on_a_gigabit() {
        let switch = switch("idle-slope = { a = \"20Mbit\", b = \"30Mbit\" }\nmax-sdu = { a = 300 }");
        let mut port = switch.ports[0].clone();
        port.idle_slopes[1] = Some(300 * MEGABIT);
        let [(_, audio), (_, video)] = shaped(&switch, &port, 1_000 * MEGABIT).try_into().unwrap();
        assert_eq!((audio.send, audio.hi_credit, audio.lo_credit), (-980_000_000, 246, -2_682));
        assert_eq!((video.send, video.hi_credit, video.lo_credit), (-700_000_000, 4_597, -8_636));
    }

    #[test]
    fn a_gate_that_is_open_for_a_part_makes_the_slope_steeper() {
        let gates = "[port.gates]\nentries = [{ open = [\"a\"], for = \"500us\" }, { open = [\"b\", \"other\"], for = \"1500us\" }]";
        let [a, b] = slopes(&format!("idle-slope = {{ a = \"20Mbit\", b = \"30Mbit\" }}\n{gates}")).try_into().unwrap();
        assert_eq!((a.idle, b.idle), (80 * MEGABIT, 40 * MEGABIT));
        // They are never open together, so that `b` waits for nothing that `a` has sent.
        assert_eq!(b.hi_credit, 12_336 * 40 / 100);
    }

    #[test]
    fn a_link_slower_than_what_is_reserved_has_bounds_all_the_same() {
        let switch = switch("idle-slope = { a = \"20Mbit\", b = \"30Mbit\" }");
        let shaping = PortShaping::of(&switch, &switch.ports[0]).unwrap();
        let b = shaping.slopes(2, 10 * MEGABIT, None);
        assert_eq!((b.idle, b.send, b.hi_credit, b.lo_credit), (10 * MEGABIT, 0, 12_336, 0));
    }
}
