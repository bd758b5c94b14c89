//! A text that is read in pieces: words and lines of it, in bounded memory.

use std::io::{self, Read};

use super::CaptureError;

/// What is held of a file at a time: no word or line may be longer.
const SIZE: usize = 1 << 18;

/// A text, of which some bytes are held.
pub(super) struct Window<R> {
    input: R,
    held: Vec<u8>,
    from: usize,
    to: usize,
    ended: bool,
    /// The line that is read next, from 1.
    line: u64,
    /// Lines that ended within the word before.
    passed: u64,
}

impl<R: Read> Window<R> {
    pub fn new(input: R) -> Self {
        Self { input, held: vec![0; SIZE], from: 0, to: 0, ended: false, line: 1, passed: 0 }
    }

    /// The line of what was read last.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Reads more, if there is more.
    fn fill(&mut self) -> Result<bool, CaptureError> {
        if self.ended {
            return Ok(false);
        }
        self.held.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.to == self.held.len() {
            return Err(CaptureError::line(self.line, "is longer than any of such a file"));
        }
        let read = loop {
            match self.input.read(&mut self.held[self.to..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.to += read;
        self.ended = read == 0;
        Ok(read > 0)
    }

    /// The next word: bytes without white space. Nothing at the end.
    #[inline]
    pub fn word(&mut self) -> Result<Option<&[u8]>, CaptureError> {
        loop {
            while self.from < self.to && self.held[self.from].is_ascii_whitespace() {
                self.line += u64::from(self.held[self.from] == b'\n');
                self.from += 1;
            }
            if self.from < self.to {
                break;
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
        let mut length = 0;
        loop {
            let held = &self.held[self.from + length..self.to];
            match held.iter().position(u8::is_ascii_whitespace) {
                Some(more) => {
                    length += more;
                    break;
                }
                None => length = self.to - self.from,
            }
            if !self.fill()? {
                break;
            }
        }
        let from = self.from;
        self.from += length;
        Ok(Some(&self.held[from..from + length]))
    }

    /// The next line, without its end. Nothing at the end of the text.
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, CaptureError> {
        self.line += std::mem::take(&mut self.passed);
        let mut length = 0;
        let ended = loop {
            let held = &self.held[self.from + length..self.to];
            match held.iter().position(|byte| *byte == b'\n') {
                Some(more) => {
                    length += more;
                    break true;
                }
                None => length = self.to - self.from,
            }
            if !self.fill()? {
                break false;
            }
        };
        if !ended && length == 0 {
            return Ok(None);
        }
        self.passed = 1;
        let from = self.from;
        self.from += length + usize::from(ended);
        let line = &self.held[from..from + length];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a few bytes at a time.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(buffer.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn words_and_lines_are_whole_however_the_text_comes() {
        let text = b"$var wire\n\n1 ! D0\r\n$end";
        for piece in 1..10 {
            let mut window = Window::new(Slowly(text, piece));
            let mut words = Vec::new();
            while let Some(word) = window.word().unwrap().map(|word| String::from_utf8(word.to_vec()).unwrap()) {
                words.push((word, window.line()));
            }
            let expected = [("$var", 1), ("wire", 1), ("1", 3), ("!", 3), ("D0", 3), ("$end", 4)];
            assert_eq!(words, expected.map(|(word, line)| (word.to_owned(), line)), "{piece}");

            let mut window = Window::new(Slowly(text, piece));
            let mut lines = Vec::new();
            while let Some(line) = window.next_line().unwrap().map(|line| String::from_utf8(line.to_vec()).unwrap()) {
                lines.push((line, window.line()));
            }
            let expected = [("$var wire", 1), ("", 2), ("1 ! D0", 3), ("$end", 4)];
            assert_eq!(lines, expected.map(|(line, number)| (line.to_owned(), number)), "{piece}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused_and_takes_no_memory() {
        let endless = || Window::new(io::repeat(b'a'));
        assert!(endless().word().unwrap_err().to_string().starts_with("line 1: is longer than any"));
        assert!(endless().next_line().is_err());
    }
}
