//! What is kept of each series: few bytes, whatever its record held.

use super::week::Week;

/// A series of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Which of the groups it is in.
    pub group: u32,
    /// Which machine it is of.
    pub machine: u32,
    /// When it was measured, where the record says.
    pub week: Option<Week>,
    /// The 99.99th percentile, in ns.
    pub p99_99_ns: u64,
}

/// The middle one of values that are sorted; of an even number the larger, which does not flatter.
pub(super) fn median(sorted: &[u64]) -> Option<u64> {
    sorted.get(sorted.len() / 2).copied()
}

/// What a machine's series have as their median, for each machine in order.
pub(super) fn by_machine(rows: impl Iterator<Item = (u32, u64)>) -> Vec<(u32, u64)> {
    let mut rows: Vec<(u32, u64)> = rows.collect();
    rows.sort_unstable();
    let of_one = |rows: &[(u32, u64)]| {
        let figures: Vec<u64> = rows.iter().map(|(_, figure)| *figure).collect();
        median(&figures).map(|figure| (rows[0].0, figure))
    };
    rows.chunk_by(|a, b| a.0 == b.0).filter_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_machine_has_its_median() {
        let rows = [(7, 30), (2, 9), (7, 10), (7, 20), (2, 5)];
        assert_eq!(by_machine(rows.into_iter()), [(2, 9), (7, 20)]);
        assert_eq!(median(&[]), None);
    }
}
