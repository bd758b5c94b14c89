//! The credits of one port's shaped queues (IEEE 802.1Q-2022 clause 8.6.8.2), followed in time.
//!
//! They are whole billionths of a bit, so that a rate in bits per second times a time in ns is exact: nothing drifts.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_tsn::model::CLASSES;
use ontick_tsn::shaper::PortShaping;

use super::gate::Gates;
use super::rest::{LATE_NS, REST_NS};

/// Of a bit.
const BILLION: i64 = 1_000_000_000;

/// The credits of a port.
#[derive(Debug)]
pub struct Credits {
    shaping: PortShaping,
    /// One bit for each shaped queue.
    queues: u16,
    rate: u64,
    /// The list of gates that the slopes are made for.
    list: u64,
    credits: [Credit; CLASSES],
}

#[derive(Debug, Clone, Copy, Default)]
struct Credit {
    value: i64,
    /// So much of it, at most, is from times when the link was free and the core late: it does not count for the bound.
    late: i64,
    /// When it was or will be that: at the end of a frame that is being sent.
    at_ns: u64,
    /// While no list of gates is in force, and while one is.
    open: Bounds,
    gated: Bounds,
}

/// How fast a credit rises, and how far.
#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    idle: i64,
    hi: i64,
}

impl Credits {
    /// No queue has any credit; the link has this rate.
    pub fn new(shaping: PortShaping, rate: u64, gates: &Gates) -> Self {
        let queues = shaping.queues();
        let mut credits = Self { shaping, queues, rate, list: 0, credits: [Credit::default(); CLASSES] };
        credits.renew(gates);
        credits
    }

    /// Whether a queue is shaped.
    #[inline]
    pub fn shapes(&self, queue: usize) -> bool {
        self.queues & (1 << queue) != 0
    }

    /// Goes on where the credits of before are: who is in debt stays so. `waiting` has the queues with frames that wait.
    pub fn carry_over(&mut self, before: Option<&mut Self>, waiting: u16, now_ns: u64, gates: &Gates) {
        self.credits.iter_mut().for_each(|credit| credit.at_ns = now_ns);
        if let Some(before) = before {
            let of_both = self.queues & before.queues;
            for queue in (0..CLASSES).filter(|queue| of_both & (1 << queue) != 0) {
                before.follow(queue, waiting & (1 << queue) != 0, now_ns, gates);
                self.credits[queue] = before.credits[queue];
            }
        }
        self.renew(gates);
    }

    /// The link has another rate.
    pub fn set_rate(&mut self, rate: u64, gates: &Gates) {
        self.rate = rate;
        self.renew(gates);
    }

    /// It is another time than it was: debts stay.
    pub fn clock_was_set(&mut self, now_ns: u64) {
        for credit in &mut self.credits {
            (credit.value, credit.late, credit.at_ns) = (credit.value.min(0), 0, now_ns);
        }
    }

    #[cold]
    fn renew(&mut self, gates: &Gates) {
        self.list = gates.changes();
        let shares = gates.lists().0.map(|list| list.shares());
        for (queue, credit) in self.credits.iter_mut().enumerate().filter(|(queue, _)| self.queues & (1 << queue) != 0)
        {
            let bounds = |shares| {
                let slopes = self.shaping.slopes(queue, self.rate, shares);
                Bounds { idle: slopes.idle as i64, hi: slopes.hi_credit as i64 * BILLION }
            };
            (credit.open, credit.gated) = (bounds(None), bounds(shares.as_ref()));
            credit.value = credit.value.min(credit.open.hi.max(credit.gated.hi));
        }
    }

    /// Of queues with frames that wait, those that may send a frame that begins then: not shaped, or not in debt. The link
    /// is or was free from `free_ns` on.
    pub fn allowed(&mut self, waiting: u16, free_ns: u64, begins_ns: u64, gates: &Gates) -> u16 {
        let mut allowed = waiting;
        let mut shaped = waiting & self.queues;
        while shaped != 0 {
            let queue = shaped.ilog2() as usize;
            shaped &= !(1 << queue);
            self.follow(queue, true, free_ns.min(begins_ns), gates);
            self.was_late(queue, begins_ns, gates);
            if self.credits[queue].value < 0 {
                allowed &= !(1 << queue);
            }
        }
        allowed
    }

