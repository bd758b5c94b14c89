//! Texts that are other documents of ontick than the one that is wanted.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What tells them from each other.
#[derive(Deserialize)]
struct Marks {
    ontick_plan: Option<IgnoredAny>,
    schema: Option<String>,
}

/// `a plan of a network`, or `a record`: what a JSON text is by its own mark.
pub(crate) fn named(text: &str) -> Option<String> {
    let Marks { ontick_plan, schema } = serde_json::from_str(text).ok()?;
    let record = || schema.filter(|schema| schema.starts_with("ontick-")).map(|schema| format!("a record ({schema})"));
    ontick_plan.map(|_| "a plan of a network".into()).or_else(record)
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_plan_and_a_record_say_what_they_are() {
        for (text, is) in [
            (r#"{"ontick_plan": 1, "streams": []}"#, Some("a plan of a network")),
            (r#"{"schema": "ontick-run/1", "tool": "t"}"#, Some("a record (ontick-run/1)")),
            (r#"{"schema": "https://json-schema.org"}"#, None),
            (r#"{"station": []}"#, None),
            (r#"{"ontick_plan": 1"#, None),
            ("[1]", None),
        ] {
            assert_eq!(named(text).as_deref(), is, "{text}");
        }
    }
}
