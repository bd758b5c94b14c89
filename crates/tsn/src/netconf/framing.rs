//! Where a message ends (RFC 6242 section 4).

/// Longer messages are refused, in octets.
pub const LONGEST: usize = 4 << 20;
const END_OF_MESSAGE: &[u8] = b"]]>]]>";

/// How the end of a message is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `]]>]]>` follows: greetings, and all messages of base:1.0.
    EndOfMessage,
    /// A message is a row of chunks that begin with their size: base:1.1.
    Chunked,
}

/// What is no message; the session cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FramingError {
    /// It never ends.
    #[error("a message is longer than {LONGEST} octets")]
    TooLong,
    /// Neither a chunk nor the end of all chunks.
    #[error("no chunk begins where one must (RFC 6242 section 4.2)")]
    NoChunk,
}

/// Takes messages out of a stream of octets.
#[derive(Debug)]
pub struct Decoder {
    framing: Framing,
    buffer: Vec<u8>,
    /// What came of a chunked message.
    message: Vec<u8>,
    /// How far the buffer was looked through for an end.
    searched: usize,
}

impl Decoder {
    /// One for the beginning of a session.
    pub fn new() -> Self {
        Self { framing: Framing::EndOfMessage, buffer: Vec::new(), message: Vec::new(), searched: 0 }
    }

    /// How messages end from here on.
    pub fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
        self.searched = 0;
    }

    /// Takes octets in.
    pub fn push(&mut self, octets: &[u8]) {
        self.buffer.extend_from_slice(octets);
    }

    /// The next message; none as long as its end has not come.
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, FramingError> {
        match self.framing {
            Framing::EndOfMessage => self.until_end(),
            Framing::Chunked => self.chunks(),
        }
    }

    fn until_end(&mut self) -> Result<Option<Vec<u8>>, FramingError> {
        let from = self.searched.saturating_sub(END_OF_MESSAGE.len() - 1);
        let found = self.buffer[from..].windows(END_OF_MESSAGE.len()).position(|octets| octets == END_OF_MESSAGE);
        let Some(at) = found.map(|at| from + at) else {
            self.searched = self.buffer.len();
            return if self.buffer.len() > LONGEST { Err(FramingError::TooLong) } else { Ok(None) };
        };
        if at > LONGEST {
            return Err(FramingError::TooLong);
        }
        let rest = self.buffer.split_off(at + END_OF_MESSAGE.len());
        let mut message = std::mem::replace(&mut self.buffer, rest);
        message.truncate(at);
        self.searched = 0;
        Ok(Some(message))
    }

    fn chunks(&mut self) -> Result<Option<Vec<u8>>, FramingError> {
        let mut at = 0;
        let ended = loop {
            let Some((header, size)) = header(&self.buffer[at..])? else { break false };
            let Some(size) = size else {
                at += header;
                break true;
            };
            if self.message.len() + size > LONGEST {
                return Err(FramingError::TooLong);
            }
            let Some(octets) = self.buffer.get(at + header..at + header + size) else { break false };
            self.message.extend_from_slice(octets);
            at += header + size;
        };
        self.buffer.drain(..at);
        match ended {
            true if self.message.is_empty() => Err(FramingError::NoChunk),
            true => Ok(Some(std::mem::take(&mut self.message))),
            false => Ok(None),
        }
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

/// The length of a chunk's header and the chunk's size, which the end of all chunks lacks; nothing while it is not whole.
fn header(octets: &[u8]) -> Result<Option<(usize, Option<usize>)>, FramingError> {
    // The largest size has ten digits.
    let (begin, most) = (b"\n#", 2 + 10);
    if !octets.iter().zip(begin).all(|(one, other)| one == other) {
        return Err(FramingError::NoChunk);
    }
    if octets.len() <= begin.len() {
        return Ok(None);
    }
    let Some(end) = octets[begin.len()..].iter().take(most).position(|octet| *octet == b'\n') else {
        let digits = octets[begin.len()..].iter().all(|octet| octet.is_ascii_digit() || *octet == b'#');
        return if digits && octets.len() < begin.len() + most { Ok(None) } else { Err(FramingError::NoChunk) };
    };
    let (word, length) = (&octets[begin.len()..begin.len() + end], begin.len() + end + 1);
    match word {
        b"#" => Ok(Some((length, None))),
        [b'1'..=b'9', ..] if word.iter().all(u8::is_ascii_digit) => {
            let size = word.iter().fold(0u64, |size, digit| size * 10 + u64::from(digit - b'0'));
            let size = u32::try_from(size).ok().and_then(|size| usize::try_from(size).ok());
            size.map(|size| Some((length, Some(size)))).ok_or(FramingError::TooLong)
        }
        _ => Err(FramingError::NoChunk),
    }
}

/// A message with its end.
pub fn encode(framing: Framing, message: &str) -> Vec<u8> {
    match framing {
        Framing::EndOfMessage => [message.as_bytes(), END_OF_MESSAGE].concat(),
        Framing::Chunked => format!("\n#{}\n{message}\n##\n", message.len()).into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(framing: Framing, octets: &[u8], step: usize) -> Result<Vec<String>, FramingError> {
        let mut decoder = Decoder::new();
        decoder.set_framing(framing);
        let mut messages = Vec::new();
        for part in octets.chunks(step) {
            decoder.push(part);
            while let Some(message) = decoder.message()? {
                messages.push(String::from_utf8(message).unwrap());
            }
        }
        Ok(messages)
    }

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let plain = b"<a/>]]>]]><b>]]></b>]]>]]><c";
        let chunked = b"\n#4\n<a/>\n##\n\n#1\n<\n#12\n/b>]]>]]>\n##\n##\n\n#7\n<c";
        for step in 1..plain.len() {
            assert_eq!(decoded(Framing::EndOfMessage, plain, step).unwrap(), ["<a/>", "<b>]]></b>"], "{step}");
        }
        for step in 1..chunked.len() {
            assert_eq!(decoded(Framing::Chunked, chunked, step).unwrap(), ["<a/>", "</b>]]>]]>\n##"], "{step}");
        }
        for framing in [Framing::EndOfMessage, Framing::Chunked] {
            let both = [encode(framing, "<a>ü</a>"), encode(framing, "<b/>")].concat();
            assert_eq!(decoded(framing, &both, 3).unwrap(), ["<a>ü</a>", "<b/>"]);
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for wrong in
            ["<a/>", "\n#0\n", "\n#01\na", "\n#-1\n", "\n##\n", "\n#4\n<a/>#", "\n#123456789012", "\n#x", "\n\n#1\n"]
        {
            assert_eq!(decoded(Framing::Chunked, wrong.as_bytes(), 1), Err(FramingError::NoChunk), "{wrong:?}");
        }
        for long in ["\n#4294967296\n", "\n#4194305\n"] {
            assert_eq!(decoded(Framing::Chunked, long.as_bytes(), 1), Err(FramingError::TooLong), "{long:?}");
        }
        assert_eq!(decoded(Framing::EndOfMessage, &vec![b' '; LONGEST + 1], 4096), Err(FramingError::TooLong));
    }
}
