//! The newest stretch of several signals, in columns: of each the least and the largest value, so that no spike is lost
//! however many samples a column has.

/// Columns of a stretch.
pub const COLUMNS: usize = 500;
/// No column has this number.
const NONE: u64 = u64::MAX;

/// A stretch that ends with the newest sample.
#[derive(Debug)]
pub struct Trace {
    /// Its length, in ns.
    pub span_ns: u64,
    channels: usize,
    /// Where each column is from, as a number of columns since the beginning of time.
    numbers: Vec<u64>,
    samples: Vec<u32>,
    /// Least and largest, channel by channel in each column.
    bounds: Vec<(f64, f64)>,
    newest: u64,
}

/// A column of one signal: its number since the stretch's beginning, the least and the largest value.
pub type Column = (u64, f64, f64);

impl Trace {
    /// An empty one.
    pub fn new(span_ns: u64, channels: usize) -> Self {
        Self {
            span_ns,
            channels,
            numbers: vec![NONE; COLUMNS],
            samples: vec![0; COLUMNS],
            bounds: vec![(0.0, 0.0); COLUMNS * channels],
            newest: 0,
        }
    }

    /// Takes a sample of every channel.
    pub fn add(&mut self, at_ns: u64, values: impl Iterator<Item = f64>) {
        let number = at_ns / (self.span_ns / COLUMNS as u64);
        let place = (number % COLUMNS as u64) as usize;
        let bounds = &mut self.bounds[place * self.channels..(place + 1) * self.channels];
        match self.numbers[place] == number {
            true => {
                for (bound, value) in bounds.iter_mut().zip(values) {
                    *bound = (bound.0.min(value), bound.1.max(value));
                }
                self.samples[place] = self.samples[place].saturating_add(1);
            }
            false => {
                bounds.iter_mut().zip(values).for_each(|(bound, value)| *bound = (value, value));
                (self.numbers[place], self.samples[place]) = (number, 1);
            }
        }
        self.newest = number;
    }

    /// Columns of a channel that have samples, in the order of time.
    pub fn columns(&self, channel: usize) -> Vec<Column> {
        let from = self.from();
        let place = |number: u64| (number % COLUMNS as u64) as usize;
        let there = (from..=self.newest).filter(|number| self.numbers[place(*number)] == *number);
        there
            .map(|number| {
                let (least, largest) = self.bounds[place(number) * self.channels + channel];
                (number - from, least, largest)
            })
            .collect()
    }

    /// Samples in it.
    pub fn samples(&self) -> u64 {
        let from = self.from();
        let there = self.numbers.iter().zip(&self.samples);
        there.filter(|(number, _)| (from..=self.newest).contains(*number)).map(|(_, count)| u64::from(*count)).sum()
    }

    fn from(&self) -> u64 {
        self.newest.saturating_sub(COLUMNS as u64 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_is_in_its_column_and_what_is_old_is_gone() {
        let mut trace = Trace::new(1_000_000, 2);
        // 2 us a column, 20 samples each.
        for at in 0..20_000u64 {
            let spike = if at == 12_345 { 99.0 } else { 1.0 };
            trace.add(at * 100, [spike, -(at as f64)].into_iter());
        }
        let columns = trace.columns(0);
        assert_eq!((columns.len(), trace.samples()), (500, 10_000));
        let spikes: Vec<_> = columns.iter().filter(|(_, _, largest)| *largest > 1.0).collect();
        assert_eq!(spikes, [&(12_345 / 20 - 500, 1.0, 99.0)]);
        assert_eq!(trace.columns(1)[499], (499, -19_999.0, -19_980.0));
    }

    #[test]
    fn a_slow_sampler_leaves_columns_empty_and_a_leap_leaves_nothing_old() {
        let mut trace = Trace::new(1_000_000, 1);
        for at in [0, 400_000, 800_000] {
            trace.add(at, std::iter::once(at as f64));
        }
        assert_eq!(trace.columns(0), [(0, 0.0, 0.0), (200, 4e5, 4e5), (400, 8e5, 8e5)]);
        trace.add(900_000_000, std::iter::once(7.0));
        assert_eq!(trace.columns(0), [(499, 7.0, 7.0)]);
        assert_eq!(trace.samples(), 1);
        // A clock that went back: another sampler began.
        trace.add(0, std::iter::once(3.0));
        assert_eq!(trace.columns(0), [(0, 3.0, 3.0)]);
    }
}
