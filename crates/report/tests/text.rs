//! The terminal table: what it says, and that it fits.

mod sample;

use ontick_record::Run;
use ontick_report::compare::{self, Named};
use ontick_report::{Style, text};

fn widest(text: &str) -> usize {
    text.lines().map(|l| l.chars().count()).max().unwrap()
}

#[test]
fn a_comparison_fits_80_columns_with_every_figure() {
    let text = text::summary(&sample::prove(), &Style::default());
    assert!(widest(&text) <= 80, "{text}");
    for head in ["min", "p50", "p99", "p99.9", "p99.99", "max", "< 3us", "missed"] {
        assert!(text.lines().any(|l| l.contains(&format!(" {head}"))), "{head}: {text}");
    }
    let row = |start: &str| text.lines().find(|l| l.trim_start().starts_with(start)).expect(start).to_string();
    assert!(row("idle").contains("stock") && row("loaded").contains("stock"));
    assert_eq!(text.lines().filter(|l| l.trim_start().starts_with("ontick ")).count(), 2, "{text}");
    let wide = text::summary(&sample::prove(), &Style { colour: false, width: 200 });
    assert!(wide.contains("within 3 us in 99.70 % of cycles under load (95 % sure: at least 99.6"), "{wide}");
}

#[test]
fn numbers_are_aligned_on_their_unit() {
    let text = text::summary(&sample::prove(), &Style::default());
    let ends = |line: &str| -> Vec<usize> {
        let chars: Vec<char> = line.chars().collect();
        (1..chars.len()).filter(|i| chars[*i] == 's' && matches!(chars[i - 1], 'u' | 'm' | 'n')).collect()
    };
    let rows: Vec<_> = text.lines().filter(|l| l.contains('%') && l.contains("s  ")).map(ends).collect();
    assert_eq!(rows.len(), 4, "{text}");
    assert!(rows.iter().all(|r| *r == rows[0]), "{rows:?}\n{text}");
}

#[test]
fn a_narrow_terminal_loses_the_highest_percentile_first() {
    let at = |width| text::summary(&sample::prove(), &Style { colour: false, width });
    assert!(!at(79).contains("p99.99") && at(79).contains(" min"));
    for width in [40, 47, 53, 59, 60, 72, 79, 80, 120] {
        assert!(widest(&at(width)) <= width, "{width}:\n{}", at(width));
        for head in [" max", " < 3us", " missed"] {
            assert!(at(width).contains(head), "{width}:\n{}", at(width));
        }
    }
}

#[test]
fn everything_fits_a_narrow_terminal() {
    for width in [40, 45, 50, 59] {
        let style = Style { colour: false, width };
        let (run, methods) = (sample::prove(), sample::methods());
        let both = [Named { name: "runs/before.json", run: &run }, Named { name: "runs/after.json", run: &run }];
        let texts = [
            text::summary(&methods, &style),
            text::summary(&sample::explained(), &style),
            text::plot(&run, &style),
            compare::text(&both, &style),
        ];
        for text in texts {
            assert!(widest(&text) <= width, "{width}:\n{text}");
        }
        let compared = compare::text(&both, &style);
        assert!(compared.contains("\nafter.json: ontick, loaded\n") && compared.contains(" p99"), "{compared}");
    }
}

#[test]
fn long_names_are_cut_and_the_figures_kept() {
    let mut run = sample::methods();
    run.series[0].name = "a name that somebody gave a thread, longer than any table".into();
    let text = text::summary(&run, &Style::default());
    assert!(widest(&text) <= 80 && text.contains('…'), "{text}");
}

