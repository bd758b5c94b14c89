//! How often the 95 % bound of a tail is above the true value, on synthetic runs of known distributions, and how often
//! mixtures are refused. `docs/metrics.md` has the result.
//!
//! `cargo run --release -p ontick-record --example tail_coverage -- 1000 1 1e5`: how many runs, the seed, and of how many cycles
//! alone, 1e6 or 1e5; both where that is left out.

use ontick_record::tail::simulation::{DISTRIBUTIONS, MIXTURES, OTHERS, OVERLAPPING, Random, bound, mixed, peaks};
use ontick_record::tail::{Reason, Refusal};

/// Peaks that a record keeps.
const KEPT: usize = 1000;

fn main() {
    let argument = |place, or| std::env::args().nth(place).and_then(|n| n.parse().ok()).unwrap_or(or);
    let (runs, seed) = (argument(1, 1000) as usize, argument(2, 1));
    let alone: Option<f64> = std::env::args().nth(3).and_then(|n| n.parse().ok());
    let all = [(1e6, 1e9), (1e6, 1e7), (1e5, 1e9), (1e5, 1e7)];
    for (samples, once_in) in all.into_iter().filter(|(samples, _)| alone.is_none_or(|alone| alone == *samples)) {
        println!("{samples:e} cycles, exceeded once in {once_in:e}");
        for (name, distribution) in DISTRIBUTIONS.into_iter().chain(OTHERS) {
            let truth = distribution(1.0 / once_in);
            let mut random = Random(seed);
            let found: Vec<_> =
                (0..runs).map(|_| bound(&peaks(&mut random, distribution, samples, KEPT), samples, once_in)).collect();
            let bounds: Vec<f64> = found.iter().flatten().map(|b| b.upper_ns as f64).collect();
            let covered = bounds.iter().filter(|upper| **upper >= truth.round()).count();
            let mut ratios: Vec<f64> = bounds.iter().map(|upper| upper / truth).collect();
            ratios.sort_by(f64::total_cmp);
            println!(
                "  {name:12} covered {:5.1} % of {}, median bound {:.3} times the true value, refused {:.1} %",
                100.0 * covered as f64 / bounds.len() as f64,
                bounds.len(),
                ratios[ratios.len() / 2],
                100.0 * (runs - bounds.len()) as f64 / runs as f64,
            );
        }
        // In fewer cycles the same peaks would be half of the tail and more.
        for (name, mixture) in MIXTURES.into_iter().chain(OVERLAPPING).filter(|_| samples >= 1e6) {
            let mut random = Random(seed + 1);
            let found: Vec<_> =
                (0..runs).map(|_| bound(&mixed(&mut random, mixture, samples, KEPT), samples, once_in)).collect();
            let refused = found.iter().filter(|f| f.is_err()).count();
            let as_mixture = |f: &&Result<_, Refusal>| matches!(f, Err(r) if r.reason == Reason::Mixture);
            let truth = mixture.exceeded_once_in(once_in, samples);
            let low = found.iter().flatten().filter(|b| (b.upper_ns as f64) < truth).count();
            println!(
                "  mixture, {name}: refused {:.1} %, as a mixture {:.1} %; a bound that is too low {:.1} %",
                100.0 * refused as f64 / runs as f64,
                100.0 * found.iter().filter(as_mixture).count() as f64 / runs as f64,
                100.0 * low as f64 / runs as f64,
            );
        }
    }
}
