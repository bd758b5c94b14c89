//! What sampling must reach.

use super::missed::Missed;
use super::rate::{CLIENTS, Figures};
use super::{RATES_KHZ, Samples};
use crate::goals::Goal;
use crate::show::{percent_down, percent_up};

/// Samples within 3 µs, at these rates.
const IN_TIME: [(u64, f64); 2] = [(1, 0.99), (10, 0.995)];
/// Slots missed while the hypervisor was there, at this rate.
const MISSED_KHZ: u64 = 100;
const MISSED: f64 = 0.002;

/// All of them, in order.
pub fn goals(samples: &Samples) -> Vec<Goal> {
    let at = |khz| samples.rates.iter().find(|seen| seen.khz == khz);
    let mut goals: Vec<Goal> = IN_TIME.iter().map(|(khz, least)| in_time(*khz, *least, at(*khz))).collect();
    let spun = samples.spun.iter().filter(|(khz, _)| *khz == MISSED_KHZ).map(|(_, missed)| *missed);
    goals.push(missed(at(MISSED_KHZ), &spun.collect::<Vec<_>>()));
    goals.extend(RATES_KHZ.iter().flat_map(|khz| [complete(*khz, at(*khz)), lateness_named(*khz, at(*khz))]));
    goals
}

fn in_time(khz: u64, least: f64, seen: Option<&Figures>) -> Goal {
    let seen = seen.map(|seen| (percent_down(seen.in_time), seen.in_time >= least));
    Goal::new(format!("samples within 3us of their time, {khz} kHz"), format!("≥ {} %", least * 100.0), seen)
}

fn missed(seen: Option<&Figures>, spun: &[Missed]) -> Goal {
    let spun: Vec<String> = spun.iter().filter_map(Missed::beyond).map(percent_up).collect();
    let seen = seen.and_then(|seen| seen.missed.beyond()).map(|share| {
        (format!("{} (a loop that only spins: {})", percent_up(share), spun.join(" and ")), share <= MISSED)
    });
    let what = format!("slots missed while the hypervisor was there, {MISSED_KHZ} kHz");
    Goal::new(what, format!("≤ {} %", MISSED * 100.0), seen)
}

fn complete(khz: u64, seen: Option<&Figures>) -> Goal {
    let seen = seen.map(|seen| {
        let (lost, unsound): (u64, u64) = (seen.lost.iter().sum(), seen.unsound.iter().sum());
        let text = format!("{lost} of {} lost, {unsound} numbers or times wrong", seen.samples * CLIENTS.len() as u64);
        (text, lost + unsound == 0 && seen.samples > 0)
    });
    Goal::new(format!("samples lost between core and four clients, {khz} kHz"), "0 lost, 0 wrong", seen)
}

fn lateness_named(khz: u64, seen: Option<&Figures>) -> Goal {
    let seen = seen.and_then(|seen| {
        let (late, named) = seen.late;
        named.map(|named| (format!("{named} of {late}"), named == late))
    });
    Goal::new(format!("samples later than a period that steal or a named cause explains, {khz} kHz"), "all", seen)
}

#[cfg(test)]
mod tests {
    use super::super::rate::tests::seen_of;
    use super::*;

    #[test]
    fn samples_are_held_against_their_goals() {
        let of = |lost, late, share| {
            let seen = seen_of(50, lost, late, share);
            [in_time(1, 0.99, Some(&seen)), complete(50, Some(&seen)), lateness_named(50, Some(&seen))]
                .map(|goal| goal.reached)
        };
        assert_eq!(of(0, (5, Some(5)), 0.99), [Some(true); 3]);
        assert_eq!(of(1, (5, Some(4)), 0.9899), [Some(false); 3]);
        assert_eq!(of(0, (5, None), 1.0), [Some(true), Some(true), None]);
        let unsound = Figures { unsound: [0, 0, 0, 1], ..seen_of(1, 0, (0, Some(0)), 1.0) };
        assert_eq!(complete(1, Some(&unsound)).reached, Some(false));
    }

    #[test]
    fn what_is_missed_is_held_against_its_goal() {
        let of = |all, away| {
            let seen = Figures { missed: Missed { slots: 1000, all, away }, ..seen_of(100, 0, (0, Some(0)), 1.0) };
            missed(Some(&seen), &[Missed { slots: 1000, all: 3, away: Some(0) }])
        };
        assert_eq!(
            [of(5, Some(3)).reached, of(5, Some(2)).reached, of(0, None).reached],
            [Some(true), Some(false), None]
        );
        assert_eq!(of(5, Some(2)).seen, "0.300 % (a loop that only spins: 0.300 %)");
    }
}
