//! The table of pulses: how wide they were.

use ontick_record::{Measurement, Run, Series};

use crate::markup::Markup;
use crate::number::count;
use crate::pulses::{all_widths, has_pulses, notes, parts, widths};
use crate::reference_pulses;
use crate::times::Times;
use crate::typeset;

/// Widths in µs, with what measured them; nothing where no pulses were made.
pub(super) fn pulses(body: &mut Markup, run: &Run) {
    if !has_pulses(run) {
        return;
    }
    let heading = match run.measurement {
        Measurement::Period => "Periods in µs",
        _ if run.simulated.is_some() => "Widths in µs (simulated line)",
        _ => "Widths in µs",
    };
    body.leaf("h2", &[], heading).open("div", &[("class", &"wide")]);
    body.open("table", &[("class", if run.measurement == Measurement::PulseTable { &"source" } else { &"" })]);
    if run.measurement == Measurement::PulseTable {
        of_source(body, run)
    } else {
        of_series(body, run)
    }
    body.close().close();
    for note in notes(run) {
        body.leaf("p", &[("class", &"caption")], &typeset::sentence(&note));
    }
}

fn of_series(body: &mut Markup, run: &Run) {
    body.open("thead", &[]).open("tr", &[]).leaf("th", &[("class", &"left")], "");
    heads(body, &["wanted", "shortest", "average", "longest"]);
    body.close().close().open("tbody", &[]);
    let times = Times::micros(all_widths(run.series.iter()));
    for series in &run.series {
        let wanted = series.pulse.as_ref().map_or("—".into(), |pulse| exactly(pulse.wanted_ns));
        body.open("tr", &[]).leaf("th", &[("scope", &"row")], &series.name).leaf("td", &[], &wanted);
        cells(body, &widths(series.pulse.as_ref(), times));
        body.close();
    }
    body.close();
}

fn of_source(body: &mut Markup, run: &Run) {
    body.open("thead", &[]).open("tr", &[]).leaf("th", &[("colspan", &2)], "");
    for load in ["idle", "loaded"] {
        body.leaf("th", &[("colspan", &3), ("scope", &"colgroup"), ("class", &"over")], load);
    }
    body.close().open("tr", &[]).leaf("th", &[("class", &"left")], "wanted").leaf("th", &[], "");
    heads(body, &["shortest", "average", "longest", "shortest", "average", "longest"]);
    body.close().close().open("tbody", &[]);
    for part in parts(run) {
        let times = part.times();
        let three = |series: Option<&Series>| widths(series.and_then(|s| s.pulse.as_ref()), times);
        for (i, (name, sides)) in part.rows.iter().enumerate() {
            let wanted = if i == 0 { exactly(part.wanted_ns) } else { String::new() };
            body.open("tr", &[("class", if i == 0 { &"first" } else { &"" })]);
            body.leaf("th", &[("scope", &"row")], &wanted).leaf("th", &[("scope", &"row")], name);
            sides.iter().for_each(|series| cells(body, &three(*series)));
            body.close();
        }
        for row in reference_pulses::of(part.wanted_ns) {
            body.open("tr", &[]).leaf("th", &[("scope", &"row")], "");
            body.leaf("th", &[("scope", &"row")], &format!("source 003: {}", row.how));
            cells(body, &["", "", ""].map(String::from));
            let longest = match row.some_longer_than {
                "" => row.longest.into(),
                some => format!("{} (some > {some})", row.longest),
            };
            cells(body, &[row.shortest.into(), row.average.into(), longest]);
            body.close();
        }
    }
    body.close();
}

fn heads(body: &mut Markup, heads: &[impl AsRef<str>]) {
    for head in heads {
        body.leaf("th", &[("scope", &"col")], head.as_ref());
    }
}

fn cells(body: &mut Markup, cells: &[String; 3]) {
    for cell in cells {
        body.leaf("td", &[], &typeset::number(cell));
    }
}

fn exactly(ns: u64) -> String {
    typeset::number(&if ns % 1_000 == 0 { count(ns / 1_000) } else { format!("{:.3}", ns as f64 / 1e3) })
}