#[test]
fn colour_only_when_asked_and_only_colour() {
    let run = sample::prove();
    let plain = text::summary(&run, &Style::default());
    let coloured = text::summary(&run, &Style { colour: true, width: 80 });
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[31mnot met"));
    let mut stripped = coloured.clone();
    for code in ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"] {
        stripped = stripped.replace(code, "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn requirements_and_warnings_are_shown_once() {
    let mut run = sample::prove();
    let refused = "SCHED_FIFO 99 was refused: the process lacks CAP_SYS_NICE; run with sudo.";
    run.series.iter_mut().for_each(|s| s.settings.refused.push(refused.into()));
    let text = text::summary(&run, &Style { colour: false, width: 200 });
    assert!(text.contains("met      99% < 3us — 99.7733% < 3us (ontick, loaded)"), "{text}");
    assert!(text.contains("not met  max < 30us"), "{text}");
    assert_eq!(text.matches("CAP_SYS_NICE").count(), 1, "{text}");
    assert!(text.contains("warning: /dev/cpu_dma_latency"), "{text}");
}

#[test]
fn a_simulated_run_says_so_first() {
    let mut run = sample::single();
    run.simulated = Some("the line sim:bench/17 is simulated".into());
    let text = text::summary(&run, &Style::default());
    assert!(text.lines().next().unwrap().starts_with("simulated "), "{text}");
    assert!(text.contains("The simulated machine acts"), "{text}");
    let plot = text::plot(&run, &Style::default());
    assert!(plot.starts_with("simulated the line sim:bench/17"), "{plot}");
}

#[test]
fn a_record_cannot_steer_the_terminal() {
    let text = text::summary(&sample::hostile(), &Style::default());
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn a_switch_under_test_fits_and_says_what_became_of_its_frames() {
    let text = text::summary(&sample::switch(), &Style::default());
    assert!(widest(&text) <= 80, "{text}");
    for part in ["gates on", "gates off", "239 990", "first p50", "cycle 1ms: blue 800us, red 200us", "at 1 Gb/s"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("6 held up in the switch (for 5.21ms at most)"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Of 479 980 frames 6 arrived outside their windows (12.5 per million)"), "{text}");
    let narrow = text::summary(&sample::switch(), &Style { width: 50, ..Style::default() });
    assert!(widest(&narrow) <= 50, "{narrow}");
    let listed = text::violations(&sample::switch(), &Style { width: 100, ..Style::default() });
    assert!(listed.contains("blue: 6 up to 5.10ms after closing: the switch did not run for 5.21ms"), "{listed}");
    let hostile = text::summary(&sample::hostile_switch(), &Style::default());
    assert!(!hostile.contains('\u{1b}') && !hostile.contains('\u{0}'), "{hostile}");
}

#[test]
fn an_empty_run_is_shown_too() {
    let text = text::summary(&Run::new("ontick", "timer"), &Style::default());
    assert!(text.contains("Nothing was measured"), "{text}");
    let mut run = sample::single();
    run.series[0].latency = Default::default();
    assert!(text::summary(&run, &Style::default()).contains('—'));
}

#[test]
fn a_plot_fits_and_shows_every_series() {
    for (run, width) in
        [(sample::prove(), 80), (sample::methods(), 80), (sample::single(), 80), (sample::methods(), 60)]
    {
        let text = text::plot(&run, &Style { colour: false, width });
        assert!(widest(&text) <= width, "{text}");
        for s in &run.series {
            assert!(text.contains(&s.name), "{}: {text}", s.name);
        }
        assert!(text.contains(['▇', '█']) && text.contains("1us"), "{text}");
    }
    assert!(text::plot(&Run::new("ontick", "timer"), &Style::default()).contains("nothing to plot"));
    let hostile = text::plot(&sample::hostile(), &Style::default());
    assert!(!hostile.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn what_a_foreign_tool_did_not_count_is_not_zero() {
    let mut run = sample::single();
    run.tool = "cyclictest".into();
    let row = |run: &Run| {
        let text = text::summary(run, &Style::default());
        text.lines().find(|l| l.starts_with("  hybrid")).unwrap().to_string()
    };
    assert!(row(&run).ends_with('—'), "{}", row(&run));
    assert!(!ontick_report::openmetrics(&run).contains("ontick_missed_cycles_total{"));
    run.series[0].latency = Default::default();
    (run.series[0].latency.overflow, run.series[0].latency.max_ns) = (500, Some(41_000));
    assert!(!row(&run).contains('%'), "{}", row(&run));
}

#[test]
fn causes_stand_under_the_verdict_most_frequent_first() {
    let text = text::summary(&sample::explained(), &Style::default());
    assert!(widest(&text) <= 80, "{text}");
    let head =
        text.lines().position(|l| l.split_whitespace().eq(["cause", "count", "share", "p50", "max"])).expect("a table");
    let rows: Vec<&str> = text.lines().skip(head + 1).take_while(|l| !l.is_empty()).collect();
    assert_eq!(rows.len(), 8, "{text}");
    assert!(rows[0].starts_with("  timer tick") && rows[0].contains(" 50.0 %"), "{text}");
    assert!(rows[2].contains('…') && rows[7].starts_with("  4 others"), "{text}");
    assert!(text.contains("The 38 outliers above 100us: timer tick 19, device interrupt mmc0 5,"), "{text}");
    assert!(text.contains("120 000 events (12 000 a second), each about 240ns"), "{text}");
    assert!(!text::summary(&sample::single(), &Style::default()).contains("cause"));
}

#[test]
fn a_mean_stands_where_there_is_room_for_it() {
    let mut run = sample::single();
    (run.series[0].latency.mean_ns, run.series[0].latency.std_dev_ns) = (Some(1_234_567.0), Some(7_654.0));
    let wide = |width| text::summary(&run, &Style { width, ..Style::default() });
    assert!(wide(110).contains(" mean ") && wide(110).contains("1.23ms"), "{}", wide(110));
    assert!(wide(110).contains(" stddev ") && wide(110).contains("7.65us"), "{}", wide(110));
    assert!(
        !wide(80).contains("stddev") && !wide(80).contains(" mean ") && wide(80).contains("p99.99"),
        "{}",
        wide(80)
    );
    let page = ontick_report::html(&run);
    assert!(page.contains(">mean</th>") && page.contains(">1.23\u{202f}ms</td>"));
    assert!(page.contains(">stddev</th>") && page.contains(">7.65\u{202f}µs</td>"));
    assert!(ontick_report::openmetrics(&run).contains("ontick_latency_stddev_seconds{"));
}

#[test]
fn the_page_of_samples_has_signal_spectrum_and_gaps() {
    let page = ontick_report::html(&sample::signal());
    for words in [
        "<h1>ontick sample</h1>",
        "Signal: sine",
        ">Spectrum</h2>",
        "The strongest is 50\u{202f}Hz.",
        ">Gaps</h2>",
        "the thread was late</th><td>3</td>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // Three samples are missing: two stretches of a line, for a wide and for a narrow window.
    let drawn = page.split("Signal: sine").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(drawn.matches("class=\"line ").count(), 4);
    assert!(!ontick_report::html(&sample::single()).contains("Spectrum"));
}
