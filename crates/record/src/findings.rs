//! What keeps a machine from good timing, as a document: what was seen, what it should be, why it
//! matters, and what mends it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad a finding is. The order is that of the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It will be seen in the worst case.
    Bad,
    /// It may be seen, or matters to some programs.
    Warn,
    /// It could not be known.
    #[default]
    Unknown,
    /// It is as it should be.
    Ok,
}

impl Severity {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Warn => "warn",
            Self::Unknown => "unknown",
            Self::Ok => "ok",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Finding {
    /// Its name: `rt-throttling`.
    pub id: String,
    /// How bad it is.
    pub severity: Severity,
    /// What was seen.
    #[serde(alias = "seen")]
    pub observed: String,
    /// What it should be; empty where it is.
    pub should: String,
    /// Why it matters.
    pub why: String,
    /// Who says so, or where it was measured.
    pub source: String,
    /// How long it can hold a timed program up, in ns, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect_ns: Option<u64>,
    /// Whether that is what it was on other machines, not what this one's settings say.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub effect_elsewhere: bool,
    /// The knob of `ontick tune` that mends it until the next boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knob: Option<String>,
    /// The command or advice that mends it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// What mends it at boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

/// Whether anything bad is among them.
pub fn any_bad(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.severity == Severity::Bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_finding_is_enough_and_others_are_none() {
        use Severity::{Bad, Ok, Unknown, Warn};
        let of = |all: &[Severity]| -> Vec<Finding> {
            all.iter().map(|severity| Finding { severity: *severity, ..Finding::default() }).collect()
        };
        assert!(any_bad(&of(&[Ok, Bad])) && !any_bad(&of(&[Warn, Unknown, Ok])) && !any_bad(&[]));
        let mut all = [Ok, Unknown, Bad, Warn];
        all.sort();
        assert_eq!(all.map(Severity::name), ["bad", "warn", "unknown", "ok"]);
        // A document has the same words.
        assert_eq!(serde_json::to_string(&all).unwrap(), r#"["bad","warn","unknown","ok"]"#);
    }
}
