//! From one observation to the next: what happened.

use super::client::{Observation, Offset};
use super::configuration::Node;
use super::management::{ClockIdentity, PortState};
use super::role::Role;
use super::summary::Summary;

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The node gives the time; `named`: as the file says.
    Grandmaster {
        /// Whether the file names it, or nobody.
        named: bool,
    },
    /// It follows a grandmaster by this port.
    Follows {
        /// Who it is.
        grandmaster: ClockIdentity,
        /// From 1.
        port: u16,
    },
    /// The grandmaster that it followed is lost.
    Lost {
        /// Who it was.
        grandmaster: ClockIdentity,
    },
    /// It follows the one again that was lost.
    Returned {
        /// Who it is.
        grandmaster: ClockIdentity,
        /// Since it was lost, in ns.
        after_ns: u64,
    },
    /// Its clock is not in step any more with the grandmaster that it hears: ptp4l steps it, or has another way to that one.
    OutOfStep {
        /// Who it is.
        grandmaster: ClockIdentity,
    },
    /// It is in step again.
    InStep {
        /// With whom.
        grandmaster: ClockIdentity,
        /// Since it was not, in ns.
        after_ns: u64,
    },
    /// It follows another one.
    Changed {
        /// Before.
        from: ClockIdentity,
        /// Now.
        to: ClockIdentity,
        /// Time without one in between, in ns.
        after_ns: u64,
    },
    /// Another clock has the place of this node, which the file names as a grandmaster: two are configured as the same.
    TwoGrandmasters {
        /// The other one.
        other: ClockIdentity,
        /// What both announce.
        priority1: u8,
    },
    /// The grandmaster is none of those that the file names.
    Unnamed {
        /// Who it is.
        grandmaster: ClockIdentity,
        /// What it announces.
        priority1: u8,
    },
    /// The offset is beyond the bound.
    BeyondBound {
        /// In ns.
        offset_ns: i64,
    },
    /// It is within the bound again.
    WithinBound {
        /// Since it was beyond, in ns.
        after_ns: u64,
    },
}

/// Follows what ptp4l says.
#[derive(Debug)]
pub struct Watch {
    free_running: bool,
    own_priority1: u8,
    is_grandmaster: bool,
    /// Those of the nodes that the file names as grandmasters, in their order.
    priorities: Vec<u8>,
    bound_ns: Option<u64>,
    began_ns: u64,
    role: Role,
    lost: Option<(ClockIdentity, u64)>,
    out_of_step: Option<(ClockIdentity, u64)>,
    followed_before: bool,
    without_since_ns: Option<u64>,
    beyond_since_ns: Option<u64>,
    reported: Option<ClockIdentity>,
    last_ingress_ns: Option<i64>,
    /// What was measured last; 0 before, as ptp4l has it.
    last_offset_ns: i64,
    /// Since the role changed, ptp4l shows what was measured last before it.
    is_stale: bool,
    reading: Option<bool>,
    summary: Summary,
}

impl Watch {
    /// Of a node, from now on, in ns of a clock that nobody sets. `free_running`: its clock is measured and not set.
    pub fn new(node: &Node, free_running: bool, now_ns: u64) -> Self {
        Self {
            free_running,
            own_priority1: node.priority1,
            is_grandmaster: node.is_grandmaster,
            priorities: node.time.grandmasters.iter().map(|one| node.time.priority1(*one)).collect(),
            bound_ns: node.time.offset_bound_ns,
            began_ns: now_ns,
            role: Role::Unsynchronized,
            lost: None,
            out_of_step: None,
            followed_before: false,
            without_since_ns: None,
            beyond_since_ns: None,
            reported: None,
            last_ingress_ns: None,
            last_offset_ns: 0,
            is_stale: true,
            reading: None,
            summary: Summary::default(),
        }
    }

    /// What the node is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// How far its clock is from the grandmaster's that it follows, in ns; absent: it follows none, or nothing was measured.
    pub fn offset_ns(&self) -> Option<i64> {
        (matches!(self.role, Role::Follower { .. }) && !self.is_stale).then_some(self.last_offset_ns)
    }

