//! How late kinds of machines were, week by week.

use super::frame::{Frame, Paper, path};
use super::palette::{Ink, nth};
use super::scale::{Scale, Tick};
use super::time_axis;
use crate::bins::Decades;

/// A kind of machines over the weeks.
pub(crate) struct Course {
    pub name: String,
    /// Weeks since the first that is drawn, and the latency then, in ns.
    pub points: Vec<(u32, u64)>,
}

impl Course {
    /// What the n-th of several is drawn with.
    pub fn ink(place: usize) -> Ink {
        nth(place)
    }
}

/// The courses; `weeks` names each week from the first on.
pub(crate) fn weeks(courses: &[Course], weeks: &[String], width: f64, height: f64) -> String {
    let paper = Paper { has_legend: false, ..Paper::inline(width, height) };
    let mut frame = Frame::new(&paper, "p99.99 week by week", &[], 4.0);
    let last = weeks.len().saturating_sub(1).max(1) as f64;
    let x = Scale::linear(0.0, last, frame.left + 20.0, frame.right - 20.0);
    let step = (weeks.len() as f64 / ((frame.right - frame.left) / 76.0).max(1.0)).ceil().max(1.0) as usize;
    let named = weeks.iter().enumerate().step_by(step);
    let ticks: Vec<Tick> = named.map(|(n, week)| Tick { at: x.at(n as f64), label: week.clone() }).collect();
    let axis = Decades::of_values(courses.iter().flat_map(|course| course.points.iter().map(|(_, ns)| *ns)));
    let y = time_axis(&mut frame, "p99.99", axis, |frame| frame.x_axis(x, &ticks, &[], "week"));
    frame.curves("p99.99");
    for (place, course) in courses.iter().enumerate() {
        let ink = Course::ink(place);
        let points: Vec<(f64, f64)> =
            course.points.iter().map(|(week, ns)| (x.at(f64::from(*week)), y.at(*ns as f64))).collect();
        frame.svg.open("g", &[("class", &"curve"), ("data-name", &course.name)]).leaf("title", &[], &course.name);
        frame.line(&path(&points), ink, 1.6);
        points.into_iter().for_each(|at| frame.dot(at, 3.0, ink));
        frame.svg.close();
    }
    frame.svg.close();
    frame.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_week_of_each_kind_is_a_point() {
        let course = |name: &str, points: &[(u32, u64)]| Course { name: name.into(), points: points.to_vec() };
        let courses = [course("a", &[(0, 10_000), (2, 30_000)]), course("b", &[(1, 900)])];
        let names: Vec<String> = (45..48).map(|week| format!("2026-W{week}")).collect();
        let svg = weeks(&courses, &names, 600.0, 300.0);
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(document.descendants().filter(|node| node.has_tag_name("circle")).count(), 3);
        assert!(names.iter().all(|name| svg.contains(name.as_str())), "{svg}");
    }
}
