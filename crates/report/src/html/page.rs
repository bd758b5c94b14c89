//! The file around the body: style, script, and the records themselves.

use std::fmt::Write;

use crate::compare::Named;
use crate::markup::{Markup, escape};
use crate::plot::{ON_DARK, ON_LIGHT};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

pub(super) fn page(title: &str, body: Markup, runs: &[Named]) -> String {
    let mut end = footer(runs);
    for named in runs {
        let _ = writeln!(
            end,
            "\n<script type=\"application/json\" class=\"record\" data-name=\"{}\">{}</script>",
            escape(named.name),
            embedded(named)
        );
    }
    around(title, body, &end)
}

/// Style and script around a body; `end` is markup that comes after it.
pub(crate) fn around(title: &str, body: Markup, end: &str) -> String {
    let mut page = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // The browser itself holds the page to its word: nothing is fetched from anywhere.
    page.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    page.push_str("style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n");
    // An empty icon keeps the browser from asking for one.
    page.push_str("<link rel=\"icon\" href=\"data:,\">\n");
    let _ = writeln!(page, "<title>{}</title>", escape(title));
    let _ = writeln!(page, "<style>\n{STYLE}{}</style>\n</head>\n<body>", inks());
    page.push_str(&body.finish());
    page.push_str(end);
    let _ = writeln!(page, "<script>\n{SCRIPT}</script>\n</body>\n</html>");
    page
}

/// The record as JSON in which no tag can begin: `<` stands only inside strings, where its escape
/// means the same.
fn embedded(named: &Named) -> String {
    ontick_record::store::text(named.run).trim_end().replace('<', "\\u003c")
}

fn footer(runs: &[Named]) -> String {
    let mut footer = Markup::default();
    footer.open("footer", &[]);
    for named in runs {
        let mut parts = vec![format!("Measured by {}", named.run.tool)];
        parts.extend((!named.run.started.is_empty()).then(|| format!("begun {}", named.run.started)));
        let of = if runs.len() > 1 { format!("{}: ", named.name) } else { String::new() };
        footer.leaf("p", &[], &format!("{of}{}.", parts.join(", ")));
    }
    footer.leaf("p", &[("class", &"records")], "The complete record is inside this file. ");
    footer.close();
    footer.finish()
}

/// The colours of the curves, from the one list that the drawings use.
fn inks() -> String {
    let names = |colours: [&str; 7]| -> String {
        colours.iter().enumerate().map(|(i, colour)| format!(" --ink{i}: {colour};")).collect()
    };
    let mut css = format!(
        ":root {{{} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{{} }} }}\n",
        names(ON_LIGHT),
        names(ON_DARK)
    );
    for i in 0..ON_LIGHT.len() {
        let _ = writeln!(css, ".stroke.ink{i} {{ stroke: var(--ink{i}); }} .fill.ink{i} {{ fill: var(--ink{i}); }}");
    }
    css
}