    /// A frame comes into a queue that was empty.
    pub fn first_comes(&mut self, queue: usize, now_ns: u64, gates: &Gates) {
        if self.shapes(queue) {
            self.follow(queue, false, now_ns, gates);
        }
    }

    /// A frame of a queue occupies the link from then to then, and was handed over while frames of these waited.
    pub fn sent(&mut self, queue: usize, waiting: u16, bits: u64, begins_ns: u64, ends_ns: u64, gates: &Gates) {
        if self.list != gates.changes() {
            self.renew(gates);
        }
        let mut shaped = (waiting | 1 << queue) & self.queues;
        while shaped != 0 {
            let queue = shaped.ilog2() as usize;
            shaped &= !(1 << queue);
            self.was_late(queue, begins_ns, gates);
        }
        if !self.shapes(queue) {
            return;
        }
        let credit = &mut self.credits[queue];
        // At the send slope, by the bits that the frame has: the time that it takes is rounded.
        let risen = credit.bounds(begins_ns, gates).idle.saturating_mul(ends_ns.saturating_sub(begins_ns) as i64);
        credit.value = credit.value.saturating_add(risen).saturating_sub(bits as i64 * BILLION);
        credit.at_ns = ends_ns;
        if credit.value < 0 {
            credit.late = 0;
        }
    }

    /// When the first of queues with frames that wait is out of debt, if its gate stays open.
    pub fn out_of_debt_ns(&self, waiting: u16, gates: &Gates) -> Option<u64> {
        let in_debt = |queue: &usize| waiting & self.queues & (1 << queue) != 0 && self.credits[*queue].value < 0;
        let when = |queue: usize| {
            let credit = &self.credits[queue];
            let idle = credit.bounds(credit.at_ns, gates).idle.max(1) as u64;
            credit.at_ns.saturating_add(credit.value.unsigned_abs().div_ceil(idle))
        };
        (0..CLASSES).filter(in_debt).map(when).min()
    }

    /// The credit of a queue at a time that is not before those asked for earlier: it rises while the gate is open and
    /// frames wait, or while it is below zero; an empty queue has none above zero.
    fn follow(&mut self, queue: usize, waits: bool, now_ns: u64, gates: &Gates) {
        if self.list != gates.changes() {
            self.renew(gates);
        }
        let credit = &mut self.credits[queue];
        if now_ns <= credit.at_ns {
            return;
        }
        if waits {
            credit.rise(queue, now_ns, gates);
        } else {
            credit.value = credit.risen(queue, now_ns, gates).min(0);
            credit.late = 0;
        }
        credit.at_ns = now_ns;
    }

    /// The link was free since the time of a queue's credit, and frames wait: if there were none to pay for, one of them
    /// would have gone by now. Behind gates it may have been one that does not end before its gate closes.
    fn was_late(&mut self, queue: usize, now_ns: u64, gates: &Gates) {
        let credit = &mut self.credits[queue];
        if now_ns <= credit.at_ns {
            return;
        }
        if !gates.list_is_in_force(now_ns) {
            credit.gains_late(queue, now_ns, LATE_NS, gates);
        }
        credit.rise(queue, now_ns, gates);
        credit.at_ns = now_ns;
    }

    /// The core slept on purpose between these times: queues with frames that wait lose nothing by that.
    pub fn slept(&mut self, waiting: u16, from_ns: u64, until_ns: u64, gates: &Gates) {
        let shaped = waiting & self.queues;
        for queue in (0..CLASSES).filter(|queue| shaped & (1 << queue) != 0) {
            self.follow(queue, true, from_ns, gates);
            let credit = &mut self.credits[queue];
            if credit.at_ns < until_ns {
                credit.gains_late(queue, until_ns, REST_NS + 2 * LATE_NS, gates);
                credit.rise(queue, until_ns, gates);
                credit.at_ns = until_ns;
            }
        }
    }
}

