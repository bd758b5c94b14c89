//! Credits held against the standard's rules, nanosecond by nanosecond.

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
        assert!((most_ns - 672..=most_ns).contains(&burst(waits_ns)), "{waits_ns}: {} of {most_ns}", burst(waits_ns));
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
    for (now_ns, risen) in [(90_000, 77_664 * 100), (100_000, 87_664 * 100), (101_000, 87_664 * 100 + 1_000 * 200)] {
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
