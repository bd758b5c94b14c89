//! The plots of a page, each drawn for a wide and for a narrow window.

use crate::markup::Markup;
use crate::plot::{Curve, Plot};

pub(super) fn all(body: &mut Markup, curves: &[Curve], in_blocks: bool) {
    let measured = curves.iter().any(|c| c.series.latency.count() > 0);
    // Fewer points than this say nothing about time.
    let maxima = curves.iter().any(|c| c.series.maxima.max_ns.iter().filter(|ns| **ns > 0).count() >= 3);
    let blocks = in_blocks && curves.iter().any(|c| !c.series.blocks.is_empty());
    if measured {
        figure(
            body,
            Plot::Latency,
            curves,
            400.0,
            "How many samples had which latency. Both axes are logarithmic: a single late sample is visible beside millions of good ones. A vertical line marks the worst case of each series.",
        );
        figure(
            body,
            Plot::Percentiles,
            curves,
            360.0,
            "Each step to the right adds a nine: the value at 99.9 % is the latency that one sample in a thousand exceeds. A line that stays flat far to the right is a machine without rare late samples.",
        );
    }
    if maxima {
        figure(
            body,
            Plot::Maxima,
            curves,
            320.0,
            "The largest latency of each stretch of the run. Single peaks are chance; peaks at equal distances have a cause that can be found.",
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
    body.leaf("h2", &[], plot.title()).leaf("p", &[("class", &"caption")], caption);
    for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
        body.open("figure", &[("class", &class)]);
        body.raw(&plot.inline(curves, width, height));
        body.leaf("p", &[("class", &"readout")], "").close();
    }
    body.close();
}
