//! SHA-256, by the system's own program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use ontick_undo::program;

use super::{BuildError, file_error};

/// Of a file.
pub fn of_file(path: &Path) -> Result<String, BuildError> {
    let file = std::fs::File::open(path).map_err(file_error(path))?;
    let output = program::command("sha256sum").and_then(|mut sum| sum.stdin(file).output());
    let output = output.map_err(file_error(Path::new("sha256sum")))?;
    word(&output.stdout)
}

/// Of a text.
pub fn of_text(text: &str) -> Result<String, BuildError> {
    let failed = || file_error(Path::new("sha256sum"));
    let start = |mut sum: Command| sum.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = program::command("sha256sum").and_then(start).map_err(failed())?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes()).map_err(failed())?;
    }
    word(&child.wait_with_output().map_err(failed())?.stdout)
}

fn word(output: &[u8]) -> Result<String, BuildError> {
    let text = String::from_utf8_lossy(output);
    let word = text.split_whitespace().next().filter(|word| word.len() == 64);
    word.map(str::to_owned).ok_or(BuildError::NoDigest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_known_one() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of_text("").unwrap(), empty);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(of_file(file.path()).unwrap(), empty);
    }
}
