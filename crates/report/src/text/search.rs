//! The table of a search: a row for each candidate, then the set and its members, then what could not be judged.

use ontick_record::search::{Effect, Search, Verdict};

use super::{Style, hanging};
use crate::colour::Paint;
use crate::printable::printable;
use crate::search::{interval, more_time, quantity, signed, verdict_of, verdict_on_member};

/// All of it.
pub(super) fn table(of: &Search, style: &Style) -> String {
    let mut text = format!("  {}; simultaneous {} % intervals\n", quantity(of), 100.0 * (1.0 - of.error));
    let label = of.effects.iter().map(|e| e.name.chars().count() + 1).max().unwrap_or(0).clamp(12, 21);
    let mut row = |effect: &Effect, verdict: String| {
        text.push_str(&one(of, effect, &verdict, label, style));
    };
    of.effects.iter().for_each(|effect| row(effect, verdict_of(of, effect)));
    if let Some(together) = &of.together {
        row(together, format!("together: {}", verdict_of(of, together)));
    }
    if !of.members.is_empty() {
        text.push_str("\n  each member: what it adds to the others of the set\n");
        for member in &of.members {
            text.push_str(&one(of, member, &verdict_on_member(of, member), label, style));
        }
    }
    if !of.skipped.is_empty() {
        text.push_str("\n  not judged\n");
        for skipped in &of.skipped {
            let name = format!("  {:<width$} ", printable(&skipped.name), width = label - 1);
            text.push_str(&hanging(&name, &name, &printable(&skipped.why), style.width));
        }
    }
    text
}

fn one(of: &Search, effect: &Effect, verdict: &str, label: usize, style: &Style) -> String {
    let name = printable(&effect.name);
    // A name that is too long is on a line of its own, as no name is cut.
    let mut text = match name.chars().count() < label && !style.is_narrow() {
        true => format!("  {name:<label$}"),
        false if style.is_narrow() => format!("  {name}\n  "),
        false => format!("  {name}\n  {:<label$}", ""),
    };
    let gain = effect.gain.map_or("–".into(), |gain| signed(of, gain));
    let paint = Paint(style.colour);
    let verdict = match effect.verdict {
        Verdict::Helps => paint.good(verdict),
        Verdict::Hurts => paint.bad(verdict),
        Verdict::NoEffect | Verdict::Unsettled => verdict.into(),
    };
    text.push_str(&format!("{gain:>7}  {:<15} {verdict}\n", interval(of, effect)));
    text
}

/// What is said below the verdict.
pub(super) fn below(of: &Search, style: &Style) -> String {
    more_time(of).map_or_else(String::new, |words| hanging("", "", &printable(&words), style.width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tests::search;
    use ontick_record::search::Skipped;

    #[test]
    fn each_candidate_has_a_row_and_what_was_skipped_its_reason() {
        let text = table(&search(), &Style::default());
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[1], "  irq-affinity    +1.25  +0.50 to +2.00  helps", "{text}");
        assert!(text.contains("together: helps") && text.contains("adds at most +0.08: left out"), "{text}");
        assert!(text.contains("  boost         this machine does not have it"), "{text}");
        assert!(rows.iter().all(|row| row.chars().count() <= 80), "{text}");
        let long = Skipped { name: "longer-than-all-others".into(), why: "unusable".into() };
        let text = table(&Search { skipped: vec![long], ..search() }, &Style::default());
        assert!(text.contains("  longer-than-all-others unusable"), "{text}");
    }
}
