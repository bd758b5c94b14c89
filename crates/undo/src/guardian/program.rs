//! A program that guards another one.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

/// What the guarded process says when nothing is left to do.
const SETTLED: &str = ".";

/// A guardian, as the process has it that is guarded. From its start on, the end of this process has the guardian act.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    pub(super) replies: ChildStdout,
    pub(super) last_sign: Instant,
}

impl Guardian {
    /// Starts the program, which must call [`wait`] or [`watch`](super::watch); returns once it is in a session of its own, where neither Ctrl-C
    /// nor the end of a terminal reaches it.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut word = [0];
        let mut replies = child.stdout.take().expect("it is piped");
        if let Err(error) = replies.read_exact(&mut word) {
            // It ended, or will now that its pipe does.
            child.stdin.take();
            let _ = child.wait();
            return Err(error);
        }
        Ok(Self { child, replies, last_sign: Instant::now() })
    }

    /// Nothing is left to guard: it ends without acting.
    pub fn settle(mut self) {
        self.say(SETTLED);
        self.child.stdin.take();
        let _ = self.child.wait();
    }

    /// Has it act now, as if this process had been killed; whether it said that all is done, by status 0.
    pub fn act(mut self) -> bool {
        self.child.stdin.take();
        self.child.wait().is_ok_and(|status| status.success())
    }

    /// Leaves it alone with a word of its own, which it acts upon whether this process goes on or not.
    pub fn leave(mut self, word: &str) {
        self.say(word);
    }

    /// A guardian that was killed hears nothing.
    pub(super) fn say(&mut self, words: &str) {
        if let Some(pipe) = &mut self.child.stdin {
            let _ = pipe.write_all(words.as_bytes());
        }
    }
}

/// What a guardian was left with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Nothing: what was guarded is settled.
    Settled,
    /// Everything: the process ended without a word.
    Killed,
    /// This, by [`Guardian::leave`].
    Left(String),
}

impl Word {
    /// The last that was said before the pipe ended.
    pub(super) fn ended(said: &[u8]) -> Self {
        match said {
            _ if said == SETTLED.as_bytes() => Self::Settled,
            [] => Self::Killed,
            _ => Self::Left(String::from_utf8_lossy(said).into_owned()),
        }
    }
}

/// What the guardian's program does first: waits on its standard input for the process that it guards to end, or to speak.
pub fn wait() -> Word {
    begin();
    let mut said = Vec::new();
    let _ = io::stdin().read_to_end(&mut said);
    Word::ended(&said)
}

/// Lets the guarded process go on.
pub(super) fn begin() {
    // The end of a terminal or of an SSH connection is the guarded process's alone.
    let _ = rustix::process::setsid();
    let _ = io::stdout().write_all(b".").and_then(|()| io::stdout().flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guardian in shell, which writes what it was left with into a file.
    fn shell(file: &std::path::Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "printf .; cat > \"$0.part\"; mv \"$0.part\" \"$0\""]).arg(file);
        command
    }

    fn left(file: &std::path::Path) -> String {
        loop {
            match std::fs::read_to_string(file) {
                Ok(text) => return text,
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn a_guardian_is_left_with_a_word_or_with_none() {
        let folder = tempfile::tempdir().unwrap();
        let [settled, word, none] = ["settled", "word", "none"].map(|name| folder.path().join(name));
        Guardian::start(&mut shell(&settled)).unwrap().settle();
        assert_eq!(left(&settled), SETTLED);
        Guardian::start(&mut shell(&word)).unwrap().leave("42");
        assert_eq!(left(&word), "42");
        drop(Guardian::start(&mut shell(&none)).unwrap());
        assert_eq!(left(&none), "");
    }

    #[test]
    fn a_guardian_that_acts_now_says_how_it_went() {
        let folder = tempfile::tempdir().unwrap();
        let act = |name: &str, script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(folder.path().join(name));
            Guardian::start(&mut command).unwrap().act()
        };
        assert!(act("done", "printf .; cat > \"$0\""));
        assert_eq!(std::fs::read(folder.path().join("done")).unwrap(), b"", "it heard the end, and no word");
        assert!(!act("failed", "printf .; cat > \"$0\"; exit 1"));
        assert!(!act("killed", "printf .; cat > \"$0\"; kill -KILL $$"));
    }

    #[test]
    fn a_program_that_does_not_wait_is_no_guardian() {
        assert!(Guardian::start(&mut Command::new("true")).is_err());
        assert!(Guardian::start(&mut Command::new("/no/such/program")).is_err());
    }
}
