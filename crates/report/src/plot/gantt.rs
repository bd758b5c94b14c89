//! Who has a link when: rows of bars over one cycle.

use super::arrivals::time_ticks;
use super::frame::{Frame, Paper, QUIET, TEXT, px, text_width};
use super::hatch;
use super::palette::nth;
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
    /// What the colours of bars mean: each number with its name.
    pub legend: Vec<(usize, String)>,
    /// What lies along the rows; empty: time in the cycle.
    pub along: String,
    /// What thin bars mean; empty: that something waits in a queue.
    pub thin: String,
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
    /// Behind the bars: from, until, in ns.
    pub windows: Vec<(u64, u64)>,
    /// Until when it must be over, in ns, each with its name; what lies beyond the end is named at the end.
    pub deadlines: Vec<(u64, String)>,
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
/// Room for the names on the left: the least and the most.
const NAMES: (f64, f64) = (80.0, 380.0);
const NAME_SIZE: f64 = 11.0;
const LEGEND_ROW: f64 = 18.0;
/// More names than this are counted.
const MOST_NAMED: usize = 28;
const DEADLINE: &str = "#c0311a";
const WINDOW: &str = "#dfe5ea";
/// A bar that would be narrower is drawn as wide, so that it is seen.
const NARROWEST: f64 = 0.6;

/// Draws it as an SVG document of its own, on white.
pub fn gantt(gantt: &Gantt) -> String {
    let legend = legend(gantt);
    let rows = ROW * gantt.rows.len().max(1) as f64;
    let above = legend.iter().map(|entry| entry.y + LEGEND_ROW).fold(0.0, f64::max);
    let height = 62.0 + above + rows + 56.0;
    let title = (gantt.title.clone(), gantt.about.clone());
    let mut frame = Frame::new(&Paper::titled(WIDTH, height, title), &gantt.title, &[], 0.0);
    if gantt.rows.is_empty() {
        frame.nothing("nothing is scheduled");
        return frame.finish();
    }
    let names = gantt.rows.iter().map(|row| text_width(&row.name, NAME_SIZE)).fold(0.0, f64::max);
    frame.left = (names + 24.0).clamp(NAMES.0, NAMES.1);
    hatch::define(&mut frame.svg, colours(gantt).map(nth));
    frame.svg.open("g", &[("class", &"legend")]);
    for entry in &legend {
        entry.draw(&mut frame);
    }
    frame.svg.close();
    frame.top += above;
    let x = Scale::linear(0.0, gantt.span_ns.max(1) as f64, frame.left, frame.right);
    let ticks = time_ticks(x, gantt.span_ns.max(1));
    let along = if gantt.along.is_empty() { "time in the cycle" } else { &gantt.along };
    frame.x_axis(x, &ticks, &[], along);
    frame.curves("windows of links");
    for (place, row) in gantt.rows.iter().enumerate() {
        draw_row(&mut frame, x, place, row);
    }
    frame.svg.close();
    frame.finish()
}

/// The numbers of all colours in the picture.
fn colours(gantt: &Gantt) -> impl Iterator<Item = usize> {
    let bars = gantt.rows.iter().flat_map(|row| &row.bars).filter(|bar| !bar.waits);
    gantt.legend.iter().map(|(colour, _)| *colour).chain(bars.map(|bar| bar.colour))
}

/// What a sign in the picture means, and where that is written.
struct Entry {
    x: f64,
    y: f64,
    sign: Sign,
    name: String,
}

enum Sign {
    Bar(usize),
    Waits,
    Deadline,
    None,
}

