//! Memory that is on another node than the CPU.

use std::collections::BTreeMap;

use ontick_record::findings::Severity;

use super::{Breach, Rule};

const RULE: Rule = Rule {
    id: "remote-memory",
    severity: Severity::Warn,
    what: "memory that is not on the CPU's node",
    why: "each access that misses the cache goes over the link between the nodes, and shares it with others",
    mend: "start the program with CPU and memory of one node by numactl(8), or bind memory by mbind(2) before it is touched",
    source: "numa(7), mbind(2), numactl(8); Documentation/admin-guide/mm/numa_memory_policy.rst",
};

/// Libraries that others loaded are where those ran; less than this says nothing, in percent.
const LEAST: u64 = 20;

pub fn remote_memory(nodes: &BTreeMap<u32, u64>, own: u32) -> Option<Breach> {
    let all: u64 = nodes.values().sum();
    let remote = all - nodes.get(&own).copied().unwrap_or(0);
    let share = remote * 100 / all.max(1);
    (share >= LEAST).then(|| Breach::new(&RULE, format!("{share} % of it is not on node {own}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_the_memory_should_be_near() {
        let nodes = BTreeMap::from([(0, 90 << 20), (1, 10 << 20)]);
        assert_eq!(remote_memory(&nodes, 0), None);
        assert_eq!(remote_memory(&nodes, 1).unwrap().detail, "90 % of it is not on node 1");
        assert_eq!(remote_memory(&BTreeMap::new(), 0), None);
    }
}
