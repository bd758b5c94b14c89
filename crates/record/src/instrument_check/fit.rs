//! The line between two clocks.

/// Where the instrument's clock is when the program's is somewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// The moment of the program's clock from which on it is counted, in ns.
    pub zero_ns: u64,
    /// The instrument's clock at that moment, in ns.
    pub offset_ns: f64,
    /// Nanoseconds of the instrument in one of the program's.
    pub rate: f64,
    /// Within which the rate lies with a probability of 95 %.
    pub rate_uncertainty: f64,
    /// Standard deviation about the line, from the median deviation, in ns.
    pub residual_ns: f64,
}

/// A rate that is known worse than this is not known.
const KNOWN: f64 = 100e-6;
/// A standard deviation in median absolute deviations, of a normal distribution.
const OF_MEDIAN: f64 = 1.4826;
/// Deviations beyond so many standard deviations do not count.
const FAR: f64 = 4.0;

impl Line {
    /// Where the instrument's clock is then, in ns.
    pub fn at(&self, own_ns: u64) -> f64 {
        self.offset_ns + self.rate * signed(own_ns, self.zero_ns)
    }

    /// How long after the zero the program's clock is there, in ns.
    pub fn own_after_zero(&self, seen_ns: u64) -> f64 {
        (seen_ns as f64 - self.offset_ns) / self.rate
    }

    /// The line through pairs of times, by least squares without those that are far from it. `resolution_ns` is what an
    /// edge of the instrument is known to. Two pairs at least, in order of the program's times.
    pub fn fit(pairs: &[(u64, u64)], resolution_ns: f64) -> Self {
        let zero_ns = pairs.first().map_or(0, |(own_ns, _)| *own_ns);
        let points: Vec<(f64, f64)> =
            pairs.iter().map(|(own_ns, seen_ns)| (signed(*own_ns, zero_ns), *seen_ns as f64)).collect();
        let mut line = Self::robust(zero_ns, &points);
        for _ in 0..2 {
            let far_ns = (FAR * line.residual_ns).max(resolution_ns);
            let near: Vec<(f64, f64)> =
                points.iter().copied().filter(|point| line.deviation(*point).abs() <= far_ns).collect();
            line.least_squares(&near, resolution_ns);
            line.residual_ns = OF_MEDIAN * median(points.iter().map(|point| line.deviation(*point).abs()).collect());
        }
        line
    }

    /// The rate and its uncertainty, where it is known; else both clocks are taken to run alike.
    pub fn known_rate(&self) -> Option<(f64, f64)> {
        (self.rate_uncertainty <= KNOWN).then_some((self.rate, self.rate_uncertainty))
    }

    /// The median of slopes between points that are half of all apart, which no few points can spoil.
    fn robust(zero_ns: u64, points: &[(f64, f64)]) -> Self {
        let half = points.len().div_ceil(2);
        let slope = |((x, y), (u, v)): (&(f64, f64), &(f64, f64))| (v - y) / (u - x).max(1.0);
        let slopes: Vec<f64> = points.iter().zip(points.iter().skip(half)).map(slope).collect();
        let rate = if slopes.is_empty() { 1.0 } else { median(slopes) };
        let offset_ns = median(points.iter().map(|(x, y)| y - rate * x).collect());
        let line = Self { zero_ns, offset_ns, rate, rate_uncertainty: f64::INFINITY, residual_ns: 0.0 };
        let residual_ns = OF_MEDIAN * median(points.iter().map(|point| line.deviation(*point).abs()).collect());
        Self { residual_ns, ..line }
    }

    fn least_squares(&mut self, points: &[(f64, f64)], resolution_ns: f64) {
        let n = points.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
        let squares: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        if points.len() < 3 || squares <= 0.0 {
            return;
        }
        self.rate = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / squares;
        self.offset_ns = y - self.rate * x;
        let about: f64 = points.iter().map(|point| self.deviation(*point).powi(2)).sum::<f64>() / (n - 2.0);
        // Deviations of edges that keep step with the samples can be smaller than what a sample is worth.
        let deviation_ns = about.sqrt().max(resolution_ns / 12f64.sqrt());
        self.rate_uncertainty = 1.96 * deviation_ns / squares.sqrt();
    }

    fn deviation(&self, (own_ns, seen_ns): (f64, f64)) -> f64 {
        seen_ns - (self.offset_ns + self.rate * own_ns)
    }
}

fn signed(at_ns: u64, zero_ns: u64) -> f64 {
    if at_ns >= zero_ns { (at_ns - zero_ns) as f64 } else { -((zero_ns - at_ns) as f64) }
}

/// The upper of the two in the middle; 0 of none.
pub fn median(mut all: Vec<f64>) -> f64 {
    let middle = all.len() / 2;
    match all.is_empty() {
        true => 0.0,
        false => *all.select_nth_unstable_by(middle, f64::total_cmp).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_wild_points_does_not_move_the_line() {
        let pairs: Vec<(u64, u64)> = (0..500u64)
            .map(|i| {
                let own_ns = 7_000_000_000 + i * 1_000_000;
                let seen_ns = 123_456_789.0 + (i * 1_000_000) as f64 * 1.000_040;
                let wild = if i % 10 == 3 { 90_000 } else { i % 3 };
                (own_ns, seen_ns as u64 + wild)
            })
            .collect();
        let line = Line::fit(&pairs, 10.0);
        let (rate, uncertainty) = line.known_rate().unwrap();
        assert!(((rate - 1.0) * 1e6 - 40.0).abs() < 0.01 && uncertainty < 0.1e-6, "{line:?}");
        assert!((line.offset_ns - 123_456_790.0).abs() < 3.0 && line.residual_ns < 5.0, "{line:?}");
        assert!((line.own_after_zero(line.at(7_100_000_000) as u64) - 100_000_000.0).abs() < 2.0);
    }

    #[test]
    fn few_edges_over_a_short_time_do_not_tell_a_rate() {
        let pairs: Vec<(u64, u64)> = (0..10).map(|i| (i * 10_000, 5_000 + i * 10_000 + i % 2 * 40)).collect();
        assert_eq!(Line::fit(&pairs, 41.7).known_rate(), None);
    }
}
