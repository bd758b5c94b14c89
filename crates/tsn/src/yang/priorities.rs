//! Which traffic class each priority of the VLAN tag belongs to (IEEE 802.1Q-2022 clause 8.6.6).

use crate::model::{Class, Rule, STANDARD_CLASSES};

/// Traffic classes of a port, and the class of each priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priorities {
    /// Number of traffic classes, 1 to 8.
    pub count: u8,
    /// By priority.
    pub class: [u8; 8],
}

/// What the standard recommends for one to eight classes (Table 8-5).
const RECOMMENDED: [[u8; 8]; STANDARD_CLASSES] = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 1, 1, 1, 1],
    [0, 0, 0, 0, 1, 1, 2, 2],
    [0, 0, 1, 1, 2, 2, 3, 3],
    [0, 0, 1, 1, 2, 2, 3, 4],
    [1, 0, 2, 2, 3, 3, 4, 5],
    [1, 0, 2, 3, 4, 4, 5, 6],
    [1, 0, 2, 3, 4, 5, 6, 7],
];

impl Priorities {
    /// As the standard recommends for so many classes.
    pub fn recommended(count: u8) -> Self {
        let count = count.clamp(1, STANDARD_CLASSES as u8);
        Self { count, class: RECOMMENDED[usize::from(count) - 1] }
    }

    /// Where classes are reported by the priority alone, what belongs where.
    pub fn of(classes: &[Class]) -> Option<Self> {
        let others = classes.iter().find(|class| class.rules.is_empty())?.queue;
        let mut priorities = Self { count: classes.iter().map(|class| class.queue).max()? + 1, class: [others; 8] };
        // The first rule that fits decides.
        for class in classes.iter().rev() {
            for rule in &class.rules {
                let pcp = rule.pcp.filter(|pcp| *rule == Rule { pcp: Some(*pcp), ..Rule::default() })?;
                priorities.class[usize::from(pcp)] = class.queue;
            }
        }
        Some(priorities)
    }

    /// A class for each number that has a priority, called `tc0` to `tc7`, the highest first. The one of priority 0
    /// takes frames without a tag, too, and so all others.
    pub fn classes(&self, limit: u32) -> Vec<Class> {
        let others = self.class[0];
        let class = |queue: u8| {
            let priorities = (0u8..8).filter(|pcp| queue != others && self.class[usize::from(*pcp)] == queue);
            let rules: Vec<Rule> = priorities.map(|pcp| Rule { pcp: Some(pcp), ..Rule::default() }).collect();
            let used = queue == others || !rules.is_empty();
            used.then(|| Class { name: format!("tc{queue}"), queue, rules, limit })
        };
        (0..self.count).rev().filter_map(class).collect()
    }
}
