//! Plots: well-formed, within their paper, and with words in the PNG.

mod sample;

use ontick_record::Run;
use ontick_report::compare::Named;
use ontick_report::{Plot, html, plot};

const ALL: [Plot; 6] = [Plot::Latency, Plot::Percentiles, Plot::Maxima, Plot::Blocks, Plot::Widths, Plot::Arrivals];

/// A record that ontick kept of a real run.
fn kept(name: &str) -> Run {
    let file = format!("{}/tests/records/{name}.json", env!("CARGO_MANIFEST_DIR"));
    ontick_record::store::read(std::path::Path::new(&file)).unwrap()
}

/// Two series on two CPUs, with outliers of more causes than have an ink.
fn many_outliers() -> Run {
    use ontick_record::run::Outlier;
    let mut run = sample::explained();
    run.series[0].causes.iter_mut().enumerate().for_each(|(i, cause)| cause.detail = format!("{i}"));
    run.series[0].outliers = (0..600u64)
        .map(|n| Outlier { at_ns: 1_000_000_000 * n, latency_ns: 12_000 + 900 * n, cause: Some((n % 11) as u32) })
        .collect();
    let mut other = run.series[0].clone();
    (other.name, other.settings.cpu) = ("second".into(), Some(2));
    other.outliers.truncate(3);
    other.outliers.iter_mut().for_each(|outlier| outlier.cause = None);
    run.series.push(other);
    run
}

/// Trains of pulses whose first were kept, the later edges later.
fn trains(count: usize) -> Run {
    let mut run = kept("pulse");
    let pulse = run.series[0].pulse.as_mut().unwrap();
    let period_ns = pulse.wanted_ns + pulse.gap_ns;
    pulse.first = (0..32).map(|n| (n * period_ns + 37 * n, pulse.wanted_ns + 11 * n - 60)).collect();
    let series = run.series[0].clone();
    run.series.extend((1..count).map(|n| ontick_record::Series { name: format!("train {n}"), ..series.clone() }));
    run
}

fn runs() -> Vec<Run> {
    let mut overflowing = sample::single();
    overflowing.series[0].latency.overflow = 7;
    overflowing.series[0].latency.max_ns = None;
    let mut unmeasured = sample::prove();
    unmeasured.series.iter_mut().for_each(|s| s.latency = Default::default());
    let mut zero = Run::new("ontick", "timer");
    zero.series.push(Default::default());
    zero.series[0].latency.add(0, 1, 3);
    vec![
        sample::prove(),
        sample::methods(),
        sample::single(),
        sample::hostile(),
        sample::switch(),
        sample::hostile_switch(),
        kept("pulse-table"),
        kept("response"),
        kept("pulse"),
        sample::explained(),
        many_outliers(),
        trains(1),
        trains(3),
        kept("edge"),
        overflowing,
        unmeasured,
        zero,
        Run::new("ontick", "timer"),
    ]
}

#[test]
fn every_plot_of_every_run_is_well_formed_and_stays_on_its_paper() {
    for run in runs() {
        for kind in ALL {
            let svg = plot::svg(&run, kind);
            let document = roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{kind:?}: {e}\n{svg}"));
            let root = document.root_element();
            let [width, height] = ["width", "height"].map(|a| root.attribute(a).unwrap().parse::<f64>().unwrap());
            for node in document.descendants() {
                for d in node.attribute("d").into_iter() {
                    let numbers = d.split(['M', 'L', 'Z', ' ']).filter(|n| !n.is_empty());
                    let numbers: Vec<f64> = numbers.map(|n| n.parse().unwrap()).collect();
                    assert!(numbers.chunks(2).all(|p| (0.0..=width).contains(&p[0]) && (0.0..=height).contains(&p[1])));
                }
                for y in ["y", "y1", "y2", "cy"].into_iter().filter_map(|a| node.attribute(a)) {
                    assert!((0.0..=height).contains(&y.parse::<f64>().unwrap()), "{kind:?}: y {y}\n{svg}");
                }
            }
        }
    }
}