impl Credit {
    /// What it gains until then above zero is not counted for its bound, but for no more than so long in all.
    fn gains_late(&mut self, queue: usize, now_ns: u64, most_ns: u64, gates: &Gates) {
        let most = self.bounds(self.at_ns, gates).idle.saturating_mul(most_ns as i64);
        let gained = (self.risen(queue, now_ns, gates) - self.value.max(0)).max(0);
        self.late = self.late.max(self.late.saturating_add(gained).min(most));
    }

    /// It rises until then, as far as it may.
    fn rise(&mut self, queue: usize, now_ns: u64, gates: &Gates) {
        let most = self.bounds(self.at_ns, gates).hi.saturating_add(self.late);
        if self.value < most {
            self.value = self.risen(queue, now_ns, gates).min(most);
        }
    }

    /// What it is at a later time if nothing bounds it.
    fn risen(&self, queue: usize, now_ns: u64, gates: &Gates) -> i64 {
        let open_ns = gates.open_between_ns(queue, self.at_ns, now_ns).min(i64::MAX as u64) as i64;
        self.value.saturating_add(self.bounds(self.at_ns, gates).idle.saturating_mul(open_ns))
    }

    #[inline]
    fn bounds(&self, now_ns: u64, gates: &Gates) -> Bounds {
        if gates.list_is_in_force(now_ns) { self.gated } else { self.open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_tsn::config;
    use ontick_tsn::model::{Entry, Switch};
    use ontick_tsn::schedule::{NEVER, Schedule};
    use ontick_tsn::shaper::Slopes;
    use proptest::prelude::*;

    const GIGABIT: u64 = 1_000_000_000;
    const QUEUE: usize = 3;

    fn switch(slope: &str, sdu: u32) -> Switch {
        let text = format!(
            "[switch]\nname = \"s\"\nrole = \"station\"\n[[class]]\nname = \"video\"\nqueue = 3\nmatch = [{{ pcp = 3 }}]\n\
             [[class]]\nname = \"other\"\nqueue = 0\n[[port]]\nname = \"p\"\nrate = \"1Gbit\"\n\
             idle-slope = {{ video = \"{slope}\" }}\nmax-sdu = {{ video = {sdu}, other = {sdu} }}"
        );
        config::read(&text).unwrap_or_else(|errors| panic!("{errors}")).switch
    }

    fn shaping(switch: &Switch) -> PortShaping {
        PortShaping::of(switch, &switch.ports[0]).unwrap()
    }

    fn credit(credits: &Credits) -> i64 {
        credits.credits[QUEUE].value
    }

    fn within(slopes: &Slopes, credits: &Credits) -> bool {
        (slopes.lo_credit * BILLION..=slopes.hi_credit as i64 * BILLION).contains(&credit(credits))
    }

    /// Frames without end in the shaped class and in the other one, for a second.
    #[test]
    fn the_rate_is_the_idle_slope() {
        for (slope, rate) in
            [("1Mbit", 1_000_000u64), ("20Mbit", 20_000_000), ("333.333Mbit", 333_333_000), ("750Mbit", 750_000_000)]
        {
            let switch = switch(slope, 1500);
            let (shaping, mut gates) = (shaping(&switch), Gates::new(None));
            let slopes = shaping.slopes(QUEUE, GIGABIT, None);
            let mut credits = Credits::new(shaping, GIGABIT, &gates);
            let (mut now_ns, mut sent_bits) = (0, 0);
            while now_ns < 1_000_000_000 {
                gates.follow(now_ns);
                // At 1 Gbit/s a bit takes a nanosecond.
                let ours = credits.allowed(1 << QUEUE, now_ns, now_ns, &gates) != 0;
                let bits = if ours { 12_336 } else { 8_000 };
                if ours {
                    credits.sent(QUEUE, 0, bits, now_ns, now_ns + bits, &gates);
                    sent_bits += bits;
                    assert!(within(&slopes, &credits), "{}", credit(&credits));
                }
                now_ns += bits;
            }
            assert!(sent_bits.abs_diff(rate) * 200 <= rate + 200 * 12_336, "{sent_bits} of {rate}");
        }
    }

    /// The same where each frame is handed over up to 20 us later than the link is free; it would be 97 % if that counted as
    /// a wait.
    #[test]
    fn late_hand_overs_take_nothing_from_the_rate() {
        let (switch, gates) = (switch("100Mbit", 1500), Gates::new(None));
        let mut credits = Credits::new(shaping(&switch), GIGABIT, &gates);
        let (bits, mut free_ns, mut sent_bits) = (12_336, 0u64, 0);
        credits.first_comes(QUEUE, 0, &gates);
        for number in 0.. {
            let sees_ns = free_ns + number * 3_701 % 18_000;
            let begins_ns = sees_ns + 1_000 + number * 41 % 1_000;
            let ours = credits.allowed(1 << QUEUE, free_ns, sees_ns, &gates) != 0;
            free_ns = begins_ns + bits;
            credits.sent(if ours { QUEUE } else { 0 }, 1 << QUEUE, bits, begins_ns, free_ns, &gates);
            if free_ns > 1_000_000_000 {
                break;
            }
            sent_bits += if ours { bits } else { 0 };
        }
        assert!(sent_bits.abs_diff(100_000_000) * 200 <= 100_000_000, "{sent_bits}");
    }

    /// A class that was idle has saved nothing; one that had to wait sends what it has waited for, and no more.
    #[test]
    fn a_burst_is_what_was_waited_for() {
        let switch = switch("100Mbit", 1500);
        let (shaping, gates) = (shaping(&switch), Gates::new(None));
        let slopes = shaping.slopes(QUEUE, GIGABIT, None);
        let burst = |waits_ns: u64| {
            let mut credits = Credits::new(shaping, GIGABIT, &gates);
            let mut now_ns = 1_000_000_000;
            credits.first_comes(QUEUE, now_ns, &gates);
            now_ns += waits_ns;
            let begin_ns = now_ns;
            while credits.allowed(1 << QUEUE, now_ns, now_ns, &gates) != 0 {
                credits.sent(QUEUE, 0, 672, now_ns, now_ns + 672, &gates);
                now_ns += 672;
            }
            now_ns - begin_ns
        };
        // The first frame goes with a credit of zero.
        assert_eq!(burst(0), 672);
        // Waiting for the largest frame saves hiCredit, which the send slope takes as long to use up; and one frame more.
        let most_ns = (slopes.hi_credit * GIGABIT).div_ceil(slopes.send.unsigned_abs()) + 672;
        for waits_ns in [12_336, 50_000, 10_000_000] {
            assert!(
                (most_ns - 672..=most_ns).contains(&burst(waits_ns)),
                "{waits_ns}: {} of {most_ns}",
                burst(waits_ns)
            );
        }
    }

    /// 100 Mbit/s are 7 000 bits in a rest of 70 us, which is five times hiCredit.
    #[test]
    fn a_rest_of_the_core_takes_nothing_from_a_class_that_waits() {
        let switch = switch("100Mbit", 1500);
        let gates = Gates::new(None);
        let slopes = shaping(&switch).slopes(QUEUE, GIGABIT, None);
        let mut credits = Credits::new(shaping(&switch), GIGABIT, &gates);
        credits.first_comes(QUEUE, 0, &gates);
        credits.slept(1 << QUEUE, 1_000, 71_000, &gates);
        assert_eq!(credit(&credits), 7_100 * BILLION);
        // What it waits for then is bounded as ever, and all of it once that is used up.
        credits.allowed(1 << QUEUE, 200_000, 200_000, &gates);
        assert_eq!(credit(&credits), (7_000 + slopes.hi_credit as i64) * BILLION);
        credits.sent(QUEUE, 0, 10_000, 200_000, 210_000, &gates);
        credits.allowed(1 << QUEUE, 1_000_000, 1_000_000, &gates);
        assert_eq!(credit(&credits), slopes.hi_credit as i64 * BILLION);
        // Without frames nothing is saved, and a frame on the wire is charged first.
        credits.first_comes(QUEUE, 1_000_001, &gates);
        credits.slept(0, 1_000_001, 1_070_000, &gates);
        credits.sent(QUEUE, 0, 12_336, 1_070_000, 1_082_336, &gates);
        let owed = credit(&credits);
        credits.slept(1 << QUEUE, 1_071_000, 1_083_336, &gates);
        assert_eq!(credit(&credits) - owed, 100 * BILLION);
    }

    /// 100 Mbit/s are 100 bits in a microsecond.
    #[test]
    fn a_late_core_takes_nothing_from_a_class_that_waits_at_a_free_link() {
        let switch = switch("100Mbit", 1500);
        let hi_credit = shaping(&switch).slopes(QUEUE, GIGABIT, None).hi_credit as i64;
        let saved = |gates: &Gates, late_ns: u64| {
            let mut credits = Credits::new(shaping(&switch), GIGABIT, gates);
            credits.first_comes(QUEUE, 1_000, gates);
            // It waits for others for longer than it can save for, then for the core.
            credits.allowed(1 << QUEUE, 501_000, 501_000 + late_ns, gates);
            credit(&credits) / BILLION
        };
        let open = Gates::new(None);
        assert_eq!(saved(&open, 0), hi_credit);
        assert_eq!(saved(&open, 20_000), hi_credit + 2_000);
        assert_eq!(saved(&open, LATE_NS), hi_credit + 10_000);
        assert_eq!(saved(&open, 3_000_000), hi_credit + 10_000);
        // What it waits for then counts as ever, and with the frame that it sends all is begun anew.
        let mut credits = Credits::new(shaping(&switch), GIGABIT, &open);
        credits.first_comes(QUEUE, 0, &open);
        credits.sent(0, 1 << QUEUE, 12_336, 20_000, 32_336, &open);
        credits.allowed(1 << QUEUE, 32_336, 32_336, &open);
        assert_eq!(credit(&credits) / BILLION, 2_000 + hi_credit);
        credits.sent(QUEUE, 1 << QUEUE, 12_336, 32_336, 44_672, &open);
        credits.allowed(1 << QUEUE, 1_000_000, 1_000_000, &open);
        assert_eq!(credit(&credits) / BILLION, hi_credit);
        // Before a gate closes it may be the frame that does not fit.
        let mut gates = Gates::new(Some(Schedule::new(0, &[Entry { open: 1 << QUEUE, for_ns: 1_000_000 }])));
        gates.follow(1_000);
        let gated = shaping(&switch).slopes(QUEUE, GIGABIT, gates.lists().0.map(|list| list.shares()).as_ref());
        assert_eq!(saved(&gates, 20_000), gated.hi_credit as i64);
        // A debt that is paid while the core is late has been paid.
        let mut credits = Credits::new(shaping(&switch), GIGABIT, &open);
        credits.sent(QUEUE, 0, 12_336, 0, 12_336, &open);
        credits.allowed(1 << QUEUE, 12_336, 200_000, &open);
        assert_eq!(credit(&credits), 200_000 * 100_000_000 - 12_336 * BILLION);
    }

    #[test]
    fn a_queue_that_is_empty_loses_its_credit_and_keeps_its_debt() {
        let switch = switch("100Mbit", 1500);
        let gates = Gates::new(None);
        let mut credits = Credits::new(shaping(&switch), GIGABIT, &gates);
        credits.first_comes(QUEUE, 0, &gates);
        credits.allowed(1 << QUEUE, 5_000, 5_000, &gates);
        assert_eq!(credit(&credits), 500 * BILLION);
        credits.first_comes(QUEUE, 5_001, &gates);
        assert_eq!(credit(&credits), 0);
        credits.sent(QUEUE, 0, 1_000, 5_001, 6_001, &gates);
        assert_eq!((credit(&credits), credits.out_of_debt_ns(1 << QUEUE, &gates)), (-900 * BILLION, Some(15_001)));
        credits.first_comes(QUEUE, 10_001, &gates);
        assert_eq!(credit(&credits), -500 * BILLION);
        credits.first_comes(QUEUE, 1_000_000, &gates);
        assert_eq!(credit(&credits), 0);
    }

    #[test]
    fn a_new_list_of_gates_changes_the_slope_at_its_base_time() {
        let switch = switch("100Mbit", 1500);
        let mut gates = Gates::new(None);
        let mut credits = Credits::new(shaping(&switch), GIGABIT, &gates);
        let half = [Entry { open: 1 << QUEUE, for_ns: 5_000 }, Entry { open: 1, for_ns: 5_000 }];
        gates.change(Some(Schedule::new(100_000, &half)));
        credits.sent(QUEUE, 0, 12_336, 0, 12_336, &gates);
        let owed = credit(&credits);
        for (now_ns, risen) in [(90_000, 77_664 * 100), (100_000, 87_664 * 100), (101_000, 87_664 * 100 + 1_000 * 200)]
        {
            gates.follow(now_ns);
            credits.allowed(1 << QUEUE, now_ns, now_ns, &gates);
            assert_eq!(credit(&credits) - owed, risen * BILLION / 1_000, "{now_ns}");
        }
    }

    /// The standard's rules, nanosecond by nanosecond.
    struct Model<'a> {
        slopes: Slopes,
        list: Option<&'a Schedule>,
        credit: i64,
        now_ns: u64,
    }

    impl Model<'_> {
        fn is_open(&self) -> bool {
            self.list.is_none_or(|list| list.at(self.now_ns).open & (1 << QUEUE) != 0)
        }

        fn pass(&mut self, until_ns: u64, waits: bool, sends: bool) {
            while self.now_ns < until_ns {
                if sends {
                    self.credit += self.slopes.send;
                } else if self.is_open() && (waits || self.credit < 0) {
                    self.credit += self.slopes.idle as i64;
                }
                let most = if waits || sends { self.slopes.hi_credit as i64 * BILLION } else { 0 };
                self.credit = self.credit.min(most);
                self.now_ns += 1;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Frames come, others are sent in between, gates move: credit and decisions are those of the rules.
        #[test]
        fn it_does_what_the_rules_say(
            windows in prop::option::of((500u64..4_000, 500u64..4_000)),
            megabits in 10u64..400,
            events in prop::collection::vec((0u64..3_000, 0u64..4, any::<bool>()), 1..40),
        ) {
            let switch = switch(&format!("{megabits}Mbit"), 100);
            let shaping = shaping(&switch);
            let list = windows.map(|(ours, others)| {
                Schedule::new(0, &[Entry { open: 1 | 1 << QUEUE, for_ns: ours }, Entry { open: 1, for_ns: others }])
            });
            let shares = list.as_ref().map(Schedule::shares);
            let slopes = shaping.slopes(QUEUE, GIGABIT, shares.as_ref());
            let mut gates = Gates::new(list.clone());
            let mut credits = Credits::new(shaping, GIGABIT, &gates);
            let mut model = Model { slopes, list: list.as_ref(), credit: 0, now_ns: 0 };
            let mut waiting = 0u64;
            // 100 octets of data are 1136 bits on the wire, which are as many nanoseconds here.
            let frame_ns = 1_136;
            for (pause_ns, coming, other) in events {
                model.pass(model.now_ns + pause_ns, waiting > 0, false);
                gates.follow(model.now_ns);
                if coming > 0 && waiting == 0 {
                    credits.first_comes(QUEUE, model.now_ns, &gates);
                }
                waiting += coming;
                if other {
                    model.pass(model.now_ns + frame_ns, waiting > 0, false);
                    gates.follow(model.now_ns);
                }
                let view = *gates.view();
                let fits = view.closes_ns[QUEUE] == NEVER || model.now_ns + frame_ns <= view.closes_ns[QUEUE];
                let ready = waiting > 0 && view.open & (1 << QUEUE) != 0 && fits;
                if waiting > 0 {
                    let allowed = credits.allowed(1 << QUEUE, model.now_ns, model.now_ns, &gates) != 0;
                    prop_assert_eq!(credit(&credits), model.credit);
                    prop_assert_eq!(allowed, model.credit >= 0);
                }
                if ready && model.credit >= 0 {
                    credits.sent(QUEUE, 0, frame_ns, model.now_ns, model.now_ns + frame_ns, &gates);
                    waiting -= 1;
                    model.pass(model.now_ns + frame_ns, waiting > 0, true);
                    prop_assert_eq!(credit(&credits), model.credit);
                }
                prop_assert!(within(&slopes, &credits), "{} {:?}", credit(&credits), slopes);
            }
        }
    }
}
