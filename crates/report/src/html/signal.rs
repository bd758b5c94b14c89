//! What was sampled: the newest samples, their spectrum, and what is missing.

use ontick_record::Run;

use crate::markup::Markup;
use crate::plot;
use crate::signal::{frequency, strongest};
use crate::typeset::count;

/// All of it; nothing where no signal was kept.
pub(super) fn signal(body: &mut Markup, run: &Run) {
    let Some(signal) = &run.signal else { return };
    body.open("section", &[]).leaf("h2", &[], &format!("Signal: {}", signal.channel));
    body.leaf("p", &[("class", &"caption")], "The newest samples as they were handed on. Where the line has a hole, samples are missing; nothing is interpolated.");
    for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
        body.open("figure", &[("class", &class)]).raw(&plot::signal_inline(signal, width)).close();
    }
    body.close();
    if plot::spectrum_inline(signal, 960.0).is_some() {
        body.open("section", &[]).leaf("h2", &[], "Spectrum");
        let strongest =
            strongest(signal).map_or_else(String::new, |hz| format!(" The strongest is {}.", frequency(hz)));
        let words = format!(
            "The amplitude of each frequency in these samples, by a Fourier transform of their longest stretch without a hole (Hann window, mean taken away).{strongest}"
        );
        body.leaf("p", &[("class", &"caption")], &words);
        for (class, width) in [("broad", 960.0), ("narrow", 400.0)] {
            body.open("figure", &[("class", &class)]);
            plot::spectrum_inline(signal, width).iter().for_each(|drawn| {
                body.raw(drawn);
            });
            body.close();
        }
        body.close();
    }
    body.open("section", &[]).leaf("h2", &[], "Gaps");
    body.open("div", &[("class", &"wide")]).open("table", &[]).open("tbody", &[]);
    for (why, missing) in [("the thread was late", signal.missed_late), ("the ring was full", signal.missed_full)] {
        body.open("tr", &[]).leaf("th", &[("scope", &"row")], why).leaf("td", &[], &count(missing)).close();
    }
    body.close().close().close();
    body.leaf(
        "p",
        &[("class", &"caption")],
        "Samples of the whole run that are missing, by reason. What a slow client missed is in its own stream.",
    );
    body.close();
}
