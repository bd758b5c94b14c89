//! How long a sleep must be for others to have the CPU meanwhile.

/// Where timers are set and fire within a microsecond.
const SHORTEST_NS: u64 = 10_000;
const LONGEST_NS: u64 = 1_000_000;
/// A sleep that others had less of was none: its timer fired before the kernel had put the thread aside. Setting a timer
/// takes a virtual machine 3 to 20 us, by its host.
const LEAST_HAD_NS: u64 = 3_000;
/// What a real one is shortened by for the next time, as a share of it.
const SHORTENED: u64 = 64;

/// The shortest sleep that leaves the CPU, as far as this thread has seen.
#[derive(Debug, Clone)]
pub struct Nap {
    ns: u64,
}

impl Nap {
    pub fn shortest() -> Self {
        Self { ns: SHORTEST_NS }
    }

    /// How long to sleep, in ns.
    pub fn ns(&self) -> u64 {
        self.ns
    }

    /// Others had the CPU for `had_ns` of a sleep that was to take `slept_ns`.
    pub fn saw(&mut self, slept_ns: u64, had_ns: u64) {
        // A shorter one that left nothing tells nothing of this length, nor does a longer one that did.
        if had_ns < LEAST_HAD_NS && slept_ns >= self.ns {
            self.ns = (self.ns * 2).min(LONGEST_NS);
        } else if had_ns >= LEAST_HAD_NS && slept_ns <= self.ns {
            self.ns = (self.ns - self.ns / SHORTENED).max(SHORTEST_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_long_as_this_machine_needs() {
        for way_ns in [0, 8_000, 25_000, 300_000] {
            let mut nap = Nap::shortest();
            let had = |nap: &mut Nap| {
                let had_ns = nap.ns().saturating_sub(way_ns);
                nap.saw(nap.ns(), had_ns);
                had_ns
            };
            (0..20).for_each(|_| {
                had(&mut nap);
            });
            let real = (0..1_000).filter(|_| had(&mut nap) >= LEAST_HAD_NS).count();
            assert!(real > 900, "way {way_ns}: {real} of 1000 sleeps left the CPU");
            assert!(nap.ns() <= (2 * (way_ns + LEAST_HAD_NS)).max(SHORTEST_NS), "way {way_ns}: {nap:?}");
        }
    }

    #[test]
    fn sleeps_of_another_length_tell_nothing_of_this_one() {
        let mut nap = Nap::shortest();
        nap.saw(SHORTEST_NS - 1, 0);
        assert_eq!(nap.ns(), SHORTEST_NS);
        nap.saw(SHORTEST_NS, 0);
        nap.saw(10 * SHORTEST_NS, 10 * SHORTEST_NS);
        assert_eq!(nap.ns(), 2 * SHORTEST_NS);
    }

    #[test]
    fn a_thread_that_is_never_put_aside_sleeps_a_millisecond_at_most() {
        let mut nap = Nap::shortest();
        (0..100).for_each(|_| nap.saw(nap.ns(), 0));
        assert_eq!(nap.ns(), LONGEST_NS);
    }
}
