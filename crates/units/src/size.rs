//! Sizes as people read them.

/// A number of bytes in MiB, with one decimal.
///
/// ```
/// assert_eq!(ontick_units::mebibytes(1_572_864), "1.5 MiB");
/// ```
pub fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
