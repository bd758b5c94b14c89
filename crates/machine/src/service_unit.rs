//! The text of a systemd unit. Every value that comes from outside goes through here, so that none of it can end its
//! line and begin another; and root's services start only programs that nobody but root can replace.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ontick_undo::trust;

/// Why a unit cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// A value would begin a line of its own.
    #[error("{0:?} cannot be written into a systemd unit: it holds a control character")]
    Control(String),
    /// systemd reads a program's path differently from any other word.
    #[error("{0} cannot be the program of a systemd unit: only letters, digits and /-_.,:=+@ may be in its path")]
    Program(String),
    /// Whoever can replace the program runs theirs as root at the next boot.
    #[error(
        "the systemd unit would run {program} as root at each boot, and {why}: put ontick where only root can write (sudo install {program} {INSTALLED}), then run it from there"
    )]
    Untrusted {
        /// The program.
        program: String,
        /// What is wrong with it, or with a folder above it.
        why: String,
    },
    /// It cannot be looked at.
    #[error("{path}: {why}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
}

/// Where an ontick that was not packaged is best put.
const INSTALLED: &str = "/usr/local/bin/ontick";

/// A unit, line by line.
#[derive(Debug, Default)]
pub struct ServiceUnit(String);

impl ServiceUnit {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a section: `Service`.
    pub fn section(mut self, name: &'static str) -> Self {
        let blank = if self.0.contains('[') { "\n" } else { "" };
        let _ = writeln!(self.0, "{blank}[{name}]");
        self
    }

    /// A comment of one line.
    pub fn comment(mut self, text: &'static str) -> Self {
        let _ = writeln!(self.0, "# {text}");
        self
    }

    /// A value, which systemd takes as it is.
    pub fn value(mut self, key: &'static str, value: &str) -> Result<Self, UnitError> {
        if value.chars().any(char::is_control) || value.ends_with('\\') {
            return Err(UnitError::Control(value.into()));
        }
        let _ = writeln!(self.0, "{key}={}", value.replace('%', "%%"));
        Ok(self)
    }

    /// A command: a program, and arguments each of which systemd takes as one word.
    pub fn command(mut self, key: &'static str, program: &str, arguments: &[&str]) -> Result<Self, UnitError> {
        if !program.starts_with('/') || !program.chars().all(is_plain) {
            return Err(UnitError::Program(program.into()));
        }
        let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        let _ = writeln!(self.0, "{key}={}", [vec![program.to_owned()], words].concat().join(" "));
        Ok(self)
    }

    /// The text.
    pub fn text(self) -> String {
        self.0
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/-_.,:=+@".contains(c)
}

fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '\\' | '"' => text.extend(['\\', c]),
            // These have a meaning of their own, also in quotes.
            '%' | '$' => text.extend([c, c]),
            c if c.is_control() => c.to_string().bytes().for_each(|byte| {
                let _ = write!(text, "\\x{byte:02x}");
            }),
            c => text.push(c),
        }
    }
    text + "\""
}

/// The running program, as a service may start it: nobody but root can replace it, or a folder above it.
pub fn own_program() -> Result<String, UnitError> {
    let failed = |path: &Path, why| UnitError::Io { path: path.to_owned(), why };
    let link = Path::new("/proc/self/exe");
    let path = std::env::current_exe().map_err(|e| failed(link, e))?;
    let text = path.to_str().ok_or_else(|| UnitError::Program(path.display().to_string()))?;
    let text = text.trim_end_matches(" (deleted)").to_owned();
    let path = Path::new(&text);
    let checked = trust::check_root_owned(path).map_err(|e| failed(path, e))?;
    checked.map_err(|untrusted| UnitError::Untrusted { program: text.clone(), why: untrusted.to_string() })?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_systemd() {
        assert_eq!(quoted("--cpu=2-3"), "--cpu=2-3");
        assert_eq!(quoted("a b%$\"\\"), "\"a b%%$$\\\"\\\\\"");
        assert_eq!(quoted(""), "\"\"");
    }

    #[test]
    fn a_newline_in_a_name_adds_no_line_to_a_unit() {
        let evil = "x\nExecStartPre=/tmp/evil";
        assert!(matches!(ServiceUnit::new().value("Description", evil), Err(UnitError::Control(_))));
        assert!(matches!(ServiceUnit::new().value("Description", "ends in \\"), Err(UnitError::Control(_))));
        assert!(matches!(ServiceUnit::new().command("ExecStart", "/a\n/b", &[]), Err(UnitError::Program(_))));
        assert!(matches!(ServiceUnit::new().command("ExecStart", "/a b", &[]), Err(UnitError::Program(_))));
        let unit =
            ServiceUnit::new().section("Service").command("ExecStart", "/bin/true", &[evil, "a\rb\u{85}"]).unwrap();
        let expected = "[Service]\nExecStart=/bin/true \"x\\x0aExecStartPre=/tmp/evil\" \"a\\x0db\\xc2\\x85\"\n";
        assert_eq!(unit.text(), expected);
    }
}
