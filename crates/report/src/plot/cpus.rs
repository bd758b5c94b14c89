//! The largest latency of each CPU over time: a row for each, colour for height.

use ontick_record::Run;
use ontick_record::run::Maxima;

use super::frame::{Frame, Paper, QUIET, TEXT, px};
use super::scale::{Scale, Tick, power_of_time, time_steps};
use super::{BROAD, nothing, panels};
use crate::bins::Decades;
use crate::together::on_cpus;
use crate::typeset::time;

pub(super) const NAME: &str = "CPUs over time";
pub(super) const LACKING: &str = "it was measured on one CPU";
/// From small to large: viridis, which grows lighter evenly and which colour-blind readers can follow.
const COLOURS: [&str; 9] =
    ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
/// Rows are so high at most and at least, in pixels, and so high in all where that leaves the choice.
const ROW: (f64, f64) = (3.0, 26.0);
const ROWS: f64 = 520.0;
/// Cells are so wide at least.
const CELL: f64 = 4.0;
/// Numbers of CPUs are so far apart at least.
const APART: f64 = 13.0;
/// Title, axis and what explains the colours.
const BESIDE: f64 = 62.0 + 42.0 + 46.0;

/// The CPUs that were measured at once by one method.
pub(crate) struct Heat<'a> {
    pub method: String,
    rows: Vec<(u32, &'a Maxima)>,
}

/// A picture for each method; none where no two CPUs were measured at once.
pub(crate) fn heats(run: &Run) -> Vec<Heat<'_>> {
    let mut heats: Vec<Heat> = Vec::new();
    for (cpu, series) in on_cpus(run).filter(|(_, series)| series.maxima.max_ns.iter().any(|ns| *ns > 0)) {
        let method = series.case.method.clone().unwrap_or_default();
        match heats.iter_mut().find(|heat| heat.method == method) {
            Some(heat) => heat.rows.push((cpu, &series.maxima)),
            None => heats.push(Heat { method, rows: vec![(cpu, &series.maxima)] }),
        }
    }
    heats.retain(|heat| heat.rows.len() > 1);
    heats
}

impl Heat<'_> {
    /// How high a picture of it is, with a title or without.
    pub fn height(&self, has_title: bool) -> f64 {
        self.row() * self.rows.len() as f64 + if has_title { BESIDE } else { BESIDE - 52.0 }
    }

    fn row(&self) -> f64 {
        (ROWS / self.rows.len() as f64).clamp(ROW.0, ROW.1)
    }
}

pub(super) fn document(run: &Run, title: (String, String)) -> String {
    match &heats(run)[..] {
        [] => nothing(&Paper::titled(900.0, 480.0, title), NAME.into(), LACKING),
        [only] => draw(only, &Paper::titled(900.0, only.height(true), title)),
        several => {
            let high = several.iter().map(|heat| heat.height(false)).fold(0.0, f64::max);
            let paper = Paper::inline(panels::WIDTH.min(BROAD), high);
            let drawn = several.iter().map(|heat| (heat.method.clone(), draw(heat, &paper)));
            panels::grid_of(NAME, high, &[], drawn.collect(), title)
        }
    }
}

pub(crate) fn draw(heat: &Heat, paper: &Paper) -> String {
    let mut frame = Frame::new(paper, NAME, &[], 32.0);
    let row = heat.row();
    frame.bottom = frame.top + row * heat.rows.len() as f64;
    let seconds = heat.rows.iter().map(|(_, maxima)| maxima.length_ns() as f64 / 1e9).fold(1.0, f64::max);
    let x = Scale::linear(0.0, seconds, frame.left, frame.right);
    let steps = time_steps(seconds, ((frame.right - frame.left) / 70.0) as usize);
    let ticks: Vec<Tick> = steps.into_iter().map(|(at, label)| Tick { at: x.at(at), label }).collect();
    frame.x_axis(x, &ticks, &[], "time in the series");
    let decades =
        Decades::of_values(heat.rows.iter().flat_map(|(_, maxima)| maxima.max_ns.iter().copied()).filter(|ns| *ns > 0));
    let shade = Scale::log(f64::from(decades.low), f64::from(decades.high), 0.0, COLOURS.len() as f64 - 1.0);
    colours(&mut frame, shade);
    let every = (APART / row).ceil().max(1.0) as usize;
    frame.svg.open("g", &[("class", &"heat"), ("data-rows", &heat.rows.len())]);
    for (n, (cpu, maxima)) in heat.rows.iter().enumerate() {
        let y = frame.top + row * n as f64;
        for (from, to, max_ns) in cells(maxima, x) {
            let colour = COLOURS[(shade.at(max_ns as f64).round() as usize).min(COLOURS.len() - 1)];
            let gap = if row > 6.0 { 1.0 } else { 0.0 };
            let [left, wide, top, high] = [from, to - from, y, row - gap].map(px);
            let place: [(&str, &dyn std::fmt::Display); 5] =
                [("x", &left), ("y", &top), ("width", &wide), ("height", &high), ("fill", &colour)];
            frame.svg.open("rect", &place).leaf("title", &[], &format!("CPU {cpu}: {}", time(max_ns))).close();
        }
        if n % every == 0 {
            let said: [(&str, &dyn std::fmt::Display); 4] =
                [("text-anchor", &"end"), ("fill", &QUIET), ("class", &"quiet"), ("font-size", &11)];
            frame.text(frame.left - 8.0, y + row / 2.0 + 4.0, &format!("CPU {cpu}"), &said);
        }
    }
    frame.svg.close();
    frame.finish()
}

