//! Dips that were driven, and which of their edges were detected.

use ontick_record::run::DipPoint;

/// A dip that was driven, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Driven {
    /// Just before the line was driven low.
    pub fall_ns: u64,
    /// From then until just before it was driven high again.
    pub width_ns: u64,
}

/// An edge that was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detected {
    pub rising: bool,
    pub time_ns: u64,
}

/// A time stamp of the kernel and this program's clock may be apart by this, in ns.
const SKEW_NS: u64 = 2_000;

/// Counts the dips and what was detected of them, until the next began. Those that the driver was stopped in, so that they
/// are too long by more than `tolerance_ns`, say nothing of their width and are left out.
pub fn count(width_ns: u64, tolerance_ns: u64, driven: &[Driven], detected: &[Detected]) -> DipPoint {
    let mut point = DipPoint { width_ns, ..DipPoint::default() };
    for (n, dip) in driven.iter().enumerate() {
        if dip.width_ns > width_ns + tolerance_ns {
            continue;
        }
        let from_ns = dip.fall_ns.saturating_sub(SKEW_NS);
        let until_ns = driven.get(n + 1).map_or(u64::MAX, |next| next.fall_ns.saturating_sub(SKEW_NS));
        let first = detected.partition_point(|edge| edge.time_ns < from_ns);
        let edges = || detected[first..].iter().take_while(|edge| edge.time_ns < until_ns);
        let (falls, rises) = (edges().any(|edge| !edge.rising), edges().any(|edge| edge.rising));
        point.dips += 1;
        point.both += u64::from(falls && rises);
        point.one += u64::from(falls || rises);
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_dip_before_them() {
        let driven = [100_000, 200_000, 300_000, 400_000].map(|fall_ns| Driven { fall_ns, width_ns: 10_000 }).to_vec();
        let edge = |rising, time_ns| Detected { rising, time_ns };
        let detected = [
            edge(true, 1_000),
            edge(false, 99_500),
            edge(true, 110_000),
            edge(false, 200_100),
            edge(false, 400_200),
            edge(true, 480_000),
        ];
        let point = count(10_000, 1_000, &driven, &detected);
        assert_eq!((point.width_ns, point.dips, point.both, point.one), (10_000, 4, 2, 3));
    }

    #[test]
    fn dips_in_which_the_driver_was_stopped_are_left_out() {
        let driven = [Driven { fall_ns: 100_000, width_ns: 11_001 }, Driven { fall_ns: 200_000, width_ns: 11_000 }];
        let point = count(10_000, 1_000, &driven, &[]);
        assert_eq!((point.dips, point.both, point.one), (1, 0, 0));
    }
}
