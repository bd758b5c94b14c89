//! A network that was run: its picture and the table of its streams.

use ontick_record::Run;
use ontick_record::network::{NetworkProof, ProvenStream};

use crate::figures::latency;
use crate::markup::Markup;
use crate::plot;
use crate::streams::{judged, ranked};
use crate::typeset::{self, count, plain_time};

/// Rows of the table at most.
const ROWS: usize = 2_000;

/// The figures that decide.
pub(super) fn cards(body: &mut Markup, of: &NetworkProof) {
    let holding = of.streams.iter().filter(|stream| stream.holds()).count();
    let worst = of.streams.iter().map(ProvenStream::share_of_deadline).fold(0.0, f64::max);
    let last = match &of.emulation {
        Some(emulation) => ("the emulation needs for a switch at most", latency(emulation.per_switch.max_ns)),
        None => ("clocks apart at most", plain_time(of.clocks_apart_ns)),
    };
    let cards = [
        ("streams that keep their promise", format!("{holding} of {}", of.streams.len())),
        ("messages outside of it", count(of.sum(ProvenStream::outside))),
        ("most of a deadline that is taken", typeset::number(&format!("{:.0} %", worst * 100.0))),
        last,
    ];
    body.open("dl", &[("class", &"cards")]);
    for (name, figure) in cards {
        body.open("div", &[("class", &"card")]).leaf("dt", &[], name).leaf("dd", &[("class", &"figure")], &figure);
        body.close();
    }
    body.close();
}

/// The picture, and all figures by stream.
pub(super) fn all(body: &mut Markup, run: &Run) {
    let Some(of) = &run.network else { return };
    if !of.links.is_empty() {
        body.open("section", &[]).leaf("h2", &[], "Frames on links");
        body.leaf(
            "p",
            &[("class", &"caption")],
            "Each link in its first cycle: gates for streams are open where the row is shaded.",
        );
        body.open("figure", &[("class", &"broad")]).raw(&plot::gantt(&plot::links_picture(of))).close();
        body.close();
    }
    body.open("section", &[]).leaf("h2", &[], "Streams");
    let caption =
        "Latencies count from the beginning of the period until the last bit is there, by the listener's clock.";
    body.leaf("p", &[("class", &"caption")], caption);
    body.open("div", &[("class", &"wide")]).open("table", &[]).open("thead", &[]).open("tr", &[]);
    let heads = [
        "stream",
        "from",
        "to",
        "promise",
        "planned",
        "min",
        "p99",
        "max",
        "jitter",
        "sent",
        "lost",
        "late",
        "after plan",
        "out of order",
        "verdict",
    ];
    heads.iter().for_each(|head| {
        body.leaf("th", &[], head);
    });
    body.close().close().open("tbody", &[]);
    for stream in ranked(of).into_iter().take(ROWS) {
        body.open("tr", &[]).leaf("th", &[], &stream.name).leaf("td", &[], &stream.from).leaf("td", &[], &stream.to);
        let times = [stream.planned_ns, stream.min_ns, stream.p99_ns, stream.max_ns, stream.jitter_ns()];
        body.leaf("td", &[], &plain_time(stream.deadline_ns));
        for time in times {
            body.leaf("td", &[], &typeset::sentence(&latency(time)));
        }
        for figure in [stream.sent, stream.lost(), stream.late, stream.after_plan, stream.out_of_order] {
            body.leaf("td", &[], &count(figure));
        }
        body.leaf("td", &[], judged(stream)).close();
    }
    body.close().close().close();
    if of.streams.len() > ROWS {
        body.leaf(
            "p",
            &[("class", &"caption")],
            &format!("The first {ROWS} of {} rows.", count(of.streams.len() as u64)),
        );
    }
    body.close();
}
