//! The plots of a page, each drawn for a wide and for a narrow window.

use super::table::swatch;
use crate::buckets::has_buckets;
use crate::markup::Markup;
use crate::plot::panels::{self, Panel};
use crate::plot::{Curve, Plot, cpus_inline, persistence_inline, received_inline, waveforms_inline};
use ontick_record::Run;

pub(super) fn all(body: &mut Markup, curves: &[Curve], in_blocks: bool) {
    let measured = curves.iter().any(|c| has_buckets(c.series));
    // Fewer points than this say nothing about time.
    let maxima = curves.iter().any(|c| c.series.maxima.max_ns.iter().filter(|ns| **ns > 0).count() >= 3);
    let blocks = in_blocks && curves.iter().any(|c| !c.series.blocks.is_empty());
    if curves.iter().any(|c| c.series.pulse.as_ref().is_some_and(|p| !p.width.is_empty())) {
        figure(
            body,
            Plot::Widths,
            curves,
            320.0,
            "Pulses by how wide they were. The upright line is the width that was asked for; what lies far beyond is counted at the right edge.",
        );
    }
    if measured {
        figure(
            body,
            Plot::Latency,
            curves,
            400.0,
            "How many samples lie where. Both axes are logarithmic: a single late sample is visible beside millions of good ones. A vertical line marks the worst case of each series.",
        );
        figure(
            body,
            Plot::Percentiles,
            curves,
            360.0,
            "Each step to the right adds a nine: the value at 99.9 % is what one sample in a thousand exceeds. A line that stays flat far to the right is a machine without rare late samples.",
        );
    }
    if maxima {
        figure(
            body,
            Plot::Maxima,
            curves,
            320.0,
            "The largest of each stretch of the run. Single peaks are chance; peaks at equal distances have a cause that can be found.",
        );
    }
    if blocks {
        figure(
            body,
            Plot::Blocks,
            curves,
            300.0,
            "The sides were measured in turn, so that drift of the machine affects both. Drift shows as a slope that both sides share.",
        );
    }
}

fn figure(body: &mut Markup, plot: Plot, curves: &[Curve], height: f64, caption: &str) {
    body.open("section", &[]);
    body.leaf("h2", &[], &plot.title(curves)).leaf("p", &[("class", &"caption")], caption);
    if let Some(panels) = panels::panels(curves) {
        small_multiples(body, plot, &panels, curves);
        body.close();
        return;
    }
    for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
        body.open("figure", &[("class", &class)]);
        body.raw(&plot.inline(curves, width, height));
        body.leaf("p", &[("class", &"readout")], "").close();
    }
    body.close();
}

/// The CPUs that were measured at once, over time.
pub(super) fn cpus(body: &mut Markup, run: &Run) {
    let drawn = [("broad", 960.0), ("narrow", 400.0)].map(|(class, width)| (class, cpus_inline(run, width)));
    let count = drawn[0].1.len();
    if count == 0 {
        return;
    }
    body.open("section", &[]).leaf("h2", &[], "CPUs over time").leaf("p", &[("class", &"caption")], CPUS);
    for method in 0..count {
        for (class, pictures) in &drawn {
            let (name, picture) = &pictures[method];
            body.open("figure", &[("class", class)]);
            if count > 1 {
                body.leaf("figcaption", &[], name);
            }
            body.raw(picture).close();
        }
    }
    body.close();
}

const CPUS: &str = "The largest latency of each CPU in each stretch of the run, by colour. What is bright in one row alone \
disturbs one CPU; a column that is bright in all rows disturbed them all.";

/// Pulses that came over a wire, without a load and beside one.
pub(super) fn received(body: &mut Markup, run: &Run) {
    let sides = received_inline(run);
    if sides.is_empty() {
        return;
    }
    body.open("section", &[]).leaf("h2", &[], "Pulses received, by width");
    body.leaf("p", &[("class", &"caption")], RECEIVED).open("div", &[("class", &"multiples")]);
    for (name, drawn) in sides {
        body.open("figure", &[("class", &"panel")]).leaf("figcaption", &[], &name).raw(&drawn).close();
    }
    body.close().close();
}

const RECEIVED: &str = "How wide the pulses arrived, for each width that was sent, on the same axes. Where the curves of \
two widths overlap, a pulse may be taken for the other; what lies far beyond is counted at the right edge.";

/// More screens than this are a table's, whose widths say more.
const MOST_SCREENS: usize = 16;

/// What an oscilloscope with infinite persistence would show.
pub(super) fn persistence(body: &mut Markup, run: &Run) {
    let screens = persistence_inline(run);
    if screens.is_empty() || screens.len() > MOST_SCREENS {
        return;
    }
    body.open("section", &[]).leaf("h2", &[], "Persistence").leaf("p", &[("class", &"caption")], PERSISTENCE);
    body.open("div", &[("class", &"multiples")]);
    for (name, screen) in screens {
        body.open("figure", &[("class", &"panel")]).leaf("figcaption", &[], &name).raw(&screen).close();
    }
    body.close().close();
}

/// The first pulses of each train; a table's widths say more than so many waveforms.
pub(super) fn waveforms(body: &mut Markup, run: &Run) {
    let waveforms = waveforms_inline(run, panels::WIDTH);
    if waveforms.is_empty() || waveforms.len() > MOST_SCREENS {
        return;
    }
    body.open("section", &[]).leaf("h2", &[], "Pulses, asked for and got").leaf(
        "p",
        &[("class", &"caption")],
        WAVEFORMS,
    );
    if let [(_, _)] = &waveforms[..] {
        for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
            body.open("figure", &[("class", &class)]);
            waveforms_inline(run, width).iter().for_each(|(_, drawn)| {
                body.raw(drawn);
            });
            body.close();
        }
    } else {
        body.open("div", &[("class", &"multiples")]);
        for (name, drawn) in waveforms {
            body.open("figure", &[("class", &"panel")]).leaf("figcaption", &[], &name).raw(&drawn).close();
        }
        body.close();
    }
    body.close();
}

const WAVEFORMS: &str = "The first pulses as the line showed them, below what was asked for; the train begins with the first pulse. The dots are the edges of each pulse: how much too late it rose and fell, or too early below zero.";

const PERSISTENCE: &str = "All traces over each other from the request on, as an oscilloscope with infinite persistence shows them. Where many passed it is bright, on a logarithmic scale: a single late one is dim, and still visible. Each screen has its own time base.";

/// One picture of each panel serves wide and narrow windows: they stand beside or below each other.
fn small_multiples(body: &mut Markup, plot: Plot, panels: &[Panel], all: &[Curve]) {
    let is_shared = panels::is_shared(panels);
    if is_shared {
        body.open("ul", &[("class", &"legend")]);
        for curve in panels::legend(panels) {
            body.open("li", &[]);
            swatch(body, curve.ink);
            body.words(&curve.name).close();
        }
        body.close();
    }
    body.open("div", &[("class", &"multiples")]);
    for panel in panels {
        body.open("figure", &[("class", &"panel")]).leaf("figcaption", &[], &panel.name);
        body.raw(&panels::draw(plot, panel, all, !is_shared)).leaf("p", &[("class", &"readout")], "").close();
    }
    body.close();
}
