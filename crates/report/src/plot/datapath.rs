//! The data path of a switch as a picture: what came in by each port, and what became of it in each class's queue and
//! behind its gate.

use super::frame::{Frame, Paper, QUIET, TEXT, path};
use super::palette::Ink;
use crate::datapath::{DataPath, PathClass, PathPort, Stage};
use crate::number::count;
use crate::typeset::plain_time;

const WIDTH: f64 = 1_080.0;
const MARGIN: f64 = 16.0;
/// Boxes of the ports that frames come in by.
const INGRESS: f64 = 196.0;
/// The forwarding between ways in and ways out.
const FORWARDING: (f64, f64) = (240.0, 266.0);
const CLASSES: f64 = 300.0;
/// Names of classes, each box of a stage, and what is between boxes.
const NAME: f64 = 112.0;
const BOX: f64 = 142.0;
const BETWEEN: f64 = 24.0;
const HIGH: f64 = 44.0;
/// A reason for dropped frames below a box, and the room below a row.
const REASON: f64 = 13.0;
const BELOW: f64 = 12.0;
const HEADING: f64 = 26.0;
const TOP: f64 = 62.0;
const SMALL: f64 = 11.0;
const BAD: &str = "#b3261e";

/// Draws it as an SVG document of its own, on white.
pub fn data_path(path: &DataPath) -> String {
    let right: f64 = path.ports.iter().map(port_height).sum();
    let left: f64 = path.ports.iter().map(|port| ingress_height(&port.ingress)).sum();
    let height = TOP + HEADING + right.max(left) + MARGIN;
    let mut frame =
        Frame::new(&Paper::titled(WIDTH, height, (path.title.clone(), path.about.clone())), "Data path", &[], 0.0);
    if path.ports.is_empty() {
        frame.nothing("this switch has no ports");
        return frame.finish();
    }
    let bottom = height - MARGIN;
    heads(&mut frame);
    forwarding(&mut frame, bottom);
    let mut top = TOP + HEADING;
    for port in &path.ports {
        ingress(&mut frame, port, top);
        top += ingress_height(&port.ingress);
    }
    let mut top = TOP + HEADING;
    for (place, port) in path.ports.iter().enumerate() {
        egress(&mut frame, place, port, top);
        top += port_height(port);
    }
    frame.finish()
}

fn reasons(stage: &Stage) -> f64 {
    stage.dropped.len() as f64 * REASON
}

fn ingress_height(stage: &Stage) -> f64 {
    HEADING + HIGH + reasons(stage) + BELOW
}

fn row_height(class: &PathClass) -> f64 {
    HIGH + class.stages().iter().map(|(_, stage)| reasons(stage)).fold(0.0, f64::max) + BELOW
}

fn port_height(port: &PathPort) -> f64 {
    HEADING + port.classes.iter().map(row_height).sum::<f64>() + port.remarks.len() as f64 * REASON + 6.0
}

/// Where the box of a stage begins.
fn column(stage: usize) -> f64 {
    CLASSES + NAME + stage as f64 * (BOX + BETWEEN)
}

fn heads(frame: &mut Frame) {
    let at = TOP + 12.0;
    frame.text(MARGIN, at, "ingress", &[("fill", &TEXT), ("font-weight", &600)]);
    for (stage, name) in ["classifier", "queue", "gate", "egress"].into_iter().enumerate() {
        frame.text(column(stage), at, name, &[("fill", &TEXT), ("font-weight", &600)]);
    }
}

/// The bar that all frames pass.
fn forwarding(frame: &mut Frame, bottom: f64) {
    let (from, to) = FORWARDING;
    frame.rectangle((from, TOP + HEADING), (to - from, bottom - TOP - HEADING), "#eceef1", QUIET);
    let (x, y) = (0.5 * (from + to) + 4.0, 0.5 * (TOP + HEADING + bottom));
    let turned = format!("rotate(-90 {x} {y})");
    frame.text(x, y, "forwarding", &[("text-anchor", &"middle"), ("transform", &turned), ("fill", &TEXT)]);
}

fn ingress(frame: &mut Frame, port: &PathPort, top: f64) {
    frame.text(MARGIN, top + 17.0, &format!("port {}", port.name), &[("fill", &TEXT), ("class", &"word")]);
    let top = top + HEADING;
    let lines = [format!("{} came in", count(port.ingress.into)), format!("{} forwarded", count(port.ingress.out))];
    stage_box(frame, (MARGIN, top), INGRESS, &lines, &port.ingress);
    arrow(frame, (MARGIN + INGRESS, top + 0.5 * HIGH), FORWARDING.0);
}

fn egress(frame: &mut Frame, place: usize, port: &PathPort, top: f64) {
    if place > 0 {
        frame.rule((CLASSES, top), (WIDTH - MARGIN, top), "fine", "#d5d9de");
    }
    let gates = match port.cycle_ns {
        0 => "no gates".to_string(),
        cycle_ns => format!("gates with a cycle of {}", plain_time(cycle_ns)),
    };
    let title = format!("port {}: {}, {gates}", port.name, port.link);
    frame.text(CLASSES, top + 17.0, &title, &[("fill", &TEXT), ("class", &"word")]);
    let mut top = top + HEADING;
    for (number, class) in port.classes.iter().enumerate() {
        row(frame, port, number, class, top);
        top += row_height(class);
    }
    for remark in &port.remarks {
        frame.text(CLASSES, top + 9.0, remark, &[("fill", &QUIET), ("font-size", &SMALL)]);
        top += REASON;
    }
}

