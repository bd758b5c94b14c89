//! The report in a real browser: the plots are drawn, and the console stays silent.

mod chromium;
mod sample;

use std::fs;
use std::path::Path;

use chromium::{chromium, open, text};
use ontick_report::compare::Named;
use ontick_report::{html, html_of_several};

/// What came out of a visit to a page.
struct Visit {
    /// The page's elements after its script has run.
    dom: String,
    /// What the page said on the console, errors included.
    console: Vec<String>,
}

fn visit(browser: &str, page: &str) -> Visit {
    let folder = open(browser, page, &["--dump-dom"]);
    let [dom, log] = ["out", "log"].map(|file| text(&folder.path().join(file)));
    Visit { dom, console: console(&log) }
}

/// The browser logs a console message as `[…:INFO:CONSOLE(12)] "text", source: …`.
fn console(log: &str) -> Vec<String> {
    log.lines().filter(|l| l.contains(":CONSOLE")).map(String::from).collect()
}

/// The values of an attribute, in order.
fn attribute<'a>(dom: &'a str, name: &str) -> Vec<&'a str> {
    let mark = format!(" {name}=\"");
    dom.split(&mark).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The `d` of every curve's line.
fn lines(dom: &str) -> Vec<&str> {
    let path = |tag: &&str| tag.contains("class=\"line ");
    dom.split("<path").skip(1).filter(path).filter_map(|tag| attribute(tag, "d").first().copied()).collect()
}

fn assert_drawn(visit: &Visit, plots: usize) {
    assert!(visit.console.is_empty(), "the console is not silent: {:#?}", visit.console);
    let drawn = attribute(&visit.dom, "data-drawn");
    assert_eq!(drawn.len(), plots, "{drawn:?}");
    assert!(drawn.iter().all(|n| n.parse::<u32>().is_ok_and(|n| n > 0)), "{drawn:?}");
    let lines = lines(&visit.dom);
    assert_eq!(lines.len() as u32, drawn.iter().map(|n| n.parse::<u32>().unwrap()).sum::<u32>());
    for d in lines {
        let numbers = d.split(['M', 'L', ' ']).filter(|n| !n.is_empty());
        let numbers: Vec<f64> = numbers.map(|n| n.parse().unwrap_or_else(|_| panic!("{n}: {d}"))).collect();
        assert!(numbers.len() >= 2 && numbers.iter().all(|n| n.is_finite() && (0.0..=1_000.0).contains(n)), "{d}");
    }
}

#[test]
fn plots_are_drawn_and_the_console_is_silent() {
    let Some(browser) = chromium() else { return };
    // Each plot is there for a wide and for a narrow window.
    assert_drawn(&visit(browser, &html(&sample::prove())), 8);
    assert_drawn(&visit(browser, &html(&sample::switch())), 4);
    let (a, b) = (sample::prove(), sample::single());
    let named = [Named { name: "a.json", run: &a }, Named { name: "b.json", run: &b }];
    assert_drawn(&visit(browser, &html_of_several(&named)), 6);
}

#[test]
fn values_are_read_off_under_the_pointer() {
    let Some(browser) = chromium() else { return };
    let move_over = "<script>document.querySelectorAll('figure.broad svg.plot').forEach((svg) => {
        const box = svg.getBoundingClientRect();
        svg.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + 0.28 * box.width }));
    });</script></body>";
    let visit = visit(browser, &html(&sample::prove()).replace("</body>", move_over));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    let readouts: Vec<&str> = visit.dom.split("class=\"readout\">").skip(1).step_by(2).collect();
    assert_eq!(readouts.len(), 4);
    for (readout, words) in readouts.iter().zip(["samples", "ontick, idle 5", "max ", "block 3"]) {
        let readout = readout.split("</p>").next().unwrap();
        assert!(readout.starts_with("<b>") && readout.contains(words) && !readout.contains("NaN"), "{readout}");
    }
}

#[test]
fn a_hostile_record_runs_no_script() {
    let Some(browser) = chromium() else { return };
    let seen = visit(browser, &html(&sample::hostile()));
    assert_drawn(&seen, 6);
    let switch = visit(browser, &html(&sample::hostile_switch()));
    assert!(switch.console.is_empty(), "{:#?}", switch.console);
    assert_eq!(switch.dom.matches("<script").count(), 2);
    // One for the record, one for the page's own; a third would be the record's.
    assert_eq!(seen.dom.matches("<script").count(), 2);
}

