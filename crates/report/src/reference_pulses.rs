//! The figures of source 003, to stand beside those measured here: pulses by a user-space program on a Raspberry Pi 3,
//! as it is and with latency minimised, and by a kernel module; all beside busy processes.

/// One row of its tables, in us.
pub(crate) struct Row {
    /// The pulse that was wanted, in ns.
    pub wanted_ns: u64,
    /// How it was made.
    pub how: &'static str,
    pub shortest: &'static str,
    /// Where the source tells it.
    pub average: &'static str,
    pub longest: &'static str,
    /// What some were longer than.
    pub some_longer_than: &'static str,
}

const fn row(
    wanted_us: u64,
    how: &'static str,
    [shortest, average, longest]: [&'static str; 3],
    some_longer_than: &'static str,
) -> Row {
    Row { wanted_ns: wanted_us * 1_000, how, shortest, average, longest, some_longer_than }
}

pub(crate) const STOCK: &str = "usleep, stock";
pub(crate) const MINIMISED: &str = "usleep, minimised";
const KERNEL_USLEEP: &str = "kernel module, usleep";
const PRU: &str = "a BeagleBone's PRU, off by 10s of ns";
const KERNEL_UDELAY: &str = "kernel module, udelay";

pub(crate) const ROWS: [Row; 17] = [
    row(10_000, STOCK, ["10 060", "", "14 000"], "20 000"),
    row(10_000, MINIMISED, ["10 024", "", "10 092"], ""),
    row(10_000, KERNEL_USLEEP, ["10 009", "10 040", "10 093"], ""),
    row(10_000, KERNEL_UDELAY, ["10 000", "10 005", "10 072"], ""),
    row(1_000, STOCK, ["1 060", "", "7 100"], "9 000"),
    row(1_000, MINIMISED, ["1 009", "", "1 097"], ""),
    row(1_000, KERNEL_USLEEP, ["1 007", "1 036", "1 095"], ""),
    row(1_000, KERNEL_UDELAY, ["1 000", "1 002", "1 062"], ""),
    row(100, STOCK, ["140", "", "2 900"], "6 200"),
    row(100, MINIMISED, ["109", "", "179"], ""),
    row(100, KERNEL_USLEEP, ["107", "114", "151"], ""),
    row(100, KERNEL_UDELAY, ["100", "101", "170"], ""),
    row(10, STOCK, ["30", "", "1 500"], "6 900"),
    row(10, MINIMISED, ["15", "", "97"], ""),
    row(10, KERNEL_USLEEP, ["14", "22", "74"], ""),
    row(10, KERNEL_UDELAY, ["10", "11", "87"], ""),
    // "Error on order of 10s of nanoseconds", an oscilloscope's picture and no table.
    row(25, PRU, ["", "", ""], ""),
];

impl Row {
    /// The largest error of a pulse, in ns; none where the source has no figures.
    pub fn largest_error_ns(&self) -> Option<u64> {
        let ns = |text: &str| Some(text.replace(' ', "").parse::<u64>().ok()? * 1_000);
        let longest = ns(self.some_longer_than).into_iter().chain(ns(self.longest)).max()?;
        Some(longest.abs_diff(self.wanted_ns).max(ns(self.shortest)?.abs_diff(self.wanted_ns)))
    }
}

/// The rows of one width.
pub(crate) fn of(wanted_ns: u64) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.wanted_ns == wanted_ns)
}
