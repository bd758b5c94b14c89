//! Plots: well-formed, within their paper, and with words in the PNG.

mod sample;

use ontick_record::Run;
use ontick_report::compare::Named;
use ontick_report::{Plot, html, plot};

const ALL: [Plot; 5] = [Plot::Latency, Plot::Percentiles, Plot::Maxima, Plot::Blocks, Plot::Arrivals];

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
    assert!(ontick_report::png("no drawing", 1.0).unwrap_err().to_string().contains("cannot be drawn"));
}