#[test]
fn each_series_is_drawn_and_its_worst_case_marked() {
    let run = sample::prove();
    let svg = plot::svg(&run, Plot::Latency);
    for (name, max) in
        [("stock, idle", "6.10"), ("ontick, idle", "3.31"), ("stock, loaded", "21.0"), ("ontick, loaded", "41.0")]
    {
        assert!(svg.contains(&format!("data-name=\"{name}\"")), "{name}");
        assert!(svg.contains(&format!("max {max}\u{202f}")), "{max}");
    }
    assert_eq!(plot::svg(&run, Plot::Blocks).matches("<circle").count(), 12);
}

#[test]
fn arrivals_stand_over_their_gates_with_and_without_them() {
    let svg = plot::svg(&sample::switch(), Plot::Arrivals);
    // Two classes, in two panels of two trials each.
    assert_eq!(svg.matches("data-name=\"blue\"").count(), 4);
    assert!(svg.contains("gates on: ") && svg.contains("gates off: "));
    let without = plot::svg(&sample::single(), Plot::Arrivals);
    assert!(without.contains("no frames went through a switch"));
}

#[test]
fn a_simulated_run_says_so_in_every_plot() {
    let mut run = sample::single();
    run.simulated = Some("line sim:bench/17".into());
    for kind in ALL {
        assert!(plot::svg(&run, kind).contains("simulated: line sim:bench/17"));
    }
    let named = [Named { name: "a", run: &run }, Named { name: "b", run: &run }];
    assert!(plot::svg_of_several(&named, Plot::Latency).contains("simulated"));
}

#[test]
fn a_page_holds_the_whole_record_and_nothing_from_outside() {
    for run in runs() {
        let page = html(&run);
        let json =
            page.split("class=\"record\" data-name=\"run.json\">").nth(1).unwrap().split("</script>").next().unwrap();
        assert_eq!(ontick_record::store::parse(json).unwrap(), run);
        let foreign = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!foreign.contains("http:") && !foreign.contains("https:") && !foreign.contains("@import"));
    }
}

#[test]
fn a_page_says_what_a_customer_asks() {
    let page = html(&sample::prove());
    for words in
        ["99.70\u{202f}%", "Not met", "Met", "What the figures mean", "stock 21.0\u{202f}ms", "fifo:99", "arch_timer"]
    {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_page_tells_why_outliers_were_late() {
    let page = html(&sample::explained());
    for words in [
        "Why outliers were late",
        "timer tick 19",
        "205\u{202f}µs late: device interrupt mmc0",
        "interrupt mmc0",
        "−4.00\u{202f}µs",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!html(&sample::prove()).contains("Why outliers"));
}

#[cfg(feature = "png")]
#[test]
fn a_png_has_the_size_asked_for_and_words_in_it() {
    let svg = plot::svg(&sample::prove(), Plot::Latency);
    let picture = ontick_report::png(&svg, 1.0).unwrap();
    let side = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
    assert_eq!((&picture[1..4], side(16), side(20)), (b"PNG".as_slice(), 900, 480));
    // Without the words it is another picture: so the font was there.
    let wordless = svg.replace("<text", "<text visibility=\"hidden\"");
    assert_ne!(ontick_report::png(&wordless, 1.0).unwrap(), picture);
}

#[cfg(feature = "png")]
#[test]
fn impossible_pictures_are_refused_in_words() {
    let svg = plot::svg(&sample::single(), Plot::Latency);
    for scale in [0.0, -1.0, 1e9, f32::NAN] {
        let error = ontick_report::png(&svg, scale).unwrap_err().to_string();
        assert!(error.contains("scale between"), "{error}");
    }
    for (width, height) in [(50_000, 50_000), (u32::MAX, u32::MAX), (0, 100)] {
        let svg = format!(r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"/>"#);
        let error = ontick_report::png(&svg, 1.0).unwrap_err().to_string();
        assert!(error.contains("too large") && error.contains("scale between"), "{width} by {height}: {error}");
    }
    assert!(ontick_report::png("no drawing", 1.0).unwrap_err().to_string().contains("cannot be drawn"));
}

/// The plots of a document: each with its text names, and whether its axes rise to the right and upward.
fn panels(svg: &str) -> Vec<(usize, bool)> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let panels = document.descendants().filter(|node| node.attribute("class") == Some("curves"));
    let rises = |node: &roxmltree::Node, axis: &str| {
        let ends: Vec<f64> = node.attribute(axis).unwrap().split(' ').skip(3).map(|n| n.parse().unwrap()).collect();
        if axis == "data-x" { ends[1] > ends[0] + 100.0 } else { ends[1] < ends[0] - 100.0 }
    };
    let lines = |node: roxmltree::Node| {
        node.descendants().filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("line "))).count()
    };
    panels.map(|node| (lines(node), rises(&node, "data-x") && rises(&node, "data-y"))).collect()
}

