//! The gates of one port, followed in time.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_tsn::model::{CLASSES, GateOverride};
use ontick_tsn::schedule::{NEVER, Schedule, View};

/// Follows a gate control list, and changes to a new one at its base time.
#[derive(Debug)]
pub struct Gates {
    oper: Option<Schedule>,
    admin: Option<Schedule>,
    /// One that is needed no more, kept until somebody else can free its memory.
    spent: Option<Schedule>,
    /// In place of both, which go on behind it.
    forced: Option<GateOverride>,
    view: View,
    /// Where in the list the last look was.
    place: usize,
    longest_ns: [u64; CLASSES],
    /// How many lists have been in force.
    changes: u64,
}

impl Gates {
    /// In force from its base time on; all gates are open before, and always where there is no list.
    pub fn new(schedule: Option<Schedule>) -> Self {
        let mut gates = Self {
            oper: None,
            admin: None,
            spent: None,
            forced: None,
            view: View::OPEN,
            place: 0,
            longest_ns: [NEVER; CLASSES],
            changes: 0,
        };
        gates.change(schedule);
        gates
    }

    /// Takes a new list, which is in force from its base time on (AdminControlList, IEEE 802.1Q clause 8.6.9.3);
    /// nothing opens all gates at once. Returns the lists that are not needed any more.
    pub fn change(&mut self, schedule: Option<Schedule>) -> [Option<Schedule>; 2] {
        let spent = self.spent.take();
        let replaced = match (schedule, &self.oper) {
            (None, _) => {
                self.spent = self.admin.take();
                self.oper.take()
            }
            (Some(schedule), Some(_)) => self.admin.replace(schedule),
            (Some(schedule), None) => self.oper.replace(schedule),
        };
        self.set_longest();
        self.forget();
        [spent, replaced]
    }

    /// Follows the lists of others until the base time of its own. Those others have what is needed no more.
    pub fn succeed(&mut self, others: &mut Self) {
        let own = self.oper.take();
        std::mem::swap(self, others);
        [others.spent, others.oper] = self.change(own);
    }

    /// Opens or closes all gates at once; nothing has them follow their lists again, at once.
    pub fn force(&mut self, forced: Option<GateOverride>) {
        self.forced = forced;
        self.set_longest();
        self.forget();
    }

    /// What was looked up before does not count any more: the clock was set.
    pub fn forget(&mut self) {
        self.view = View { from_ns: NEVER, until_ns: 0, ..View::OPEN };
    }

    /// The gates now. Whoever looks again and again pays for it where gates move.
    #[inline]
    pub fn at(&mut self, now_ns: u64) -> &View {
        self.follow(now_ns);
        &self.view
    }

    /// As [`Gates::at`], for who asks for [`Gates::view`] afterwards.
    #[inline]
    pub fn follow(&mut self, now_ns: u64) {
        if now_ns >= self.view.until_ns || now_ns < self.view.from_ns {
            self.look(now_ns);
        }
    }

    /// The gates as they were last looked at.
    #[inline]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The gates as they were last looked at; nothing before they were.
    #[inline]
    pub fn known(&self) -> Option<&View> {
        (self.view.from_ns != NEVER).then_some(&self.view)
    }

    fn look(&mut self, now_ns: u64) {
        if self.admin.as_ref().is_some_and(|admin| now_ns >= admin.base_ns()) {
            self.spent = std::mem::replace(&mut self.oper, self.admin.take());
            self.set_longest();
        }
        if let Some(forced) = self.forced {
            self.view = match forced {
                GateOverride::Open => View::OPEN,
                GateOverride::Closed => View::CLOSED,
            };
            return;
        }
        let place = &mut self.place;
        self.view = self.oper.as_ref().map_or(View::OPEN, |oper| oper.at_near(now_ns, place));
        if let Some(admin) = &self.admin {
            // The old list ends where the new one begins; what does not end before must not begin.
            let end_ns = admin.base_ns();
            self.view.until_ns = self.view.until_ns.min(end_ns);
            self.view.closes_ns = self.view.closes_ns.map(|closes_ns| closes_ns.min(end_ns));
        }
    }

    fn set_longest(&mut self) {
        self.changes += 1;
        self.longest_ns = match self.forced {
            None => self.oper.as_ref().map_or([NEVER; CLASSES], Schedule::longest_ns),
            Some(GateOverride::Open) => [NEVER; CLASSES],
            Some(GateOverride::Closed) => [0; CLASSES],
        };
    }

    /// How long the gate of a queue is open at most.
    #[inline]
    pub fn longest_ns(&self, queue: usize) -> u64 {
        self.longest_ns[queue]
    }

    /// After how long the list in force begins anew; never where there is none.
    #[inline]
    pub fn cycle_ns(&self) -> u64 {
        self.followed().map_or(NEVER, Schedule::cycle_ns)
    }

