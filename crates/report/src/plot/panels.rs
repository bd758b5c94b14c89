//! Small multiples: the curves of a run that are too many for one plot, in panels with the same axes.

use super::frame::{Frame, Paper, TEXT};
use super::palette::{Curve, Ink, nth};
use super::{BROAD, Plot};

/// More curves than this cannot be told apart in one plot.
const MOST: usize = 8;
/// Curves of a panel where nothing groups them.
const IN_ORDER: usize = 6;
/// A panel without its name.
pub(crate) const WIDTH: f64 = 470.0;
pub(crate) const HEIGHT: f64 = 235.0;
const NAME: f64 = 20.0;
const GAP: f64 = 14.0;
const COLUMNS: usize = 2;

/// Curves that are read together, and what they have in common.
pub(crate) struct Panel<'a> {
    pub name: String,
    pub curves: Vec<Curve<'a>>,
}

/// The panels of curves that are too many for one plot; a name has the same ink in each of them.
pub(crate) fn panels<'a>(curves: &[Curve<'a>]) -> Option<Vec<Panel<'a>>> {
    if curves.len() <= MOST {
        return None;
    }
    let split: Vec<(String, String)> = match curves.iter().map(by_case).collect::<Option<Vec<_>>>() {
        Some(split) => split,
        None => match curves.iter().map(by_run).collect() {
            Some(split) => split,
            None => curves.iter().enumerate().map(|(i, c)| (in_order(i, curves), c.name.clone())).collect(),
        },
    };
    let mut panels: Vec<Panel> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for (curve, (panel, name)) in curves.iter().zip(&split) {
        let place = names.iter().position(|n| n == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        let curve = Curve { name: name.clone(), ink: nth(place), ..curve.clone() };
        match panels.iter_mut().find(|p| p.name == *panel) {
            Some(panel) => panel.curves.push(curve),
            None => panels.push(Panel { name: panel.clone(), curves: vec![curve] }),
        }
    }
    // Panels of many curves would say no more than one plot of all.
    if panels.iter().any(|panel| panel.curves.len() > 2 * MOST) {
        return Some(chunks(curves));
    }
    // Names that no other panel has need no inks that no other panel has.
    if panels
        .iter()
        .skip(1)
        .all(|panel| panel.curves.iter().all(|c| !panels[0].curves.iter().any(|o| o.name == c.name)))
    {
        panels.iter_mut().for_each(|panel| panel.curves.iter_mut().enumerate().for_each(|(i, c)| c.ink = nth(i)));
    }
    Some(panels)
}

/// The inks of a run's series, which may be those of its panels.
pub(crate) fn inks<'a>(curves: &[Curve<'a>]) -> Vec<(&'a ontick_record::Series, Ink)> {
    match panels(curves) {
        Some(panels) => panels.iter().flat_map(|p| &p.curves).map(|c| (c.series, c.ink)).collect(),
        None => curves.iter().map(|c| (c.series, c.ink)).collect(),
    }
}

/// What the legend of all panels names: each name once.
pub(crate) fn legend<'a>(panels: &[Panel<'a>]) -> Vec<Curve<'a>> {
    let mut legend: Vec<Curve> = Vec::new();
    for curve in panels.iter().flat_map(|panel| &panel.curves) {
        if !legend.iter().any(|known| known.name == curve.name) {
            legend.push(curve.clone());
        }
    }
    legend
}

/// Pulses by width and load, responses by mechanism.
fn by_case(curve: &Curve) -> Option<(String, String)> {
    let case = &curve.series.case;
    let joined = |parts: &[Option<&str>]| parts.iter().flatten().copied().collect::<Vec<_>>().join(", ");
    // Of several runs, the run is what tells curves apart.
    let own_name = curve.name == curve.series.name;
    let length = case.width_ns.or(case.delay_ns).map(ontick_units::exact);
    let side = case.side.map(|side| side.as_str());
    match (&length, &case.method, &case.policy) {
        (Some(length), Some(method), _) if own_name => {
            Some((joined(&[Some(length), case.load()]), joined(&[Some(method), case.policy.as_deref(), side])))
        }
        (None, Some(method), Some(policy)) if own_name => {
            Some((method.clone(), joined(&[Some(policy), side, case.load()])))
        }
        _ => None,
    }
}

/// Of several runs: the same series of each.
fn by_run(curve: &Curve) -> Option<(String, String)> {
    let run = curve.name.strip_suffix(&curve.series.name)?.strip_suffix(": ")?;
    Some((curve.series.name.clone(), run.to_owned()))
}

fn in_order(i: usize, curves: &[Curve]) -> String {
    let first = i / IN_ORDER * IN_ORDER;
    let last = (first + IN_ORDER).min(curves.len()) - 1;
    match first == last {
        true => curves[first].name.clone(),
        false => format!("{} to {}", curves[first].name, curves[last].name),
    }
}

fn chunks<'a>(curves: &[Curve<'a>]) -> Vec<Panel<'a>> {
    let panel = |(i, curves_of_panel): (usize, &[Curve<'a>])| Panel {
        name: in_order(i * IN_ORDER, curves),
        curves: curves_of_panel.iter().enumerate().map(|(k, c)| Curve { ink: nth(k), ..c.clone() }).collect(),
    };
    curves.chunks(IN_ORDER).enumerate().map(panel).collect()
}