fn legend(gantt: &Gantt) -> Vec<Entry> {
    let named = gantt.legend.iter().take(MOST_NAMED).map(|(colour, name)| (Sign::Bar(*colour), name.clone()));
    let more = gantt.legend.len().saturating_sub(MOST_NAMED);
    let more = (more > 0).then(|| (Sign::None, format!("and {more} more")));
    let waits = gantt.rows.iter().any(|row| row.bars.iter().any(|bar| bar.waits));
    let thin = if gantt.thin.is_empty() { "waits in a queue" } else { &gantt.thin };
    let waits = waits.then(|| (Sign::Waits, thin.into()));
    let deadlines = gantt.rows.iter().any(|row| !row.deadlines.is_empty());
    let deadlines = deadlines.then(|| (Sign::Deadline, "deadline".into()));
    let (mut x, mut y) = (16.0, 0.0);
    let mut legend = Vec::new();
    for (sign, name) in named.chain(more).chain(waits).chain(deadlines) {
        let wide = 22.0 + text_width(&name, 12.0) + 16.0;
        if x > 16.0 && x + wide > WIDTH - 16.0 {
            (x, y) = (16.0, y + LEGEND_ROW);
        }
        legend.push(Entry { x, y, sign, name });
        x += wide;
    }
    legend
}

impl Entry {
    fn draw(&self, frame: &mut Frame) {
        let y = frame.top + self.y;
        match self.sign {
            Sign::Bar(colour) => block(frame, (self.x, y + 1.0), (14.0, 10.0), Some(colour), None),
            Sign::Waits => block(frame, (self.x, y + 4.5), (14.0, 3.0), None, None),
            Sign::Deadline => frame.rule((self.x + 7.0, y), (self.x + 7.0, y + 12.0), "deadline", DEADLINE),
            Sign::None => {}
        }
        frame.text(self.x + 20.0, y + 10.0, &self.name, &[("fill", &TEXT), ("class", &"word")]);
    }
}

/// A filled rectangle, in the colour and pattern of its number or in that of waiting, with what somebody sees who points
/// at it.
fn block(frame: &mut Frame, (x, y): (f64, f64), (wide, high): (f64, f64), colour: Option<usize>, title: Option<&str>) {
    let ink = colour.map(nth);
    let fill = ink.map_or(QUIET, |ink| ink.stroke());
    let class = ink.map_or_else(|| "quiet".into(), |ink| format!("fill {}", ink.class()));
    let (x, y, wide) = (px(x), px(y), px(wide));
    // Where a switch sends on what still comes in, both bars are seen.
    let shape: [(&str, &dyn std::fmt::Display); 4] = [("x", &x), ("y", &y), ("width", &wide), ("height", &high)];
    let paint: [(&str, &dyn std::fmt::Display); 3] = [("fill", &fill), ("fill-opacity", &0.8), ("class", &class)];
    frame.svg.open("rect", &[&shape[..], &paint].concat());
    if let Some(title) = title {
        frame.svg.leaf("title", &[], title);
    }
    frame.svg.close();
    if let Some(ink) = ink {
        hatch::cover(&mut frame.svg, ink, &shape);
    }
}

