//! What stood between the machine and good timing.

use ontick_record::{Finding, Severity};

use crate::compare::Named;
use crate::markup::Markup;
use crate::text;
use crate::typeset::sentence as typeset;

/// The findings of each run that has any; what is fine is folded away.
pub(super) fn all(body: &mut Markup, runs: &[Named]) {
    for named in runs.iter().filter(|n| !n.run.findings.is_empty()) {
        let of = if runs.len() > 1 { format!(" ({})", named.name) } else { String::new() };
        let found = &named.run.findings;
        body.leaf("h2", &[], &format!("What prevents good timing{of}"));
        body.leaf("p", &[("class", &"caption")], &text::count(found));
        let (fine, standing): (Vec<_>, Vec<_>) = found.iter().partition(|f| f.severity == Severity::Ok);
        body.open("ul", &[("class", &"marks findings")]);
        standing.iter().for_each(|f| one(body, f));
        body.close();
        if !fine.is_empty() {
            body.open("details", &[]).leaf("summary", &[], &format!("{} more are fine", fine.len()));
            body.open("ul", &[("class", &"marks findings")]);
            fine.iter().for_each(|f| one(body, f));
            body.close().close();
        }
    }
}

fn one(body: &mut Markup, f: &Finding) {
    let class = match f.severity {
        Severity::Bad => "unmet",
        Severity::Warn | Severity::Unknown => "warn",
        Severity::Ok => "met",
    };
    body.open("li", &[("class", &class)]).leaf("b", &[], &f.id).words(&typeset(&f.observed));
    if !f.should.is_empty() {
        body.words(&format!("; should be {}", typeset(&f.should)));
    }
    if f.severity != Severity::Ok {
        body.open("p", &[]).words(&typeset(&sentence(&text::why(f))));
        body.leaf("span", &[("class", &"quiet-text")], &format!(" ({})", f.source)).close();
        for (when, remedy) in [("now", &f.now), ("at boot", &f.boot)] {
            if let Some(remedy) = remedy {
                body.open("p", &[]).leaf("span", &[("class", &"quiet-text")], &format!("{when}: "));
                body.leaf("code", &[], remedy).close();
            }
        }
    }
    body.close();
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).chain(['.']).collect()).unwrap_or_default()
}
