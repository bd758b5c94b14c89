//! What came to each listener of each stream, held against the promise.

use ontick_record::{Bucket, Histogram};
use ontick_rt::buckets;
use ontick_tsn::network::{NodeId, StreamId};

use crate::frame::Numbered;

/// Frames back from the newest within which a second copy is told from one that is out of order.
const REMEMBERED: u64 = 64;

/// One listener of one stream.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    pub stream: StreamId,
    pub listener: NodeId,
    /// Frames of a message.
    parts: u64,
    period_ns: u64,
    deadline_ns: u64,
    /// The plan's time, with what clocks may differ by.
    planned_ns: u64,
    /// One more than the number of the newest frame; of those before it, one bit for each that came.
    next: u64,
    came: u64,
    /// The message that parts come of, and how many came.
    open: (u64, u64),
    pub frames: u64,
    pub duplicates: u64,
    pub out_of_order: u64,
    /// Whole messages.
    pub messages: u64,
    pub late: u64,
    pub after_plan: u64,
    /// Before their period began, by the listener's clock.
    pub early: u64,
    counts: Vec<u32>,
    extremes: (u64, u64),
    sum_ns: u128,
}

impl Arrivals {
    pub fn new(
        stream: StreamId,
        listener: NodeId,
        (parts, period_ns, deadline_ns): (u32, u64, u64),
        planned_ns: u64,
    ) -> Self {
        Self {
            stream,
            listener,
            parts: parts.into(),
            period_ns,
            deadline_ns,
            planned_ns,
            next: 0,
            came: 0,
            open: (0, 0),
            frames: 0,
            duplicates: 0,
            out_of_order: 0,
            messages: 0,
            late: 0,
            after_plan: 0,
            early: 0,
            counts: Vec::new(),
            extremes: (u64::MAX, 0),
            sum_ns: 0,
        }
    }

    /// A frame whose last bit came at this time of the listener's clock, where the first period began at `base_ns`.
    #[inline]
    pub fn arrived(&mut self, frame: Numbered, local_ns: u64, base_ns: u64) {
        let message = u64::from(frame.message);
        let number = message * self.parts + u64::from(frame.part);
        if !self.is_new(number) {
            self.duplicates += 1;
            return;
        }
        self.frames += 1;
        if self.open.0 != message {
            self.open = (message, 0);
        }
        self.open.1 += 1;
        if self.open.1 < self.parts {
            return;
        }
        self.messages += 1;
        let begin_ns = base_ns + message * self.period_ns;
        if local_ns < begin_ns {
            self.early += 1;
        }
        let latency_ns = local_ns.saturating_sub(begin_ns);
        self.late += u64::from(latency_ns > self.deadline_ns);
        self.after_plan += u64::from(latency_ns > self.planned_ns);
        self.extremes = (self.extremes.0.min(latency_ns), self.extremes.1.max(latency_ns));
        self.sum_ns += u128::from(latency_ns);
        let bucket = buckets::index(latency_ns);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
    }

    /// Whether no frame of this number came before; one that came after a newer one is out of order.
    #[inline]
    fn is_new(&mut self, number: u64) -> bool {
        if number >= self.next {
            let further = number - self.next + 1;
            self.came = if further >= REMEMBERED { 0 } else { self.came << further };
            self.came |= 1;
            self.next = number + 1;
            return true;
        }
        let back = self.next - 1 - number;
        if back >= REMEMBERED || self.came & (1 << back) != 0 {
            return false;
        }
        self.came |= 1 << back;
        self.out_of_order += 1;
        true
    }

    /// Latencies of whole messages.
    pub fn latency(&self) -> Histogram {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let counted = filled.map(|(bucket, count)| {
            let (low_ns, width_ns) = buckets::range(bucket);
            Bucket { low_ns, width_ns, count: u64::from(*count) }
        });
        let mut histogram = Histogram::from_buckets(counted);
        if self.messages > 0 {
            (histogram.min_ns, histogram.max_ns) = (Some(self.extremes.0), Some(self.extremes.1));
            histogram.mean_ns = Some(self.sum_ns as f64 / self.messages as f64);
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(parts: u32) -> Arrivals {
        Arrivals::new(0, 0, (parts, 1_000_000, 50_000), 30_000)
    }

    fn frame(message: u32, part: u16) -> Numbered {
        Numbered { stream: 0, message, part, stamp_ns: 0 }
    }

    #[test]
    fn a_message_is_there_with_its_last_frame_and_counts_from_its_period() {
        let mut of = arrivals(2);
        of.arrived(frame(0, 0), 10_000, 5_000);
        assert_eq!((of.frames, of.messages), (1, 0));
        of.arrived(frame(0, 1), 25_000, 5_000);
        of.arrived(frame(1, 0), 1_034_000, 5_000);
        of.arrived(frame(1, 1), 1_036_000, 5_000);
        of.arrived(frame(2, 0), 2_055_000, 5_000);
        of.arrived(frame(2, 1), 2_055_001, 5_000);
        let latency = of.latency();
        assert_eq!((latency.min_ns, latency.max_ns, latency.count()), (Some(20_000), Some(50_001), 3));
        assert_eq!((of.after_plan, of.late, of.early), (2, 1, 0));
        of.arrived(frame(4, 0), 3_000_000, 5_000);
        of.arrived(frame(4, 1), 3_000_000, 5_000);
        assert_eq!((of.early, of.messages, of.late), (1, 4, 1));
    }

    #[test]
    fn copies_and_frames_out_of_order_are_told_apart() {
        let mut of = arrivals(1);
        for (message, counts) in [
            (0, (0, 0)),
            (2, (0, 0)),
            (1, (0, 1)),
            (1, (1, 1)),
            (2, (2, 1)),
            (70, (2, 1)),
            (69, (2, 2)),
            (70, (3, 2)),
            (3, (4, 2)),
        ] {
            of.arrived(frame(message, 0), 0, 0);
            assert_eq!((of.duplicates, of.out_of_order), counts, "{message}");
        }
        assert_eq!(of.frames, 5);
    }
}
