//! `/proc/interrupts` and `/proc/softirqs`: a count for each source and CPU.

use std::collections::BTreeMap;

/// The table of interrupts, or that of softirqs.
///
/// ```
/// use ontick_rt::cpus::InterruptCounts;
/// let table = InterruptCounts::parse("      CPU0  CPU2\n 36:   3   898   PCI-MSI 1-edge  virtio1-req.0\nERR:  0\n");
/// assert_eq!(table.on("36", 2), Some(898));
/// assert_eq!(table.rows["36"].device(), Some("virtio1-req.0"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterruptCounts {
    /// The CPUs of the columns (only those that are online have one).
    pub cpus: Vec<u32>,
    /// One row for each source, by its label (`36`, `LOC`, `NET_RX`).
    pub rows: BTreeMap<String, InterruptRow>,
    /// Counts that the kernel keeps for the whole machine (`ERR`, `MIS`).
    pub machine_wide: BTreeMap<String, u64>,
}

/// One source of interrupts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterruptRow {
    /// How often, in the order of the columns.
    pub counts: Vec<u64>,
    /// What the kernel says beside it, with single spaces: controller, type, device.
    pub about: String,
}

impl InterruptRow {
    /// The device, or one of them: the last word beside the counts.
    pub fn device(&self) -> Option<&str> {
        self.about.split(' ').next_back().filter(|word| !word.is_empty())
    }
}

impl InterruptCounts {
    /// Reads the table. Rows with fewer counts than there are CPUs are left out.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let cpus: Vec<u32> = header.split_whitespace().filter_map(|w| w.strip_prefix("CPU")?.parse().ok()).collect();
        let mut table = Self { cpus, ..Self::default() };
        if table.cpus.is_empty() {
            return table;
        }
        for (label, rest) in lines.filter_map(|line| line.split_once(':')) {
            let (label, rest) = (label.trim().to_owned(), rest.trim());
            if let Some(row) = row(rest, table.cpus.len()) {
                table.rows.insert(label, row);
            } else if let Ok(count) = rest.parse() {
                table.machine_wide.insert(label, count);
            }
        }
        table
    }

    /// How often a source interrupted a CPU.
    pub fn on(&self, label: &str, cpu: u32) -> Option<u64> {
        let column = self.cpus.iter().position(|c| *c == cpu)?;
        self.rows.get(label)?.counts.get(column).copied()
    }
}

fn row(mut rest: &str, columns: usize) -> Option<InterruptRow> {
    let mut counts = Vec::with_capacity(columns);
    for _ in 0..columns {
        // A description may stand right after the last count.
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        counts.push(rest[..end].parse().ok()?);
        rest = rest[end..].trim_start();
    }
    Some(InterruptRow { counts, about: rest.split_whitespace().collect::<Vec<_>>().join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "           CPU0       CPU2\n  2:   5   7  GICv2  29 Level     arch_timer\n\
                        ERR:          4\nLOC:  1  2   Local timer interrupts\n  9:  1  2\n";

    #[test]
    fn columns_are_the_cpus_that_are_online() {
        let counts = InterruptCounts::parse(TEXT);
        assert_eq!((counts.on("2", 2), counts.on("LOC", 0), counts.on("LOC", 1)), (Some(7), Some(1), None));
        assert_eq!(counts.rows["2"].about, "GICv2 29 Level arch_timer");
        assert_eq!((counts.rows["2"].device(), counts.rows["9"].device()), (Some("arch_timer"), None));
        assert!(!counts.rows.contains_key("ERR"));
        assert_eq!(counts.machine_wide, [("ERR".to_owned(), 4)].into());
        assert_eq!(InterruptCounts::parse("nonsense\n1: 5\n"), InterruptCounts::default());
    }

    proptest! {
        #[test]
        fn counts_are_read_back(rows in prop::collection::vec(prop::collection::vec(any::<u64>(), 3), 1..20)) {
            let mut text = String::from("            CPU0       CPU1       CPU3\n");
            for (i, counts) in rows.iter().enumerate() {
                text += &format!("{i:>3}: {:>10} {:>10} {:>10}   chip  edge  dev{i}\n", counts[0], counts[1], counts[2]);
            }
            let parsed = InterruptCounts::parse(&text);
            for (i, counts) in rows.iter().enumerate() {
                prop_assert_eq!(&parsed.rows[&i.to_string()].counts, counts);
                prop_assert_eq!(parsed.on(&i.to_string(), 3), Some(counts[2]));
            }
        }

        #[test]
        fn any_text_is_answered(text in "( CPU[0-9]{1,3}){0,3}\n([A-Z0-9]{0,3}:[ 0-9a-z:]{0,20}\n){0,5}|.{0,60}") {
            let _ = InterruptCounts::parse(&text);
        }
    }
}
