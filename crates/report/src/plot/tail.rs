//! Return levels: what is exceeded once in so many cycles, with the band that it lies in and the peaks that were observed.

use ontick_record::tail::{Bound, Level};
use ontick_record::{Run, Series};

use super::frame::{Frame, Paper, path};
use super::palette::{Curve, of_run};
use super::scale::{Scale, power_of_count};
use super::time_axis;
use crate::bins::Decades;

pub(super) const NAME: &str = "Return levels";
pub(super) const LACKING: &str = "no bound of a tail could be given";

/// The series that have a bound.
pub(super) fn bounds(run: &Run) -> impl Iterator<Item = (&Series, &Bound)> {
    run.series.iter().filter_map(|s| Some((s, s.tail.as_ref()?.bound.as_ref()?)))
}

pub(super) fn draw(run: &Run, paper: &Paper) -> String {
    let curves: Vec<(Curve, &Bound)> = (of_run(run).into_iter())
        .filter_map(|curve| curve.series.tail.as_ref()?.bound.as_ref().map(|bound| (curve.clone(), bound)))
        .collect();
    let names: Vec<Curve> = curves.iter().map(|(curve, _)| curve.clone()).collect();
    let mut frame = Frame::new(paper, NAME, &names, 4.0);
    let levels = || curves.iter().flat_map(|(_, bound)| &bound.levels);
    let (Some(first), Some(last)) = (levels().map(|l| l.once_in).min(), levels().map(|l| l.once_in).max()) else {
        frame.nothing(LACKING);
        return frame.finish();
    };
    let power = |n: u64| (n.max(1) as f64).log10();
    let x = Scale::log(power(first).floor(), power(last).ceil(), frame.left, frame.right);
    let values = levels().flat_map(|l| [l.lower_ns, l.upper_ns]).chain(curves.iter().map(|(_, b)| b.threshold_ns));
    let y = time_axis(&mut frame, "exceeded once", Decades::of_values(values), |frame| {
        frame.x_axis(x, &x.powers(44.0, power_of_count), &[], "in so many cycles");
    });
    frame.curves("levels");
    for (curve, bound) in &curves {
        let along = |value: fn(&Level) -> u64| -> Vec<(f64, f64)> {
            bound.levels.iter().map(|l| (x.at(l.once_in as f64), y.at(value(l) as f64))).collect()
        };
        let mut band = along(|l| l.lower_ns);
        band.extend(along(|l| l.upper_ns).into_iter().rev());
        let (class, fill) = (format!("fill {}", curve.ink.class()), curve.ink.stroke());
        frame.svg.open("g", &[("class", &"curve"), ("data-name", &curve.name)]);
        frame.svg.leaf("title", &[], &curve.name);
        frame.svg.empty("path", &[("d", &path(&band)), ("class", &class), ("fill", &fill), ("fill-opacity", &0.13)]);
        frame.line(&path(&along(|l| l.fitted_ns)), curve.ink, 1.8);
        for (once_in, ns) in observed(curve.series, bound) {
            frame.dot((x.at(once_in), y.at(ns as f64)), 1.8, curve.ink);
        }
        frame.svg.close();
    }
    frame.svg.close();
    frame.finish()
}

/// The peaks above the threshold: the i-th largest of n is exceeded about once in `n / (i − ½)`.
fn observed(series: &Series, bound: &Bound) -> Vec<(f64, u64)> {
    let mut peaks: Vec<u64> = series.peaks.iter().map(|p| p.latency_ns).filter(|ns| *ns > bound.threshold_ns).collect();
    peaks.sort_unstable_by(|a, b| b.cmp(a));
    let places = (0..).map(|i| bound.cycles as f64 / (f64::from(i) + 0.5));
    places.zip(peaks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tail::tests::run;

    #[test]
    fn a_band_a_line_and_a_dot_for_each_peak() {
        let mut run = run();
        let svg = draw(&run, &Paper::inline(900.0, 400.0));
        // Of 600 peaks from 20.01 to 26 µs, those above 22 µs.
        assert_eq!((svg.matches("<circle").count(), svg.matches("fill-opacity").count()), (400, 1), "{svg}");
        assert!(svg.contains("in so many cycles") && svg.contains("10⁹"), "{svg}");
        run.series[0].tail = None;
        assert!(draw(&run, &Paper::inline(900.0, 400.0)).contains(LACKING));
    }
}
