//! Which traffic class of the kernel, and which priority of a socket buffer, stands for which class of the model.

use crate::qdisc::PRIORITIES;
use ontick_tsn::model::{CLASSES, Class, Switch};

/// The way of one class through the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// The class's place in [`Switch::classes`].
    pub class: usize,
    /// Its queue in the model.
    pub queue: u8,
    /// The priority that the classifier gives its frames; none for a class to which no rule leads but a socket's
    /// priority, and for the one that takes all others.
    pub priority: Option<u8>,
}

/// The ways of all classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes {
    /// By the kernel's traffic class, from 0 on.
    pub lanes: Vec<Lane>,
    /// The kernel's traffic class of each priority.
    pub map: [u8; PRIORITIES],
}

/// Which traffic class goes first when several have a frame and an open gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// The highest, as the standard has it (Linux 6.3 and later).
    Highest,
    /// The one with the lowest transmit queue: taprio before Linux 6.3, and the ports of igb and igc since.
    LowestQueue,
}

/// More priorities are needed than there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the rules claim {0} of a socket's 16 priorities, which leaves too few to tell the other classes apart: claim fewer"
)]
pub struct NoPriorityLeft(usize);

impl Lanes {
    /// Gives every class its own.
    pub fn new(switch: &Switch, first: First) -> Result<Self, NoPriorityLeft> {
        let mut order: Vec<usize> = (0..switch.classes.len()).collect();
        order.sort_by_key(|class| switch.classes[*class].queue);
        let claims: Vec<Option<usize>> = (0..PRIORITIES).map(|priority| claimed_by(switch, priority as u8)).collect();
        // From the top: a program without privileges can set 0 to 6 only, and 0 is what frames have by themselves.
        let mut free = (1..PRIORITIES as u8).rev().filter(|priority| claims[usize::from(*priority)].is_none());
        let mut lanes = Vec::new();
        for class in order {
            let Class { queue, rules, .. } = &switch.classes[class];
            let priority = match rules.iter().any(|rule| !rule.is_of_socket()) {
                true => Some(free.next().ok_or(NoPriorityLeft(claims.iter().flatten().count()))?),
                false => None,
            };
            lanes.push(Lane { class, queue: *queue, priority });
        }
        // Only now: a class has the same priority on all ports.
        if first == First::LowestQueue {
            lanes.reverse();
        }
        let traffic_class = |class: usize| lanes.iter().position(|lane| lane.class == class).unwrap_or(0) as u8;
        let rest = switch.classes.iter().position(|class| class.rules.is_empty()).map_or(0, traffic_class);
        let mut map = [rest; PRIORITIES];
        for (priority, of) in map.iter_mut().enumerate() {
            let given = lanes.iter().position(|lane| lane.priority == Some(priority as u8)).map(|class| class as u8);
            *of = claims[priority].map(traffic_class).or(given).unwrap_or(rest);
        }
        Ok(Self { lanes, map })
    }

    /// By the class's place in [`Switch::classes`].
    pub fn in_order_of_file(&self) -> Vec<&Lane> {
        let mut all: Vec<&Lane> = self.lanes.iter().collect();
        all.sort_by_key(|lane| lane.class);
        all
    }

    /// The gates of the model's queues as the kernel's gate mask.
    pub fn mask(&self, open: u16) -> u32 {
        let opened = |(_, lane): &(usize, &Lane)| open & (1 << lane.queue) != 0;
        self.lanes.iter().enumerate().filter(opened).fold(0, |mask, (class, _)| mask | 1 << class)
    }

    /// The kernel's gate mask as gates of the model's queues.
    pub fn open(&self, mask: u64) -> u16 {
        let opened = |(class, _): &(usize, &Lane)| mask & (1 << class) != 0;
        self.lanes.iter().enumerate().filter(opened).fold(0, |open, (_, lane)| open | 1 << lane.queue)
    }

    /// Something for each queue of the model, from something for each class of it.
    pub fn by_queue<T: Copy + Default>(&self, of_class: impl Fn(usize) -> T) -> [T; CLASSES] {
        let mut all = [T::default(); CLASSES];
        self.lanes.iter().for_each(|lane| all[usize::from(lane.queue)] = of_class(lane.class));
        all
    }
}

/// The first class with a rule that is nothing but this priority.
fn claimed_by(switch: &Switch, priority: u8) -> Option<usize> {
    let claims = |class: &Class| class.rules.iter().any(|r| r.is_of_socket() && r.socket_priority == Some(priority));
    switch.classes.iter().position(claims)
}