    /// Whether the last observation says that the node's clock is the network's, within the bound if there is one; nothing
    /// where it has no new measurement.
    pub fn reading(&self) -> Option<bool> {
        self.reading
    }

    /// What the run came to so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Ends the time that is still counted.
    pub fn finish(&mut self, now_ns: u64) -> &Summary {
        if let Some(since_ns) = self.without_since_ns.take() {
            self.summary.without_master_ns += now_ns.saturating_sub(since_ns);
        }
        &self.summary
    }

    /// ptp4l was asked.
    pub fn update(&mut self, now_ns: u64, seen: &Observation) -> Vec<Event> {
        let mut events = Vec::new();
        let role = Role::of(seen, self.free_running);
        self.reading = None;
        let heard = Self::heard(role, seen);
        if let Some((grandmaster, _)) = self.out_of_step.filter(|(grandmaster, _)| heard != Some(*grandmaster)) {
            self.lost = self.out_of_step.take();
            self.loses(grandmaster, &mut events);
        }
        if role != self.role {
            self.change(now_ns, role, heard.filter(|_| !self.free_running), &mut events);
        }
        if let Role::Follower { grandmaster, .. } = role {
            self.check_grandmaster(grandmaster, seen.grandmaster_priority1, &mut events);
            if let Some(offset) = seen.offset.filter(|offset| self.last_ingress_ns != Some(offset.ingress_ns)) {
                self.take(now_ns, offset, seen.path_delay_ns, &mut events);
            }
        }
        self.count_time(now_ns);
        match (self.has_time(), role) {
            (false, _) => self.reading = Some(false),
            (true, Role::Grandmaster) => self.reading = Some(true),
            (true, _) => {}
        }
        events
    }

    /// The grandmaster that it follows, or is about to.
    fn heard(role: Role, seen: &Observation) -> Option<ClockIdentity> {
        match role {
            Role::Follower { grandmaster, .. } => Some(grandmaster),
            Role::Unsynchronized if seen.grandmaster != seen.own => {
                seen.ports.iter().any(|port| port.state == PortState::Uncalibrated).then_some(seen.grandmaster)
            }
            _ => None,
        }
    }

    fn loses(&mut self, grandmaster: ClockIdentity, events: &mut Vec<Event>) {
        self.summary.losses += 1;
        events.push(Event::Lost { grandmaster });
    }

    /// `heard`: the grandmaster whose time its clock can be brought to.
    fn change(&mut self, now_ns: u64, role: Role, heard: Option<ClockIdentity>, events: &mut Vec<Event>) {
        self.summary.role_changes += u64::from(self.summary.first_time_ns.is_some());
        if let Role::Follower { grandmaster, .. } = self.role {
            self.followed_before = true;
            match role == Role::Unsynchronized && heard == Some(grandmaster) {
                true => self.out_of_step = Some((grandmaster, now_ns)),
                false => self.lost = Some((grandmaster, now_ns)),
            }
        }
        let since = |since_ns| now_ns.saturating_sub(since_ns);
        match (role, self.out_of_step, self.lost) {
            (Role::Follower { .. }, Some((grandmaster, since_ns)), _) => {
                events.push(Event::InStep { grandmaster, after_ns: since(since_ns) });
                self.out_of_step = None;
            }
            (Role::Follower { grandmaster, port }, None, lost) => {
                let after_ns = lost.map_or(0, |(_, since_ns)| since(since_ns));
                events.push(match lost {
                    Some((before, _)) if before != grandmaster => {
                        Event::Changed { from: before, to: grandmaster, after_ns }
                    }
                    Some(_) if after_ns > 0 => Event::Returned { grandmaster, after_ns },
                    _ => Event::Follows { grandmaster, port },
                });
                self.lost = None;
            }
            (_, Some((grandmaster, _)), _) => events.push(Event::OutOfStep { grandmaster }),
            (_, None, Some((grandmaster, since_ns))) if since_ns == now_ns => self.loses(grandmaster, events),
            _ => {}
        }
        if role == Role::Grandmaster {
            events.push(Event::Grandmaster { named: self.may_be_grandmaster() });
        }
        self.role = role;
        self.is_stale = true;
    }

