//! How the kernel shows a value and how it wants it written.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use ontick_units::CpuList;

/// The form of a kernel file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueFormat {
    /// Written as shown.
    Plain,
    /// Shows all choices with one in brackets (`always [madvise] never`), takes one.
    Choice,
    /// Numbers between white space.
    Words,
    /// A list of CPUs.
    List,
    /// A mask of CPUs.
    Mask,
    /// Names of controllers; `+name` adds one, `-name` takes it away.
    Controllers,
}

impl ValueFormat {
    /// What to write to get the value that is shown.
    pub fn value(self, shown: &str) -> String {
        let shown = shown.trim();
        match self {
            Self::Choice => {
                let marked = [('[', ']'), ('(', ')')].into_iter().find_map(|(open, close)| {
                    shown.split_whitespace().find_map(|w| w.strip_prefix(open)?.strip_suffix(close))
                });
                marked.unwrap_or(shown).into()
            }
            _ => shown.into(),
        }
    }

    /// What to write over `wanted` to get back what was shown.
    pub fn restoring(self, original: &str, wanted: &str) -> String {
        match (self, wanted.strip_prefix('+')) {
            (Self::Controllers, Some(name)) => format!("-{name}"),
            _ => self.value(original),
        }
    }

    /// Whether two shown or written values mean the same.
    pub fn same(self, a: &str, b: &str) -> bool {
        let (a, b) = (self.value(a), self.value(b));
        let equal = match self {
            Self::List => a.parse::<CpuList>().ok().zip(b.parse().ok()).map(|(a, b)| a == b),
            Self::Mask => CpuList::from_mask(&a).ok().zip(CpuList::from_mask(&b).ok()).map(|(a, b)| a == b),
            Self::Words => Some(a.split_whitespace().eq(b.split_whitespace())),
            Self::Controllers => Some(match (a.strip_prefix('+'), b.strip_prefix('+')) {
                (Some(name), None) => b.split_whitespace().any(|w| w == name),
                (None, Some(name)) => a.split_whitespace().any(|w| w == name),
                _ => a.split_whitespace().collect::<BTreeSet<_>>() == b.split_whitespace().collect(),
            }),
            Self::Plain | Self::Choice => None,
        };
        equal.unwrap_or(a == b)
    }
}

#[cfg(test)]
mod tests {
    use super::ValueFormat;

    #[test]
    fn one_meaning_many_spellings() {
        assert_eq!(ValueFormat::Choice.value("always [madvise] never\n"), "madvise");
        assert_eq!(ValueFormat::Choice.value("none voluntary (full)\n"), "full");
        assert!(ValueFormat::List.same("0-2\n", "0,1,2") && !ValueFormat::List.same("0-2", "0-3"));
        assert!(ValueFormat::Mask.same("0000000f\n", "f") && ValueFormat::Words.same("4\t4\t1\t7\n", "4 4 1 7"));
        assert!(
            ValueFormat::Controllers.same("cpu cpuset\n", "+cpuset") && ValueFormat::Controllers.same("a b", "b a\n")
        );
        assert_eq!(ValueFormat::Controllers.restoring("cpu\n", "+cpuset"), "-cpuset");
        assert!(!ValueFormat::Plain.same("950000", "-1"));
    }
}
