//! `ontick report`

mod fleet;
mod found;
mod table;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use ontick_record::fleet::Survey;
use ontick_record::{Run, hlog, store, tail};
use ontick_report::{Plot, cyclictest_hist, html, openmetrics, plot, rows, text};

use crate::attempts::Attempts;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, PictureFlags};
use crate::terminal;

/// Show a record as text, HTML, plots, or in other tools' formats; or gather many records as one table.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick report run.json\n  ontick report run.json --svg latency.svg --plot percentiles\n  ontick report run.json --as uncertainty\n  ontick report run.json --tail --svg tail.svg --plot tail\n  ontick report records/*.json --arrow all.arrow\n  ontick report --fleet records --html fleet.html"
)]
pub struct Report {
    /// A record, the journal of a killed run, or the output of cyclictest, rtla, oslat or others (`ontick import --help`);
    /// with --arrow, any number of them
    #[arg(required_unless_present = "fleet")]
    files: Vec<PathBuf>,
    /// Survey the records of many machines, a folder for each: which kind is worst, what changed since the week before,
    /// which machine stands apart; of a folder and those below it, or of a pattern in quotes
    #[arg(long, value_name = "DIR|GLOB", num_args = 1.., conflicts_with_all = ["files", "plot"])]
    fleet: Vec<PathBuf>,
    /// What to print
    #[arg(long = "as", value_name = "FORMAT", default_value = "summary")]
    format: Format,
    /// Write an HTML report to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    pictures: PictureFlags,
    /// Which plot the picture is [default: latency]
    #[arg(long, value_parser = plots())]
    plot: Option<Plot>,
    /// Estimate what is exceeded less than once in so many cycles, beyond what was observed, or say why that cannot be said
    #[arg(long, value_name = "CYCLES", num_args = 0..=1, require_equals = true, default_missing_value = "1e9", value_parser = flags::once_in, conflicts_with = "fleet")]
    tail: Option<u64>,
    /// Write all series of all records as one table to this file, as Arrow IPC: a row for each series, with its figures,
    /// settings and histogram, and the machine
    #[arg(long, value_name = "FILE")]
    arrow: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The table and what it means
    Summary,
    /// A histogram for the terminal
    Plot,
    /// How well the figures are known: the uncertainty budget, and each series' quantiles with it
    Uncertainty,
    /// Ten counts per line, one for each microsecond
    Rows,
    /// Histogram as cyclictest writes it
    Cyclictest,
    /// HdrHistogram's log (.hlog), an interval for each series, in ns
    Hlog,
    /// OpenMetrics, for Prometheus and others
    Openmetrics,
    /// The record itself
    Json,
}

fn plots() -> impl TypedValueParser<Value = Plot> {
    let choices = Plot::ALL.map(|plot| PossibleValue::new(plot.name()).help(plot.shows()));
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<Plot>())
}

impl Report {
    pub fn run(self) -> Result<Outcome, Failure> {
        if self.plot.is_some() && !self.pictures.wanted() {
            return Err(Failure::new("--plot says what a picture shows: name its file with --svg or --png"));
        }
        if !self.fleet.is_empty() {
            return self.survey();
        }
        let [file] = &self.files[..] else { return self.gather() };
        let mut run = store::read_any(file)?;
        if let Some(once_in) = self.tail.or((self.plot == Some(Plot::Tail)).then_some(tail::ONCE_IN)) {
            tail::estimate_all(&mut run, once_in);
        }
        let mut attempts = Attempts::default();
        if let Some(path) = &self.arrow {
            attempts.note(table::write(path, |add| add(file, &run)));
        }
        if let Some(path) = &self.html {
            attempts.note(store::write_whole(path, html(&run).as_bytes()));
        }
        if self.pictures.wanted() {
            attempts.note(self.draw(file, &run));
        }
        // Files were asked for: no need to fill the terminal as well, unless that was asked for too.
        let only_files = self.html.is_some() || self.arrow.is_some() || self.pictures.wanted();
        if !(only_files && matches!(self.format, Format::Summary)) {
            attempts.note(self.print(&run));
        }
        attempts.end().map(|()| Outcome::of(&run))
    }

    /// Several records, which only a table shows.
    fn gather(&self) -> Result<Outcome, Failure> {
        let Some(path) = &self.arrow else {
            return Err(Failure::new(
                "several files become one table with --arrow FILE (`ontick compare` shows them side by side)",
            ));
        };
        if self.html.is_some()
            || self.pictures.wanted()
            || self.tail.is_some()
            || !matches!(self.format, Format::Summary)
        {
            return Err(Failure::new(
                "of several files there is only the table of --arrow: name one file for the rest",
            ));
        }
        table::write(path, |add| self.files.iter().try_for_each(|file| add(file, &store::read_any(file)?)))?;
        Ok(Outcome::Met)
    }

    /// The records of a fleet.
    fn survey(&self) -> Result<Outcome, Failure> {
        let print: fn(&Survey) -> String = match self.format {
            Format::Summary => |survey| ontick_report::fleet::text(survey, &terminal::style()),
            Format::Json => ontick_report::fleet::json,
            _ => return Err(Failure::new("of a fleet there is a summary or --as json: name one file for the rest")),
        };
        if self.pictures.wanted() {
            return Err(Failure::new("of a fleet there is no picture in a file of its own: --html FILE has them"));
        }
        let survey = match &self.arrow {
            Some(path) => table::write(path, |add| fleet::survey(&self.fleet, add))?,
            None => fleet::survey(&self.fleet, &mut |_, _| Ok(()))?,
        };
        let mut attempts = Attempts::default();
        if let Some(path) = &self.html {
            attempts.note(store::write_whole(path, ontick_report::fleet::html(&survey).as_bytes()));
        }
        let only_files = self.html.is_some() || self.arrow.is_some();
        if !(only_files && matches!(self.format, Format::Summary)) {
            attempts.note(terminal::print(&print(&survey)));
        }
        attempts.end().map(|()| Outcome::Met)
    }

    /// Writes the picture. No file is better than an empty picture.
    fn draw(&self, file: &Path, run: &Run) -> Result<(), Failure> {
        let plot = self.plot.unwrap_or(Plot::Latency);
        match plot::lacking(run, plot) {
            Some(why) => Err(Failure::new(format!("{}: this plot has nothing to show: {why}", file.display()))),
            None => self.pictures.draw_plot(run, plot),
        }
    }

    fn print(&self, run: &Run) -> Result<(), Failure> {
        match plot::lacking(run, Plot::Latency).filter(|_| matches!(self.format, Format::Plot)) {
            Some(why) => Err(Failure::new(format!("--as plot has nothing to show: {why}"))),
            None => terminal::print(&self.printed(run)),
        }
    }

    fn printed(&self, run: &Run) -> String {
        match self.format {
            Format::Summary => text::summary(run, &terminal::style()),
            Format::Plot => text::plot(run, &terminal::style()),
            Format::Uncertainty => text::uncertainty(run, &terminal::style()),
            Format::Rows => rows(run),
            Format::Cyclictest => cyclictest_hist(run, None),
            Format::Hlog => hlog::write(run),
            Format::Openmetrics => openmetrics(run),
            Format::Json => store::text(run),
        }
    }
}
