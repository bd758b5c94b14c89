//! Memory that another program takes: a quarter of what is available, 128 MiB at most.

const MOST_KIB: usize = 128 << 10;
const PAGE: usize = 4096;

/// Given back when this goes.
pub struct Taken(#[expect(dead_code, reason = "it is held, and not read")] Vec<u8>);

impl Taken {
    pub fn take() -> Self {
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let available =
            memory.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse().ok());
        let mut taken = vec![0u8; (available.unwrap_or(0) / 4).min(MOST_KIB) << 10];
        // A page that nobody wrote to is not there.
        taken.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
        Self(taken)
    }
}