    /// Whether it is as the file says if the node gives the time.
    fn may_be_grandmaster(&self) -> bool {
        self.is_grandmaster || self.priorities.is_empty()
    }

    /// Whether the node has the network's time: it follows a grandmaster, or it gives the time as the file has it.
    pub fn has_time(&self) -> bool {
        match self.role {
            Role::Follower { .. } => true,
            Role::Grandmaster => self.is_grandmaster || (self.priorities.is_empty() && !self.followed_before),
            Role::Unsynchronized => false,
        }
    }

    fn count_time(&mut self, now_ns: u64) {
        match (self.has_time(), self.without_since_ns) {
            (true, since) => {
                self.without_since_ns = None;
                self.summary.without_master_ns += since.map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
                self.summary.first_time_ns.get_or_insert(now_ns.saturating_sub(self.began_ns));
            }
            (false, None) if self.summary.first_time_ns.is_some() => self.without_since_ns = Some(now_ns),
            (false, _) => {}
        }
    }

    /// Who the grandmaster is, against the file; each once.
    fn check_grandmaster(&mut self, grandmaster: ClockIdentity, priority1: u8, events: &mut Vec<Event>) {
        if self.priorities.is_empty() || self.reported == Some(grandmaster) {
            return;
        }
        if self.is_grandmaster && priority1 == self.own_priority1 {
            events.push(Event::TwoGrandmasters { other: grandmaster, priority1 });
        } else if !self.priorities.contains(&priority1) {
            events.push(Event::Unnamed { grandmaster, priority1 });
        }
        self.reported = Some(grandmaster);
    }

