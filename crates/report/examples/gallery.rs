//! Writes every output of the sample runs and of the kept records into a folder, to be looked at:
//! `cargo run -p ontick-report --example gallery -- FOLDER`
#[path = "../tests/sample/mod.rs"]
mod sample;

use std::path::Path;
use std::{env, fs, io, process};

use ontick_record::Run;
use ontick_report::compare::{self, Named};
use ontick_report::{Plot, Style, cyclictest_hist, html, html_of_several, openmetrics, plot, rows, text};

const PLOTS: [(&str, Plot); 7] = [
    ("latency", Plot::Latency),
    ("percentiles", Plot::Percentiles),
    ("maxima", Plot::Maxima),
    ("blocks", Plot::Blocks),
    ("widths", Plot::Widths),
    ("outliers", Plot::Outliers),
    ("persistence", Plot::Persistence),
];

fn main() -> io::Result<()> {
    let Some(folder) = env::args().nth(1) else {
        eprintln!("usage: gallery FOLDER");
        process::exit(2);
    };
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let (prove, methods, single) = (sample::prove(), sample::methods(), sample::single());
    for (name, run) in [
        ("explained", &sample::explained()),
        ("prove", &prove),
        ("methods", &methods),
        ("single", &single),
        ("hostile", &sample::hostile()),
    ] {
        one(folder, name, run)?;
    }
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let run = ontick_record::store::read(&path).map_err(io::Error::other)?;
            one(folder, &path.file_stem().unwrap_or_default().to_string_lossy(), &run)?;
        }
    }
    let runs = [Named { name: "single.json", run: &single }, Named { name: "prove.json", run: &prove }];
    fs::write(folder.join("compare.txt"), compare::text(&runs, &Style::default()))?;
    fs::write(folder.join("compare.html"), html_of_several(&runs))
}

fn one(folder: &Path, name: &str, run: &Run) -> io::Result<()> {
    let style = Style { colour: true, width: 80 };
    let file = |ending: &str| folder.join(format!("{name}{ending}"));
    fs::write(file(".txt"), format!("{}\n{}", text::summary(run, &style), text::plot(run, &style)))?;
    fs::write(file(".html"), html(run))?;
    fs::write(file(".metrics"), openmetrics(run))?;
    fs::write(file(".hist"), cyclictest_hist(run, None))?;
    fs::write(file(".rows"), rows(run))?;
    for (kind, plot) in PLOTS {
        let svg = plot::svg(run, plot);
        #[cfg(feature = "png")]
        fs::write(file(&format!("-{kind}.png")), ontick_report::png(&svg, 1.5).map_err(io::Error::other)?)?;
        fs::write(file(&format!("-{kind}.svg")), svg)?;
    }
    Ok(())
}