#[test]
fn many_series_are_small_multiples() {
    let table = kept("pulse-table");
    for plot in [Plot::Latency, Plot::Percentiles, Plot::Maxima] {
        let drawn = panels(&plot::svg(&table, plot));
        assert_eq!(drawn, [(6, true); 8], "{plot:?}: four widths, idle and loaded, of six ways each");
    }
    // The legend is said once, above all of them.
    let svg = plot::svg(&table, Plot::Latency);
    assert_eq!(svg.matches(">hybrid, minimised</text>").count(), 1, "{svg}");
    assert_eq!(panels(&plot::svg(&kept("response"), Plot::Latency)).iter().map(|p| p.0).sum::<usize>(), 14);
    let page = html(&table);
    assert_eq!(page.matches("<figure class=\"panel\">").count(), 4 * 8);
    assert_eq!(
        panels(
            &page[page.find("<h2>Width error</h2>").unwrap()..]
                .split("</figure>")
                .next()
                .unwrap()
                .split_once("<svg xmlns")
                .map(|(_, svg)| format!("<svg xmlns{svg}").split_once("</svg>").unwrap().0.to_owned() + "</svg>")
                .unwrap()
        ),
        [(6, true)]
    );
}

#[test]
fn axes_of_panels_are_the_same() {
    let svg = plot::svg(&kept("pulse-table"), Plot::Latency);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let axes: Vec<_> =
        document.descendants().filter_map(|n| Some((n.attribute("data-x")?, n.attribute("data-y")?))).collect();
    assert!(axes.len() == 8 && axes.iter().all(|(x, _)| *x == axes[0].0), "{axes:?}");
    let range = |described: &str| described.split(' ').take(3).map(String::from).collect::<Vec<_>>();
    assert!(axes.iter().all(|(_, y)| range(y) == range(axes[0].1)), "{axes:?}");
}

#[test]
fn a_legend_leaves_the_plot_its_room() {
    let mut run = sample::single();
    let name = "a series with a very long name that fills a whole row of the legend by itself, and then some";
    run.series = (0..8)
        .map(|n| {
            let mut s = run.series[0].clone();
            s.name = format!("{name} {n}");
            s
        })
        .collect();
    let page = html(&run);
    let narrow = page.split("<figure class=\"narrow\">").nth(1).unwrap().split("</svg>").next().unwrap();
    assert_eq!(panels(&format!("{narrow}</svg>")), [(8, true)], "the axes are the right way round");
    assert!(narrow.contains(" more</text>"), "what is not named is counted");
}

#[test]
fn pulses_are_drawn_by_width_and_their_latency_is_called_an_error() {
    let page = html(&kept("pulse"));
    assert!(page.contains("<h2>Widths</h2>") && page.contains("<h2>Width error by percentile</h2>"));
    assert!(!page.contains(">latency</text>"), "an axis of errors is called latency");
    let svg = plot::svg(&kept("pulse"), Plot::Widths);
    assert_eq!(panels(&svg), [(1, true)]);
    assert!(svg.contains("asked 100\u{202f}µs"), "{svg}");
    // What is far beyond is counted, and does not squeeze the rest.
    let table = plot::svg(&kept("pulse-table"), Plot::Widths);
    assert!(table.contains(" beyond, up to 30.1\u{202f}ms"), "{table}");
    assert!(plot::svg(&sample::single(), Plot::Widths).contains("no pulses were measured"));
}