/// Pages of every kind, by name.
fn pages() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let records = files.filter(|path| path.extension().is_some_and(|e| e == "json"));
    let of_record = |path: std::path::PathBuf| {
        (
            path.file_stem().unwrap().to_string_lossy().into_owned(),
            html(&ontick_record::store::read_any(&path).unwrap()),
        )
    };
    let mut all: Vec<(String, String)> = records.map(of_record).collect();
    let runs = [
        ("comparison", sample::prove()),
        ("causes", sample::explained()),
        ("methods", sample::methods()),
        ("switch", sample::switch()),
        ("signal", sample::signal()),
    ];
    all.extend(runs.into_iter().map(|(name, run)| (name.into(), html(&run))));
    all
}

/// A page in a window of some width, in px.
struct Fit {
    page: String,
    /// How wide it is.
    wide: u32,
    /// How wide the window is without its scroll bar.
    room: u32,
    /// How much of the widest table its box does not show.
    hidden: u32,
}

/// How each page fits into a window of this width.
fn fits(browser: &str, pages: &[(String, String)], window: u32) -> Vec<Fit> {
    let escaped = |page: &str| page.replace('&', "&amp;").replace('"', "&quot;");
    let frame = |(name, page): &(String, String)| {
        format!(
            "<iframe name=\"{name}\" style=\"width:{window}px;height:900px\" srcdoc=\"{}\"></iframe>",
            escaped(page)
        )
    };
    let frames: String = pages.iter().map(frame).collect();
    let script = "<script>onload = () => document.querySelectorAll('iframe').forEach((frame) => {
        const page = frame.contentDocument.documentElement, p = document.createElement('p');
        const boxes = [...page.querySelectorAll('.wide')].map((box) => box.scrollWidth - box.clientWidth);
        p.textContent = [frame.name, page.scrollWidth, page.clientWidth, Math.max(0, ...boxes)].join(' ');
        p.className = 'measured';
        frame.replaceWith(p);
    });</script>";
    let seen = visit(browser, &format!("<!DOCTYPE html><body>{frames}{script}</body>"));
    let measured = seen.dom.split("<p class=\"measured\">").skip(1).filter_map(|rest| rest.split('<').next());
    let parsed = measured.map(|text| {
        let (page, numbers) = text.split_once(' ').unwrap();
        let numbers: Vec<u32> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        let [wide, room, hidden] = numbers[..] else { panic!("{text}") };
        Fit { page: page.into(), wide, room, hidden }
    });
    parsed.collect()
}

#[test]
fn no_page_scrolls_sideways() {
    let Some(browser) = chromium() else { return };
    let pages = pages();
    for window in [400, 800, 1_600] {
        let measured = fits(browser, &pages, window);
        let names: Vec<&str> = measured.iter().map(|fit| fit.page.as_str()).collect();
        assert_eq!(measured.len(), pages.len(), "at {window} px only {names:?}");
        for Fit { page, wide, room, hidden } in measured {
            assert!(room + 30 >= window && wide <= room, "{page} is {wide} px wide in a window of {room} px");
            assert!(window < 800 || hidden == 0, "{page}: {hidden} px of a table are hidden in a window of {room} px");
        }
    }
    // Proof that it can fail.
    let broad = "<!DOCTYPE html><body><div style=\"width:500px\">x</div>\
                 <div class=\"wide\" style=\"width:50px;overflow-x:auto\"><p style=\"width:70px\">x</p></div></body>";
    let Fit { wide, room, hidden, .. } = fits(browser, &[("broad".to_string(), broad.to_string())], 400).remove(0);
    assert!(wide > room && hidden == 20, "{wide} px in {room} px, {hidden} px hidden");
}

/// Proof that the tests above can fail: each page is broken in one way, and each is found out.
#[test]
fn a_broken_page_is_found_out() {
    let Some(browser) = chromium() else { return };
    let page = html(&sample::single());
    let thrown = visit(browser, &page.replace("\"use strict\";", "\"use strict\"; missing();"));
    assert!(thrown.console.iter().any(|l| l.contains("missing is not defined")), "{:?}", thrown.console);
    let fetched = visit(browser, &page.replace("<body>", "<body><img src=\"https://example.org/picture.png\">"));
    assert!(fetched.console.iter().any(|l| l.contains("Content Security Policy")), "{:?}", fetched.console);
    let empty = visit(browser, &page.replacen(" d=\"M", " d=\"MNaN ", 3));
    assert!(std::panic::catch_unwind(|| assert_drawn(&empty, 6)).is_err());
}