    fn take(&mut self, now_ns: u64, offset: Offset, path_delay_ns: Option<i64>, events: &mut Vec<Event>) {
        self.last_ingress_ns = Some(offset.ingress_ns);
        // The first Sync of a master tells nothing before the delay is known.
        if self.is_stale && offset.ns == self.last_offset_ns {
            return;
        }
        (self.is_stale, self.last_offset_ns) = (false, offset.ns);
        self.summary.offsets.add(offset.ns);
        path_delay_ns.into_iter().for_each(|ns| self.summary.path_delays.add(ns));
        let beyond = self.bound_ns.is_some_and(|bound_ns| offset.ns.unsigned_abs() > bound_ns);
        self.reading = Some(!beyond);
        self.summary.beyond_bound += u64::from(beyond);
        match (beyond, self.beyond_since_ns) {
            (true, None) => {
                self.beyond_since_ns = Some(now_ns);
                events.push(Event::BeyondBound { offset_ns: offset.ns });
            }
            (false, Some(since_ns)) => {
                self.beyond_since_ns = None;
                events.push(Event::WithinBound { after_ns: now_ns.saturating_sub(since_ns) });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::PortObservation;
    use super::super::configuration::tests::network;
    use super::*;

    const OWN: ClockIdentity = ClockIdentity([1; 8]);
    const MASTER: ClockIdentity = ClockIdentity([2; 8]);
    const OTHER: ClockIdentity = ClockIdentity([3; 8]);
    const SECOND: u64 = 1_000_000_000;

    fn watch(name: &str, free_running: bool) -> Watch {
        let network = network("[time]\nprofile = \"gptp\"\ngrandmaster = \"a\"\noffset-bound = \"1us\"\n");
        Watch::new(&Node::find(&network, name).unwrap(), free_running, 0)
    }

    fn seen(grandmaster: ClockIdentity, priority1: u8, state: PortState, offset: Option<(i64, i64)>) -> Observation {
        Observation {
            own: OWN,
            grandmaster,
            grandmaster_priority1: priority1,
            steps_removed: 1,
            ports: vec![PortObservation { number: 1, state, peer_delay_ns: 300 }],
            offset: offset.map(|(ns, ingress_ns)| Offset { ns, ingress_ns }),
            path_delay_ns: Some(300),
        }
    }

    fn follows(offset_ns: i64, ingress_ns: i64) -> Observation {
        seen(MASTER, 64, PortState::Slave, Some((offset_ns, ingress_ns)))
    }

    #[test]
    fn a_master_that_vanishes_and_comes_back_is_reported_with_its_time() {
        let mut watch = watch("b", false);
        assert_eq!(watch.update(SECOND, &seen(OWN, 248, PortState::Listening, None)), []);
        let event = Event::Follows { grandmaster: MASTER, port: 1 };
        assert_eq!(watch.update(2 * SECOND, &follows(40, 1)), [event]);
        assert_eq!(watch.update(3 * SECOND, &follows(40, 1)), [], "the same Sync");
        assert_eq!(watch.update(4 * SECOND, &follows(-60, 2)), []);
        let alone = seen(OWN, 248, PortState::Master, None);
        let lost = [Event::Lost { grandmaster: MASTER }, Event::Grandmaster { named: false }];
        assert_eq!(watch.update(5 * SECOND, &alone), lost);
        assert_eq!(watch.update(6 * SECOND, &alone), []);
        let back = Event::Returned { grandmaster: MASTER, after_ns: 4 * SECOND };
        assert_eq!(watch.update(9 * SECOND, &follows(0, 3)), [back]);
        let summary = watch.finish(10 * SECOND);
        assert_eq!((summary.offsets.count(), summary.offsets.extremes()), (3, Some((-60, 40))));
        assert_eq!((summary.first_time_ns, summary.without_master_ns), (Some(2 * SECOND), 4 * SECOND));
        assert_eq!((summary.losses, summary.role_changes), (1, 2));
    }

    #[test]
    fn a_loss_that_lasts_counts_until_the_end() {
        let mut watch = watch("b", false);
        watch.update(SECOND, &follows(0, 1));
        assert_eq!(
            watch.update(2 * SECOND, &seen(MASTER, 64, PortState::Faulty, None)),
            [Event::Lost { grandmaster: MASTER }]
        );
        assert_eq!(watch.finish(5 * SECOND).without_master_ns, 3 * SECOND);
    }

    #[test]
    fn a_clock_that_is_stepped_is_out_of_step_and_loses_nobody() {
        let mut watch = watch("b", false);
        watch.update(SECOND, &follows(0, 1));
        let stepped = seen(MASTER, 64, PortState::Uncalibrated, Some((150_000_000, 2)));
        assert_eq!(watch.update(2 * SECOND, &stepped), [Event::OutOfStep { grandmaster: MASTER }]);
        assert_eq!((watch.reading(), watch.update(3 * SECOND, &stepped)), (Some(false), vec![]));
        let again = Event::InStep { grandmaster: MASTER, after_ns: 3 * SECOND };
        assert_eq!(watch.update(5 * SECOND, &follows(0, 3)), [again]);
        let summary = watch.finish(6 * SECOND);
        assert_eq!((summary.losses, summary.without_master_ns), (0, 3 * SECOND));
        // It is lost, too, if the grandmaster goes before it is in step again.
        watch.update(7 * SECOND, &stepped);
        let lost = || Event::Lost { grandmaster: MASTER };
        assert_eq!(watch.update(8 * SECOND, &seen(OTHER, 64, PortState::Uncalibrated, None)), [lost()]);
        assert_eq!(watch.update(9 * SECOND, &seen(OWN, 248, PortState::Listening, None)), []);
        let back = Event::Returned { grandmaster: MASTER, after_ns: 3 * SECOND };
        assert_eq!(watch.update(10 * SECOND, &follows(0, 4)), [back]);
        watch.update(11 * SECOND, &stepped);
        let alone = watch.update(12 * SECOND, &seen(OWN, 248, PortState::Master, None));
        assert_eq!(alone, [lost(), Event::Grandmaster { named: false }]);
        assert_eq!(watch.summary().losses, 2);
    }

    #[test]
    fn another_grandmaster_takes_over_and_is_held_against_the_file() {
        let mut watch = watch("b", false);
        watch.update(SECOND, &follows(0, 1));
        let other = seen(OTHER, 248, PortState::Slave, Some((0, 2)));
        let changed = Event::Changed { from: MASTER, to: OTHER, after_ns: 0 };
        let unnamed = Event::Unnamed { grandmaster: OTHER, priority1: 248 };
        assert_eq!(watch.update(2 * SECOND, &other), [changed, unnamed]);
        assert_eq!(watch.update(3 * SECOND, &other), [], "once");
        assert_eq!((watch.summary().losses, watch.summary().without_master_ns), (0, 0));
    }

    #[test]
    fn two_grandmasters_are_found_by_the_one_that_follows() {
        let mut watch = watch("a", false);
        assert_eq!(watch.update(SECOND, &seen(OWN, 64, PortState::Master, None)), [Event::Grandmaster { named: true }]);
        let events = watch.update(2 * SECOND, &seen(OTHER, 64, PortState::Slave, Some((0, 1))));
        assert!(events.contains(&Event::TwoGrandmasters { other: OTHER, priority1: 64 }), "{events:?}");
    }

    #[test]
    fn offsets_beyond_the_bound_are_reported_when_it_begins_and_ends() {
        let mut watch = watch("b", false);
        watch.update(SECOND, &follows(1_000, 1));
        assert_eq!(watch.update(2 * SECOND, &follows(-1_001, 2)), [Event::BeyondBound { offset_ns: -1_001 }]);
        assert_eq!(watch.update(3 * SECOND, &follows(2_000, 3)), []);
        assert_eq!(watch.update(4 * SECOND, &follows(3, 4)), [Event::WithinBound { after_ns: 2 * SECOND }]);
        assert_eq!(watch.summary().beyond_bound, 2);
    }

    #[test]
    fn what_was_measured_before_a_master_came_is_not_counted() {
        let mut watch = watch("b", false);
        watch.update(SECOND, &follows(0, 1));
        assert_eq!(
            (watch.offset_ns(), watch.summary().offsets.count()),
            (None, 0),
            "ptp4l has 0 before it has measured"
        );
        watch.update(2 * SECOND, &follows(70, 2));
        assert_eq!(watch.offset_ns(), Some(70));
        watch.update(3 * SECOND, &seen(OWN, 248, PortState::Master, None));
        assert_eq!(watch.offset_ns(), None);
        watch.update(4 * SECOND, &follows(70, 3));
        assert_eq!((watch.offset_ns(), watch.summary().offsets.count()), (None, 1));
        watch.update(5 * SECOND, &follows(71, 4));
        watch.update(6 * SECOND, &follows(71, 5));
        assert_eq!((watch.offset_ns(), watch.summary().offsets.count()), (Some(71), 3));
    }

    #[test]
    fn a_reading_is_a_new_measurement_or_a_role() {
        let mut first = watch("a", false);
        first.update(SECOND, &seen(OWN, 64, PortState::Master, None));
        assert_eq!(first.reading(), Some(true), "the grandmaster itself");
        let mut watch = watch("b", false);
        let mut reading = |at: u64, seen: &Observation| {
            watch.update(at * SECOND, seen);
            watch.reading()
        };
        assert_eq!(reading(1, &seen(OWN, 248, PortState::Listening, None)), Some(false));
        assert_eq!(reading(2, &follows(40, 1)), Some(true));
        assert_eq!(reading(3, &follows(40, 1)), None, "the same Sync");
        assert_eq!(reading(4, &follows(1_001, 2)), Some(false));
        assert_eq!(reading(5, &seen(OWN, 248, PortState::Master, None)), Some(false), "it is not named");
    }

    #[test]
    fn a_clock_that_is_only_measured_follows_without_being_in_step() {
        let measured = seen(MASTER, 64, PortState::Uncalibrated, Some((5, 1)));
        assert_eq!(watch("b", false).update(SECOND, &measured), []);
        let event = Event::Follows { grandmaster: MASTER, port: 1 };
        assert_eq!(watch("b", true).update(SECOND, &measured), [event]);
        assert_eq!(watch("b", true).update(SECOND, &seen(MASTER, 64, PortState::Uncalibrated, None)), []);
    }
}