fn draw_row(frame: &mut Frame, x: Scale, place: usize, row: &Row) {
    let top = frame.top + ROW * place as f64;
    let most = ((frame.left - 24.0) / text_width("x", NAME_SIZE)).round() as usize;
    let name = match row.name.char_indices().nth(most.max(2)) {
        Some(_) => row.name.chars().take(most.max(2) - 1).chain(['…']).collect(),
        None => row.name.clone(),
    };
    frame.text(
        frame.left - 8.0,
        top + 14.0,
        &name,
        &[("text-anchor", &"end"), ("fill", &TEXT), ("class", &"word"), ("font-size", &NAME_SIZE)],
    );
    frame.rule((frame.left, top + ROW), (frame.right, top + ROW), "fine", "#eceef1");
    frame.svg.open("g", &[("class", &"curve"), ("data-name", &row.name)]);
    for (begin_ns, end_ns) in &row.windows {
        let (left, right) = (x.at(*begin_ns as f64), x.at(*end_ns as f64));
        frame.rectangle((left, top + 1.0), ((right - left).max(NARROWEST), ROW - 2.0), WINDOW, "none");
    }
    for bar in &row.bars {
        let (left, right) = (x.at(bar.begin_ns as f64), x.at(bar.end_ns as f64));
        let (y, height) = if bar.waits { (top + 8.5, 3.0) } else { (top + 3.0, ROW - 6.0) };
        let size = ((right - left).max(NARROWEST), height);
        let colour = (!bar.waits).then_some(bar.colour);
        block(frame, (left.min(frame.right - NARROWEST), y), size, colour, Some(&bar.name));
    }
    let span = x.value_at_end();
    let mut beyond: Vec<&str> = Vec::new();
    for (at_ns, name) in &row.deadlines {
        if *at_ns as f64 > span {
            beyond.push(name);
            continue;
        }
        let at = x.at(*at_ns as f64);
        frame.svg.open("g", &[("class", &"deadline")]);
        frame.svg.leaf("title", &[], name);
        frame.rule((at, top + 1.0), (at, top + ROW - 1.0), "deadline", DEADLINE);
        frame.svg.close();
    }
    if let [first, ..] = beyond[..] {
        let words = format!("{first} →");
        let attributes: [(&str, &dyn std::fmt::Display); 4] =
            [("text-anchor", &"end"), ("fill", &DEADLINE), ("class", &"deadline"), ("font-size", &10)];
        frame.text(frame.right, top + 14.0, &words, &attributes);
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
        let deadlines = vec![(700, "deadline 700ns".into()), (9_000, "deadline 9us".into())];
        let rows = vec![Row {
            name: "a>b".into(),
            bars: vec![bar(0, false), bar(500, true)],
            windows: vec![(0, 300)],
            deadlines,
        }];
        let legend = vec![(1, "video".into())];
        let svg = gantt(&Gantt {
            title: "Windows".into(),
            about: "two".into(),
            span_ns: 1_000,
            legend,
            rows,
            ..Gantt::default()
        });
        // Two bars and what they mean, a window, on one sheet of paper.
        assert_eq!(svg.matches("<rect").count(), 6, "{svg}");
        assert_eq!(svg.matches(WINDOW).count(), 1, "{svg}");
        assert!(svg.contains("video &lt;1&gt;") && svg.contains("data-name=\"a&gt;b\""), "{svg}");
        for words in [">video<", ">waits in a queue<", ">deadline<", "deadline 9us →"] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        let document = roxmltree::Document::parse(&svg).unwrap();
        let marks =
            document.descendants().filter(|n| n.has_tag_name("line") && n.attribute("class") == Some("deadline"));
        let at: Vec<f64> = marks.map(|n| n.attribute("x1").unwrap().parse().unwrap()).collect();
        let share = (at[1] - 80.0) / (WIDTH - 22.0 - 80.0);
        assert!(at.len() == 2 && (share - 0.7).abs() < 0.01, "one in the legend, one at seven tenths: {at:?}");
        assert!(gantt(&Gantt::default()).contains("nothing is scheduled"));
    }

    /// The colours of the first seven come again.
    #[test]
    fn the_eighth_stream_has_a_pattern_in_the_legend_and_in_its_bars() {
        let bar = |colour| Bar { begin_ns: 0, end_ns: 500, colour, name: String::new(), waits: false };
        let picture = |colour| Gantt {
            span_ns: 1_000,
            legend: vec![(colour, "stream".into())],
            rows: vec![Row { name: "a>b".into(), bars: vec![bar(colour)], ..Row::default() }],
            ..Gantt::default()
        };
        let drawn = |colour| gantt(&picture(colour)).matches("url(#hatch-").count();
        assert_eq!([drawn(6), drawn(7), drawn(27)], [0, 2, 2]);
    }

    #[test]
    fn long_names_have_their_room_and_many_are_counted() {
        let name = "a_device_of_the_line_three>switch_of_hall_two";
        let rows = vec![Row { name: name.into(), ..Row::default() }];
        let legend = (0..40).map(|n| (n, format!("stream {n}"))).collect();
        let svg = gantt(&Gantt { span_ns: 1_000, legend, rows, ..Gantt::default() });
        assert!(svg.contains(&format!(">{}<", name.replace('>', "&gt;"))), "{svg}");
        assert!(svg.contains(">and 12 more<") && !svg.contains(">stream 28<"), "{svg}");
    }
}
