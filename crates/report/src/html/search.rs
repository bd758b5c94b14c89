//! A search over settings: its picture and its table.

use ontick_record::Run;
use ontick_record::search::{Effect, Search, Verdict};

use crate::markup::Markup;
use crate::plot;
use crate::search::{interval, more_time, quantity, signed, verdict_of, verdict_on_member};
use crate::typeset::{self, count};

/// The figures that decide.
pub(super) fn cards(body: &mut Markup, of: &Search) {
    let with = |verdict| of.that(verdict).count().to_string();
    let cards = [
        ("candidates that help", with(Verdict::Helps)),
        ("that hurt", with(Verdict::Hurts)),
        ("without an effect", with(Verdict::NoEffect)),
        ("not settled", with(Verdict::Unsettled)),
    ];
    body.open("dl", &[("class", &"cards")]);
    for (name, figure) in cards {
        body.open("div", &[("class", &"card")]).leaf("dt", &[], name).leaf("dd", &[("class", &"figure")], &figure);
        body.close();
    }
    body.close();
}

/// The picture, and a row for each candidate.
pub(super) fn all(body: &mut Markup, run: &Run) {
    let Some(of) = &run.search else { return };
    if let Some(words) = more_time(of) {
        body.leaf("p", &[("class", &"caption")], &typeset::sentence(&words));
    }
    body.open("section", &[]).leaf("h2", &[], "Gain of each setting");
    let caption = "A dot is the median gain, a bar its simultaneous interval. What lies within the grey band is too little to be worth a setting.";
    body.leaf("p", &[("class", &"caption")], caption);
    body.open("figure", &[("class", &"broad")]).raw(&plot::forest_inline(of, 900.0)).close();
    body.open("div", &[("class", &"wide")]).open("table", &[]).open("thead", &[]).open("tr", &[]);
    let quantity = typeset::sentence(&quantity(of));
    let groups = if of.boots.is_some() { "pairs of boots" } else { "quartets" };
    let of_all = format!("of all {groups}");
    for head in ["candidate", &quantity, "interval", &of_all, groups, "set aside", "verdict"] {
        body.leaf("th", &[], head);
    }
    body.close().close().open("tbody", &[]);
    of.effects.iter().for_each(|effect| row(body, of, effect, &effect.name, &verdict_of(of, effect)));
    of.together.iter().for_each(|effect| row(body, of, effect, &effect.name, &verdict_of(of, effect)));
    for member in &of.members {
        let name = format!("{} beside the others of the set", member.name);
        row(body, of, member, &name, &verdict_on_member(of, member));
    }
    body.close().close().close();
    if !of.skipped.is_empty() {
        body.leaf("h3", &[], "Not judged").open("dl", &[("class", &"about")]);
        for skipped in &of.skipped {
            body.leaf("dt", &[], &skipped.name).leaf("dd", &[], &skipped.why);
        }
        body.close();
    }
    body.close();
}

fn row(body: &mut Markup, of: &Search, effect: &Effect, name: &str, verdict: &str) {
    let gain = |gain: Option<f64>| gain.map_or("–".into(), |gain| signed(of, gain));
    body.open("tr", &[]).leaf("th", &[], name).leaf("td", &[], &gain(effect.gain));
    body.leaf("td", &[], &interval(of, effect)).leaf("td", &[], &gain(effect.gain_of_all));
    body.leaf("td", &[], &count(effect.quartets)).leaf("td", &[], &count(effect.set_aside));
    body.leaf("td", &[], verdict).close();
}
