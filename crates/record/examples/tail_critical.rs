//! Prints critical values as in `src/tail/critical.rs`: 99th percentiles of the two statistics on samples that are of the
//! fitted distribution. The random numbers are others than those that the tables were made with.
//!
//! `cargo run --release -p ontick-record --example tail_critical -- 4000`

use ontick_record::tail::simulation::{Random, statistics};

fn main() {
    let samples: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4_000);
    for count in [50, 100, 200, 400] {
        for shape in [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5] {
            let mut random = Random(count as u64);
            let (mut goodness, mut mixture): (Vec<f64>, Vec<f64>) =
                (0..samples).map(|_| statistics(&mut random, shape, count)).unzip();
            let percentile = |values: &mut Vec<f64>| {
                values.sort_by(f64::total_cmp);
                values[samples * 99 / 100]
            };
            let (goodness, mixture) = (percentile(&mut goodness), percentile(&mut mixture));
            println!("{count} peaks, shape {shape:5.2}: goodness {goodness:.2}, mixture {mixture:.1}");
        }
    }
}