/// A panel of a plot, with the axes of all.
pub(crate) fn draw(plot: Plot, panel: &Panel, all: &[Curve], has_legend: bool) -> String {
    plot.draw(&panel.curves, &Paper { axes_of: all, has_legend, ..Paper::inline(WIDTH, HEIGHT) })
}

/// All panels as one document.
pub(super) fn document(plot: Plot, panels: &[Panel], all: &[Curve], title: (String, String)) -> String {
    let (shared, legend) = (is_shared(panels), legend(panels));
    let drawn = panels.iter().map(|panel| (panel.name.clone(), draw(plot, panel, all, !shared)));
    grid(&plot.title(all), if shared { &legend } else { &[] }, drawn.collect(), title)
}

/// Pictures of a panel's size with their names, beside and below each other.
pub(super) fn grid(name: &str, legend: &[Curve], drawn: Vec<(String, String)>, title: (String, String)) -> String {
    grid_of(name, HEIGHT, legend, drawn, title)
}

/// The same of panels of another height.
pub(super) fn grid_of(
    name: &str,
    panel: f64,
    legend: &[Curve],
    drawn: Vec<(String, String)>,
    title: (String, String),
) -> String {
    let column = (BROAD - GAP) / COLUMNS as f64;
    let scale = column / WIDTH;
    let row = panel * scale + NAME + GAP;
    let rows = drawn.len().div_ceil(COLUMNS) as f64;
    let above = Frame::new(&Paper::titled(BROAD, 100.0, title.clone()), "", legend, 0.0).top;
    let height = (above + rows * row).ceil();
    let mut frame = Frame::new(&Paper::titled(BROAD, height, title), name, legend, 0.0);
    for (i, (name, drawn)) in drawn.into_iter().enumerate() {
        let x = (i % COLUMNS) as f64 * (column + GAP);
        let y = above + (i / COLUMNS) as f64 * row;
        frame.text(x + 16.0, y + 14.0, &name, &[("fill", &TEXT), ("font-weight", &600), ("class", &"word")]);
        let at = format!("<svg x=\"{x}\" y=\"{}\" ", y + NAME);
        let size = |name: &str, value: f64| format!("{name}=\"{value}\"");
        let drawn = drawn.replacen("<svg ", &at, 1);
        let drawn = drawn.replacen(&size("width", WIDTH), &size("width", column), 1);
        let drawn = drawn.replacen(&size("height", panel), &size("height", panel * scale), 1);
        frame.svg.raw(&drawn);
    }
    frame.finish()
}

/// Whether one legend explains all panels.
pub(crate) fn is_shared(panels: &[Panel]) -> bool {
    legend(panels).len() <= MOST
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::{Case, Measurement, Series};

    fn panelled(measurement: Measurement, names: &[String]) -> Option<Vec<(String, Vec<String>)>> {
        let of = |name: &String| Case::of_name(&measurement, name).map_or_else(|| name.clone().into(), Series::from);
        let series: Vec<Series> = names.iter().map(of).collect();
        let curve = |(i, s)| Curve { name: Series::clone(s).name, series: s, ink: nth(i), quantity: "latency" };
        let curves: Vec<Curve> = series.iter().enumerate().map(curve).collect();
        let panels = panels(&curves)?;
        for curve in panels.iter().flat_map(|p| &p.curves) {
            let others = panels.iter().flat_map(|p| &p.curves).filter(|other| other.name == curve.name);
            assert!(others.into_iter().all(|other| other.ink == curve.ink), "{}", curve.name);
        }
        Some(panels.into_iter().map(|p| (p.name, p.curves.into_iter().map(|c| c.name).collect())).collect())
    }

    #[test]
    fn few_curves_need_no_panels() {
        let names: Vec<String> = (0..MOST).map(|n| format!("thread {n}")).collect();
        assert_eq!(panelled(Measurement::Timer, &names), None);
    }

    #[test]
    fn pulses_have_a_panel_for_each_width_and_load() {
        let mut names = Vec::new();
        for load in ["idle", "loaded"] {
            for width in ["1ms", "10us"] {
                names.extend(["sleep", "spin", "hybrid"].map(|by| format!("{width}, {by}, stock, {load}")));
            }
        }
        let panels = panelled(Measurement::PulseTable, &names).unwrap();
        let heads: Vec<&str> = panels.iter().map(|p| p.0.as_str()).collect();
        assert_eq!(heads, ["1ms, idle", "10us, idle", "1ms, loaded", "10us, loaded"]);
        assert!(panels.iter().all(|p| p.1 == ["sleep, stock", "spin, stock", "hybrid, stock"]), "{panels:?}");
    }

    #[test]
    fn what_has_no_case_is_cut_in_its_order() {
        let names: Vec<String> = (0..14).map(|n| format!("thread {n}")).collect();
        let panels = panelled(Measurement::Timer, &names).unwrap();
        assert_eq!(panels.iter().map(|p| p.1.len()).collect::<Vec<_>>(), [6, 6, 2]);
        assert_eq!(panels[2].0, "thread 12 to thread 13");
    }
}
