//! What keeps a machine from good timing, worst first.

use ontick_record::{Finding, Severity};

use super::list::{Entry, Mark, list};
use super::{Style, lines::hanging};
use crate::number::counted;

/// The findings; `all` adds what is well, the reasons and the sources.
pub fn findings(found: &[Finding], all: bool, style: &Style) -> String {
    let shown: Vec<Entry> = found.iter().filter(|f| all || f.severity != Severity::Ok).map(|f| entry(f, all)).collect();
    let mut text = list(&shown, style);
    let fine = found.len() - shown.len();
    if fine > 0 {
        let are = if fine == 1 { "is" } else { "are" };
        text.push_str(&hanging(" ...  ", "", &format!("{fine} more {are} fine (--all)"), style.width));
    }
    text.push_str(&format!("\n{}\n", count(found)));
    text
}

/// `5 bad, 11 to look at, 17 fine.`
pub(crate) fn count(found: &[Finding]) -> String {
    let of = |severity| found.iter().filter(|f| f.severity == severity).count();
    let bad = match of(Severity::Bad) {
        0 => "Nothing bad".into(),
        n => format!("{n} bad"),
    };
    let unknown = match of(Severity::Unknown) {
        0 => String::new(),
        n => format!(", {n} unknown"),
    };
    let warn = counted(of(Severity::Warn) as u64, "warning");
    format!("{bad}, {warn}{unknown}, {} fine.", of(Severity::Ok))
}

fn entry(f: &Finding, all: bool) -> Entry {
    let mark = match f.severity {
        Severity::Bad => Mark::Bad,
        Severity::Warn => Mark::Look,
        Severity::Unknown => Mark::Plain,
        Severity::Ok => Mark::Good,
    };
    let said = if f.should.is_empty() { f.observed.clone() } else { format!("{}; should be {}", f.observed, f.should) };
    let mut below = Vec::new();
    if f.severity == Severity::Bad || all && f.severity != Severity::Ok {
        below.push(("why", why(f)));
    }
    if all && !f.source.is_empty() && f.severity != Severity::Ok {
        below.push(("says", f.source.clone()));
    }
    below.extend(f.now.clone().map(|now| ("now", now)));
    below.extend(f.boot.clone().map(|boot| ("boot", boot)));
    Entry { mark, word: f.severity.name().into(), name: f.id.clone(), said, below }
}

/// The reason, with what it costs where that is known.
pub(crate) fn why(f: &Finding) -> String {
    let effect = f.effect_ns.map(crate::number::plain).map(|time| match f.effect_elsewhere {
        true => format!(" (up to {time} on other machines)"),
        false => format!(" (up to {time})"),
    });
    let effect = effect.unwrap_or_default();
    format!("{}{effect}", f.why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(id: &str, severity: Severity) -> Finding {
        Finding {
            id: id.into(),
            severity,
            observed: "seen".into(),
            should: if severity == Severity::Ok { String::new() } else { "other".into() },
            why: "it costs".into(),
            source: "somebody".into(),
            effect_ns: Some(50_000_000),
            now: Some("ontick tune apply it".into()),
            ..Finding::default()
        }
    }

    #[test]
    fn what_is_fine_is_only_counted_unless_asked_for() {
        let all = [found("one", Severity::Bad), found("two", Severity::Warn), found("three", Severity::Ok)];
        let short = findings(&all, false, &Style::default());
        assert!(short.contains("it costs (up to 50ms)") && !short.contains("three"), "{short}");
        assert!(short.contains("1 more is fine (--all)") && short.contains("1 bad, 1 warning, 1 fine."), "{short}");
        let long = findings(&all, true, &Style::default());
        let [mut elsewhere, ..] = all;
        elsewhere.effect_elsewhere = true;
        assert!(findings(&[elsewhere], false, &Style::default()).contains("it costs (up to 50ms on other"));
        assert!(long.contains("three") && long.contains("somebody") && !long.contains("--all"), "{long}");
    }
}
