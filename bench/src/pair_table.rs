//! Two ways of doing a job, in pairs of blocks under each load, as a table.

use ontick_record::Series;
use ontick_record::compare::{Spread, paired};
use ontick_units::show;

use crate::page::Table;
use crate::show::times;

/// Under one load: blocks of the first and the second way, pair by pair.
pub struct Pairs {
    pub load: String,
    pub pairs: Vec<(Series, Series)>,
}

impl Pairs {
    /// The first way's figure divided by the second's, pair by pair.
    pub fn ratio(&self, q: f64) -> Option<Spread> {
        paired(self.pairs.iter().map(|(first, second)| quantile(first, q) / quantile(second, q)))
    }
}

fn quantile(series: &Series, q: f64) -> f64 {
    series.latency.quantile(q).unwrap_or(0).max(1) as f64
}

/// One side of a pair.
type SideOf = fn(&(Series, Series)) -> &Series;

/// Both ways under each load by their names, and their ratio.
pub fn table(all: &[Pairs], [first, second]: [&str; 2], ratio: &str) -> Table {
    let mut table = Table::new(&["median of blocks", "blocks", "p50", "p99", "p99.9", "missed in all"]);
    for figures in all {
        let Pairs { load, pairs } = figures;
        let sides: [(&str, SideOf); 2] = [(first, |pair| &pair.0), (second, |pair| &pair.1)];
        let blocks = pairs.len().to_string();
        for (name, side) in sides {
            let median = |q: f64| paired(pairs.iter().map(|pair| quantile(side(pair), q)));
            let cell = |q| median(q).map_or("—".into(), |spread| show(spread.median.round() as u64));
            let missed: u64 = pairs.iter().map(|pair| side(pair).missed).sum();
            let name = format!("{load}: {name}");
            table.row([name, blocks.clone(), cell(0.5), cell(0.99), cell(0.999), missed.to_string()]);
        }
        let spread = |Spread { median, min, max, .. }| format!("{} ({} to {})", times(median), times(min), times(max));
        let cell = |q| figures.ratio(q).map_or("—".into(), spread);
        table.row([format!("{load}: {ratio}, pair by pair"), blocks, cell(0.5), cell(0.99), cell(0.999), "—".into()]);
    }
    table
}