    /// Another number whenever the list in force may be another.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether the gates follow a list at that time: there is one, and its base time has passed.
    #[inline]
    pub fn list_is_in_force(&self, now_ns: u64) -> bool {
        self.followed().is_some_and(|oper| now_ns >= oper.base_ns())
    }

    /// Whether there is a list, in force or not.
    #[inline]
    pub fn has_list(&self) -> bool {
        self.oper.is_some()
    }

    fn followed(&self) -> Option<&Schedule> {
        self.oper.as_ref().filter(|_| self.forced.is_none())
    }

    /// For how long a gate is open between two moments, by the list in force.
    #[inline]
    pub fn open_between_ns(&self, queue: usize, from_ns: u64, until_ns: u64) -> u64 {
        let View { from_ns: begins_ns, until_ns: ends_ns, open, .. } = self.view;
        match self.followed() {
            Some(oper) if from_ns < begins_ns || until_ns > ends_ns => oper.open_between_ns(queue, from_ns, until_ns),
            // What was forced since the last look holds as well.
            _ if self.forced == Some(GateOverride::Closed) => 0,
            _ if open & (1 << queue) != 0 => until_ns - from_ns,
            _ => 0,
        }
    }

    /// The list in force or about to be, and one that waits for its base time.
    pub fn lists(&self) -> (Option<&Schedule>, Option<&Schedule>) {
        (self.oper.as_ref(), self.admin.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_tsn::model::Entry;

    fn list(base_ns: u64, open: u16) -> Schedule {
        Schedule::new(base_ns, &[Entry { open, for_ns: 600 }, Entry { open: 128, for_ns: 400 }])
    }

    #[test]
    fn a_new_list_takes_over_at_its_base_time() {
        let mut gates = Gates::new(Some(list(1_000, 1)));
        assert_eq!(gates.at(999).open, u16::MAX);
        assert_eq!(gates.at(1_000).open, 1);
        gates.change(Some(list(10_300, 2)));
        let view = *gates.at(10_100);
        assert_eq!((view.open, view.until_ns, view.closes_ns[0]), (1, 10_300, 10_300));
        assert_eq!(gates.at(10_300).open, 2);
        assert_eq!(gates.longest_ns(1), 600);
        assert!(gates.has_list());
        // Nothing is freed while gates are followed: whoever changes them next has what was in force.
        let spent = gates.change(Some(list(20_300, 4)));
        assert_eq!(spent.map(|list| list.map(|list| list.base_ns())), [Some(1_000), None]);
        let spent = gates.change(None);
        assert_eq!(spent.map(|list| list.map(|list| list.base_ns())), [None, Some(10_300)]);
        assert_eq!((*gates.at(10_400), gates.has_list()), (View::OPEN, false));
        // One that was never in force waits for the change after.
        let spent = gates.change(None);
        assert_eq!(spent.map(|list| list.map(|list| list.base_ns())), [Some(20_300), None]);
    }

    #[test]
    fn lists_go_on_behind_what_is_forced() {
        let mut gates = Gates::new(Some(list(1_000, 1)));
        assert_eq!(gates.at(1_100).open, 1);
        gates.force(Some(GateOverride::Open));
        assert_eq!(*gates.at(1_200), View::OPEN);
        assert_eq!((gates.longest_ns(1), gates.cycle_ns(), gates.list_is_in_force(1_200)), (NEVER, NEVER, false));
        gates.force(Some(GateOverride::Closed));
        assert_eq!((gates.longest_ns(0), gates.open_between_ns(0, 1_200, 1_300)), (0, 0));
        assert_eq!((*gates.at(1_300), gates.open_between_ns(0, 1_200, 1_300)), (View::CLOSED, 0));
        // A new list is to come meanwhile, and its time passes.
        gates.change(Some(list(5_000, 2)));
        assert_eq!(gates.at(1_400).open, 0);
        gates.force(None);
        assert_eq!((gates.at(1_500).open, gates.longest_ns(0), gates.cycle_ns()), (1, 600, 1_000));
        gates.force(Some(GateOverride::Closed));
        assert_eq!(gates.at(5_100).open, 0);
        gates.force(None);
        assert_eq!((gates.at(5_200).open, gates.longest_ns(1)), (2, 600));
    }

    #[test]
    fn a_clock_that_was_set_back_is_followed() {
        let mut gates = Gates::new(Some(list(1_000, 1)));
        assert_eq!(gates.at(5_700).open, 128);
        assert_eq!(gates.at(2_100).open, 1);
    }

    #[test]
    fn what_was_never_looked_at_is_not_known() {
        let mut gates = Gates::new(Some(list(1_000, 1)));
        assert_eq!(gates.known(), None);
        let view = *gates.at(1_100);
        assert_eq!((gates.known(), view.until_ns, view.opens), (Some(&view), 1_600, 128));
        // The clock was set, or the list is another.
        gates.forget();
        assert_eq!(gates.known(), None);
        gates.at(1_100);
        gates.change(Some(list(9_000, 2)));
        assert_eq!(gates.known(), None);
    }
}
