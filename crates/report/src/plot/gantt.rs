//! Who has a link when: rows of bars over one cycle.

use super::arrivals::time_ticks;
use super::frame::{Frame, Paper, QUIET, TEXT, px};
use super::palette::Ink;
use super::scale::Scale;

/// A picture of bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gantt {
    /// Headline.
    pub title: String,
    /// The line below it.
    pub about: String,
    /// What is drawn, from 0, in ns.
    pub span_ns: u64,
    /// From above to below.
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// On its left.
    pub name: String,
    /// In any order.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Where it begins, in ns.
    pub begin_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// Bars of one number look alike.
    pub colour: usize,
    /// What somebody sees who points at it.
    pub name: String,
    /// Time in which something waits: drawn thin.
    pub waits: bool,
}

const WIDTH: f64 = 1_080.0;
const ROW: f64 = 20.0;
/// Room for the names on the left.
const NAMES: f64 = 150.0;
/// A bar that would be narrower is drawn as wide, so that it is seen.
const NARROWEST: f64 = 0.6;

/// Draws it as an SVG document of its own, on white.
pub fn gantt(gantt: &Gantt) -> String {
    let height = 62.0 + ROW * gantt.rows.len().max(1) as f64 + 56.0;
    let title = Some((gantt.title.clone(), gantt.about.clone()));
    let mut frame = Frame::new(&Paper { width: WIDTH, height, title }, &gantt.title, &[], 0.0);
    if gantt.rows.is_empty() {
        frame.nothing("nothing is scheduled");
        return frame.finish();
    }
    frame.left = NAMES;
    let x = Scale::linear(0.0, gantt.span_ns.max(1) as f64, frame.left, frame.right);
    let ticks = time_ticks(x, gantt.span_ns.max(1));
    frame.x_axis(x, &ticks, &[], "time in the cycle");
    frame.curves("windows of links");
    for (place, row) in gantt.rows.iter().enumerate() {
        draw_row(&mut frame, x, place, row);
    }
    frame.svg.close();
    frame.finish()
}

fn draw_row(frame: &mut Frame, x: Scale, place: usize, row: &Row) {
    let top = frame.top + ROW * place as f64;
    let name: String = row.name.chars().take(22).collect();
    frame.text(
        frame.left - 8.0,
        top + 14.0,
        &name,
        &[("text-anchor", &"end"), ("fill", &TEXT), ("class", &"word"), ("font-size", &11)],
    );
    frame.rule((frame.left, top + ROW), (frame.right, top + ROW), "fine", "#eceef1");
    frame.svg.open("g", &[("class", &"curve"), ("data-name", &row.name)]);
    for bar in &row.bars {
        let (left, right) = (x.at(bar.begin_ns as f64), x.at(bar.end_ns as f64));
        let (y, height) = if bar.waits { (top + 8.5, 3.0) } else { (top + 3.0, ROW - 6.0) };
        let ink = Ink { colour: bar.colour, dash: 0 };
        let (fill, class) =
            if bar.waits { (QUIET, "quiet".into()) } else { (ink.stroke(), format!("fill {}", ink.class())) };
        let wide = (right - left).max(NARROWEST);
        frame.svg.open(
            "rect",
            &[
                ("x", &px(left)),
                ("y", &px(y)),
                ("width", &px(wide)),
                ("height", &height),
                ("fill", &fill),
                ("class", &class),
            ],
        );
        frame.svg.leaf("title", &[], &bar.name);
        frame.svg.close();
    }
    frame.svg.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bar_is_there_and_named() {
        let bar =
            |begin_ns, waits| Bar { begin_ns, end_ns: begin_ns + 100, colour: 1, name: "video <1>".into(), waits };
        let rows = vec![Row { name: "a>b".into(), bars: vec![bar(0, false), bar(500, true)] }];
        let svg = gantt(&Gantt { title: "Windows".into(), about: "two".into(), span_ns: 1_000, rows });
        assert_eq!(svg.matches("<rect").count(), 3, "two bars on one sheet of paper");
        assert!(svg.contains("video &lt;1&gt;") && svg.contains("data-name=\"a&gt;b\""), "{svg}");
        assert!(gantt(&Gantt::default()).contains("nothing is scheduled"));
    }
}