/// What each colour is, above the plot.
fn colours(frame: &mut Frame, shade: Scale) {
    let (wide, top) = (26.0, frame.top - 32.0);
    let from = frame.left;
    for (n, colour) in COLOURS.iter().enumerate() {
        frame.rectangle((from + wide * n as f64, top), (wide, 9.0), colour, "none");
    }
    for tick in shade.powers(1.5, power_of_time) {
        let at = from + wide * (tick.at + 0.5);
        let said: [(&str, &dyn std::fmt::Display); 4] =
            [("text-anchor", &"middle"), ("fill", &QUIET), ("class", &"quiet"), ("font-size", &11)];
        frame.text(at, top + 20.0, &tick.label, &said);
    }
    let words = "largest latency";
    frame.text(
        from + wide * COLOURS.len() as f64 + 10.0,
        top + 9.0,
        words,
        &[("fill", &TEXT), ("class", &"word"), ("font-size", &11)],
    );
}

/// From and to on paper, and the largest latency: stretches that would be narrower than a cell share one.
fn cells(maxima: &Maxima, x: Scale) -> Vec<(f64, f64, u64)> {
    let mut cells: Vec<(f64, f64, u64)> = Vec::new();
    for stretch in maxima.stretches().filter(|stretch| stretch.max_ns > 0) {
        let from = x.at(stretch.from_ns as f64 / 1e9);
        let to = x.at((stretch.from_ns + stretch.length_ns) as f64 / 1e9);
        match cells.last_mut() {
            Some(last) if from - last.1 < 0.01 && last.1 - last.0 < CELL => {
                (last.1, last.2) = (to, last.2.max(stretch.max_ns));
            }
            _ => cells.push((from, to, stretch.max_ns)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use ontick_record::{Case, Series};

    use super::*;
    use crate::plot::{Plot, svg};

    fn run(cpus: u32, maxima: impl Fn(u32) -> Vec<u64>) -> Run {
        let mut run = Run::new("ontick", "timer");
        run.series.extend((0..cpus).map(|cpu| {
            let case = Case { method: Some("hybrid".into()), cpu: Some(cpu), ..Case::default() };
            let mut series = Series::from(case);
            series.latency.add(900, 1, 10);
            series.maxima = Maxima { step_ns: 1_000_000_000, max_ns: maxima(cpu), ..Maxima::default() };
            series
        }));
        run
    }

    #[test]
    fn each_second_of_each_cpu_is_a_cell_coloured_by_its_largest() {
        let svg = svg(&run(2, |cpu| if cpu == 0 { vec![1_000, 0, 900_000] } else { vec![1_100; 3] }), Plot::Cpus);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let heat = document.descendants().find(|node| node.attribute("class") == Some("heat")).unwrap();
        let fills: Vec<&str> =
            heat.children().filter_map(|node| node.attribute("fill").filter(|f| f.len() == 7 && *f != QUIET)).collect();
        assert_eq!(fills, [COLOURS[0], COLOURS[8], COLOURS[0], COLOURS[0], COLOURS[0]]);
        assert!(svg.contains("CPU 0: 900") && svg.contains("CPU 1"), "{svg}");
    }

    #[test]
    fn a_peak_is_in_the_picture_however_long_the_run_and_however_many_the_cpus() {
        let long =
            |cpu| (0..20_000).map(|second| if second == 7_777 && cpu == 255 { 9_000_000 } else { 1_000 }).collect();
        let run = run(256, long);
        let heats = heats(&run);
        let drawn = draw(&heats[0], &Paper::inline(960.0, heats[0].height(false)));
        assert!(heats[0].height(false) < 1_000.0 && drawn.contains("CPU 255: 9"));
        assert!(drawn.len() < 12_000_000, "{}", drawn.len());
    }

    #[test]
    fn one_cpu_has_no_picture() {
        assert!(heats(&run(1, |_| vec![1_000])).is_empty());
        assert!(svg(&run(1, |_| vec![1_000]), Plot::Cpus).contains(LACKING));
    }
}
