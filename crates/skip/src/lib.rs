//! A test on a machine that lacks what it needs is skipped, counted and named: it does not pass silently.
//!
//! The test harness knows passed and failed only, and keeps what a passed test prints. So a skip is also written to the
//! file that the environment variable `ONTICK_SKIPS` names, as a line of program, test and reason, with tabs between.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Says that the running test is skipped, and why: `return skipped!("{tool} is not installed")`.
#[macro_export]
macro_rules! skipped {
    ($($reason:tt)*) => { $crate::record(&::std::format!($($reason)*)) };
}

/// Prints the reason, and writes it to the file of skips if there is one. Prefer [`skipped!`].
///
/// # Panics
///
/// If the file cannot be written to: a skip that is not counted is what this is against.
pub fn record(reason: &str) {
    eprintln!("skipped: {reason}");
    if let Some(path) = std::env::var_os("ONTICK_SKIPS") {
        append(Path::new(&path), &line(reason)).expect("ONTICK_SKIPS names a file that can be written to");
    }
}

fn line(reason: &str) -> String {
    let program = std::env::current_exe().ok().and_then(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let program = program.unwrap_or_default();
    // Cargo adds a hash.
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    // The harness names a test's thread after the test.
    let thread = std::thread::current();
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{program}\t{}\t{reason}\n", thread.name().unwrap_or("a thread of a test"))
}

/// In one write, as tests of several threads and programs append at the same time.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{append, line};

    #[test]
    fn a_skip_is_one_line_of_program_test_and_reason() {
        let expected = "ontick_skip\ttests::a_skip_is_one_line_of_program_test_and_reason\tno two CPUs\n";
        assert_eq!(line("no two\n CPUs"), expected);
    }

    #[test]
    fn skips_are_appended() {
        let path = std::env::temp_dir().join(format!("ontick-skips-{}", std::process::id()));
        append(&path, "a\n").unwrap();
        append(&path, "b\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\nb\n");
        std::fs::remove_file(path).unwrap();
    }
}
