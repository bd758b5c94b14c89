//! Pulses received over a wire by width, for each width that was sent: without a load on the left, beside one on the
//! right, on the same axes.

use ontick_record::{Measurement, Run};

use super::frame::Paper;
use super::palette::{Curve, nth};
use super::{panels, widths};
use crate::grouping::load_name;
use crate::typeset::plain_time;

/// What was received with and without a load, each with the curves of all widths; none where no wire was tested.
pub(super) fn sides(run: &Run) -> Vec<(String, Vec<Curve<'_>>)> {
    if run.measurement != Measurement::LinkTest {
        return Vec::new();
    }
    let side = |loaded: bool| {
        let series = run.series.iter().filter(|s| s.case.loaded.unwrap_or(false) == loaded);
        let received = series.filter(|s| s.pulse.as_ref().is_some_and(|p| !p.width.is_empty()));
        let curves: Vec<Curve> = received
            .enumerate()
            .map(|(i, series)| {
                let sent = series.pulse.as_ref().map_or(0, |p| p.wanted_ns);
                let name = format!("sent {}", plain_time(sent));
                Curve { name, series, ink: nth(i), quantity: "width" }
            })
            .collect();
        let load = curves.first().map_or("none", |c| load_name(&c.series.settings.load));
        let name = match (loaded, load) {
            (false, _) => "without load".into(),
            (true, "none") => "under load".into(),
            (true, load) => format!("under load: {load}"),
        };
        (!curves.is_empty()).then_some((name, curves))
    };
    [false, true].into_iter().filter_map(side).collect()
}

/// Each side by itself, as a page wants it.
pub(crate) fn inline(run: &Run) -> Vec<(String, String)> {
    drawn(run, HEIGHT)
}

/// Higher than other panels: marks and legend stand above.
const HEIGHT: f64 = 300.0;

fn drawn(run: &Run, height: f64) -> Vec<(String, String)> {
    let sides = sides(run);
    let all: Vec<Curve> = sides.iter().flat_map(|(_, curves)| curves.clone()).collect();
    let paper = Paper::inline(panels::WIDTH, height);
    sides.iter().map(|(name, curves)| (name.clone(), widths::draw_on_axes_of(&all, curves, &paper))).collect()
}

/// All of it as one document.
pub(super) fn document(run: &Run, title: (String, String)) -> String {
    match drawn(run, HEIGHT) {
        sides if sides.is_empty() => {
            super::nothing(&Paper::titled(900.0, 480.0, title), NAME.into(), "no wire was tested in this run")
        }
        sides => panels::grid_of(NAME, HEIGHT, &[], sides, title),
    }
}

pub(super) const NAME: &str = "Pulses received, by width";

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::run::Pulse;
    use ontick_record::{Case, Histogram, Series};

    pub fn run(loads: &[bool]) -> Run {
        let mut run = Run::new("ontick 0.1.0", Measurement::LinkTest);
        for loaded in loads {
            for wanted_ns in [100_000, 200_000] {
                let case = Case { width_ns: Some(wanted_ns), loaded: Some(*loaded), ..Case::default() };
                let mut width = Histogram::default();
                width.add(wanted_ns, 1_000, 90);
                width.add(wanted_ns + if *loaded { 90_000 } else { 2_000 }, 1_000, 9);
                let mut series = Series::from(case);
                series.settings.load = if *loaded { "cpu: stress-ng --cpu 2".into() } else { String::new() };
                series.pulse = Some(Pulse { wanted_ns, width, ..Pulse::default() });
                run.series.push(series);
            }
        }
        run
    }

    #[test]
    fn both_sides_stand_beside_each_other_on_the_same_axes() {
        let run = run(&[true, false]);
        let names: Vec<String> = sides(&run).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["without load", "under load: cpu"], "left without, right with");
        let drawn = inline(&run);
        let ticks = |svg: &str| {
            let words = svg.split("<text").skip(1).map(|text| text.split('>').nth(1).unwrap().to_owned());
            words.filter(|text| text.contains("µs")).collect::<Vec<_>>()
        };
        let (left, right) = (ticks(&drawn[0].1), ticks(&drawn[1].1));
        assert!(left.len() > 2 && left == right, "{left:?} {right:?}");
        let svg = crate::plot::svg(&run, crate::Plot::Received);
        assert_eq!(svg.matches("<svg ").count(), 3, "a picture of two");
        assert!(["sent 100\u{202f}µs", "sent 200\u{202f}µs"].iter().all(|name| svg.contains(name)), "{svg}");
    }

    #[test]
    fn one_side_is_a_picture_too_and_none_says_so() {
        assert_eq!(inline(&run(&[false])).len(), 1);
        let svg = crate::plot::svg(&Run::new("ontick", Measurement::Timer), crate::Plot::Received);
        assert!(svg.contains("no wire was tested"));
    }
}