#[test]
fn requests_are_laid_over_each_other_as_on_a_screen() {
    for (name, screens) in [("response", 14), ("pulse", 1), ("edge", 1), ("pulse-table", 48)] {
        let svg = plot::svg(&kept(name), Plot::Persistence);
        assert_eq!(svg.matches("class=\"screen\"").count(), screens, "{name}");
    }
    assert_eq!(html(&kept("response")).matches("class=\"screen\"").count(), 14);
    assert!(!html(&kept("timer")).contains("Persistence"), "a timer answers no request");
    assert!(plot::svg(&kept("timer"), Plot::Persistence).contains("no requests were made"));
}

#[test]
fn outliers_stand_over_time_by_cause_with_a_lane_for_each_cpu() {
    let svg = plot::svg(&many_outliers(), Plot::Outliers);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let lanes: Vec<&str> = document.descendants().filter_map(|n| n.attribute("data-lane")).collect();
    assert_eq!(lanes, ["CPU 2", "CPU 3", "3: 205\u{202f}µs", "2: 205\u{202f}µs"]);
    let dots = document.descendants().filter(|n| n.has_tag_name("circle"));
    let inks: std::collections::BTreeSet<_> = dots.clone().map(|n| n.attribute("fill").unwrap()).collect();
    assert_eq!((dots.count(), inks.len()), (603, 7), "six causes have an ink, the others share one");
    assert!(svg.contains("other causes") && svg.contains("interrupt mmc0 for 203\u{202f}µs"), "{svg}");
    // The thread before the deadline, and who came after it, are told apart.
    let bars = document.descendants().filter(|n| n.has_tag_name("rect") && n.attribute("height") == Some("12"));
    let after = |words: &str| {
        let found = bars.clone().find(|n| n.descendants().any(|t| t.text().is_some_and(|t| t.starts_with(words))));
        let bar = found.unwrap_or_else(|| panic!("{words}"));
        (bar.attribute("x").unwrap().parse::<f64>().unwrap(), bar.attribute("fill").unwrap())
    };
    let (thread, interrupt) = (after("the thread for"), after("interrupt mmc0 for"));
    assert!(thread.0 < interrupt.0 && thread.1 != interrupt.1, "{thread:?} {interrupt:?}");
    let mut early = many_outliers();
    early.series[0].explained[0].happened[0].from_ns = -800_000;
    let svg = plot::svg(&early, Plot::Outliers);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let ticks = document.descendants().filter(|n| n.has_tag_name("text") && n.text().is_some_and(|t| t.contains("µs")));
    let below: Vec<f64> = ticks
        .filter(|n| n.attribute("text-anchor") == Some("middle"))
        .map(|n| n.attribute("x").unwrap().parse().unwrap())
        .collect();
    assert!(svg.contains("\u{2212}800\u{202f}µs") && below.len() > 4, "{svg}");
    assert!(below.windows(2).all(|pair| (pair[1] - pair[0]).abs() > 50.0), "labels lie over each other: {below:?}");
    assert!(html(&many_outliers()).contains("<h2>Outliers over time</h2>"));
    assert!(!html(&kept("edge")).contains("Outliers over time"), "none were kept");
}

#[test]
fn pulses_are_drawn_as_waveforms_where_they_were_kept() {
    for count in [1, 3] {
        let svg = plot::svg(&trains(count), Plot::Waveform);
        assert_eq!(svg.matches("data-name=\"falling edges\"").count(), count);
    }
    // One picture for each kind of window, or one panel for each train.
    let drawn = |count| html(&trains(count)).matches("data-name=\"got\"").count();
    assert_eq!((drawn(1), drawn(3)), (2, 3));
    assert!(plot::svg(&kept("pulse"), Plot::Waveform).contains("no pulses were kept one by one"), "a record of before");
    assert!(!html(&kept("pulse")).contains("asked for and got"));
}