fn row(frame: &mut Frame, port: &PathPort, number: usize, class: &PathClass, top: f64) {
    let middle = top + 0.5 * HIGH;
    let long = super::frame::text_width(&class.name, 12.0) > NAME - 10.0;
    let size = if long { (12.0 * (NAME - 10.0) / super::frame::text_width(&class.name, 12.0)).max(6.0) } else { 12.0 };
    frame.svg.open("g", &[("class", &"curve"), ("data-name", &format!("{} {}", port.name, class.name))]);
    let word: [(&str, &dyn std::fmt::Display); 3] = [("fill", &TEXT), ("class", &"word"), ("font-size", &size)];
    frame.text(CLASSES, middle + 4.0, &class.name, &word);
    arrow(frame, (column(0) - 12.0, middle), column(0));
    for (place, (name, stage)) in class.stages().into_iter().enumerate() {
        let left = column(place);
        let second = match name {
            "queue" if class.limit > 0 => format!("{} wait of {} at most", count(stage.waiting), count(class.limit)),
            "queue" => format!("{} wait", count(stage.waiting)),
            "egress" => "sent".into(),
            "gate" if port.cycle_ns == 0 => "always open".into(),
            "gate" => String::new(),
            _ => "of this class".into(),
        };
        stage_box(frame, (left, top), BOX, &[count(stage.out), second], stage);
        match name {
            "queue" => fill(frame, (left, top), number, stage.waiting, class.limit),
            "gate" if port.cycle_ns > 0 => windows(frame, (left, top), number, &class.windows, port.cycle_ns),
            _ => {}
        }
        if place > 0 {
            arrow(frame, (left - BETWEEN, middle), left);
        }
    }
    frame.svg.close();
}

/// A box with two lines, and below it why frames ended there.
fn stage_box(frame: &mut Frame, (left, top): (f64, f64), wide: f64, lines: &[String; 2], stage: &Stage) {
    frame.rectangle((left, top), (wide, HIGH), "#ffffff", QUIET);
    let bold: [(&str, &dyn std::fmt::Display); 3] = [("fill", &TEXT), ("class", &"word"), ("font-weight", &600)];
    frame.text(left + 8.0, top + 17.0, &lines[0], &bold);
    frame.text(left + 8.0, top + 32.0, &lines[1], &[("fill", &QUIET), ("font-size", &SMALL)]);
    for (line, (why, frames)) in stage.dropped.iter().enumerate() {
        let y = top + HIGH + 11.0 + line as f64 * REASON;
        let words = format!("✕ {} {why}", count(*frames));
        let size = (SMALL * wide / super::frame::text_width(&words, SMALL)).clamp(6.0, SMALL);
        frame.text(left + 2.0, y, &words, &[("fill", &BAD), ("class", &"bad"), ("font-size", &size)]);
    }
}

/// How full a queue is, along the lower edge of its box.
fn fill(frame: &mut Frame, (left, top): (f64, f64), class: usize, waiting: u64, limit: u64) {
    let share = (waiting as f64 / limit.max(1) as f64).min(1.0);
    if share > 0.0 {
        let ink = Ink { colour: class, dash: 0 };
        frame.rectangle((left + 1.0, top + HIGH - 6.0), ((BOX - 2.0) * share, 5.0), ink.stroke(), "none");
    }
}

/// When the gate is open, along the lower edge of its box.
fn windows(frame: &mut Frame, (left, top): (f64, f64), class: usize, windows: &[(u64, u64)], cycle_ns: u64) {
    let (from, wide) = (left + 8.0, BOX - 16.0);
    frame.rectangle((from, top + 24.0), (wide, 12.0), "#f3f4f6", "none");
    let ink = Ink { colour: class, dash: 0 };
    let x = |ns: u64| from + wide * (ns.min(cycle_ns) as f64 / cycle_ns as f64);
    for (open_ns, length_ns) in windows {
        let end_ns = open_ns.saturating_add(*length_ns);
        for (begin, end) in [(*open_ns, end_ns), (0, end_ns.saturating_sub(cycle_ns))] {
            let (begin, end) = (x(begin), x(end));
            if end > begin {
                frame.rectangle((begin, top + 24.0), ((end - begin).max(0.8), 12.0), ink.stroke(), "none");
            }
        }
    }
}

fn arrow(frame: &mut Frame, (x, y): (f64, f64), to: f64) {
    let shaft = path(&[(x, y), (to - 5.0, y)]);
    frame.svg.empty("path", &[("d", &shaft), ("stroke", &QUIET), ("fill", &"none")]);
    let head = format!("{}Z", path(&[(to - 6.0, y - 3.5), (to - 1.0, y), (to - 6.0, y + 3.5)]));
    frame.svg.empty("path", &[("d", &head), ("fill", &QUIET)]);
}
