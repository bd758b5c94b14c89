//! Arrow IPC, in batches of about a second: files that can be opened at any moment, and streams.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ontick_arrow::{Block, END, Table};

use super::rotation::next_file;
use super::writer::Output;
use crate::Channel;
use crate::arrow::{Rows, table};
use crate::place::Own;

/// Rows are written when they are this old: what a kill may cost.
const FILE_EVERY: Duration = Duration::from_secs(1);
/// Those of a stream: somebody waits for them.
const STREAM_EVERY: Duration = Duration::from_millis(100);
/// Most rows of a batch.
const MOST_ROWS: usize = 1 << 16;
/// A footer names every batch, in 24 bytes. One of so many is written each time; longer ones less often, so that
/// footers take at most some 200 kB/s of the disk.
const BATCHES: usize = 4096;

/// Messages without an end: the stream format.
pub struct Messages<F> {
    table: Table,
    rows: Rows,
    since: Instant,
    write: F,
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Messages<F> {
    /// To whatever takes bytes.
    pub fn new(channels: &[Channel], write: F) -> Self {
        Self { table: table(channels), rows: Rows::new(channels), since: Instant::now(), write }
    }
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Output for Messages<F> {
    const PATIENCE: Duration = STREAM_EVERY;

    fn begin(&mut self, _: &[u8]) -> io::Result<()> {
        (self.write)(self.table.begin_stream())
    }

    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        self.rows.add(records);
        if self.rows.len() >= MOST_ROWS || self.since.elapsed() >= STREAM_EVERY { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.since = Instant::now();
        if self.rows.len() == 0 {
            return Ok(());
        }
        let mut out = Vec::new();
        self.table.batch(self.rows.columns(), 0, &mut out);
        self.rows.clear();
        (self.write)(&out)
    }

    fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        (self.write)(&END)
    }
}

/// A file with a footer: each batch is written over the footer before it, and a new footer behind, in one go. So a
/// killed run leaves a whole file.
pub struct WholeFile {
    own: Arc<Own>,
    file: File,
    table: Table,
    rows: Rows,
    /// Batches in this file, and where they end.
    blocks: Vec<Block>,
    end: u64,
    most: Option<u64>,
    most_rows: usize,
    since: Instant,
    /// When the footer was written last, and whether it is there now.
    footer_at: Instant,
    has_footer: bool,
    written: u64,
}

impl WholeFile {
    /// Begins a file, which becomes `NAME.1`, … when it has this many bytes.
    pub fn new(own: Arc<Own>, file: File, most: Option<u64>, channels: &[Channel]) -> io::Result<Self> {
        let (table, rows) = (table(channels), Rows::new(channels));
        let fit = most.map_or(u64::MAX, |most| most / 2 / rows.row_bytes());
        let (most_rows, now) = (fit.clamp(1, MOST_ROWS as u64) as usize, Instant::now());
        let mut this = Self {
            own,
            file,
            table,
            rows,
            blocks: Vec::new(),
            end: 0,
            most,
            most_rows,
            since: now,
            footer_at: now,
            has_footer: false,
            written: 0,
        };
        this.start()?;
        Ok(this)
    }

    fn start(&mut self) -> io::Result<()> {
        let begin = self.table.begin_file();
        self.file.write_all_at(&begin, 0)?;
        (self.blocks, self.end) = (Vec::new(), begin.len() as u64);
        self.put(Vec::new(), true)
    }

    /// Writes this behind the batches, and what must follow.
    fn put(&mut self, mut out: Vec<u8>, with_footer: bool) -> io::Result<()> {
        match with_footer {
            true => self.table.end_file(&self.blocks, &mut out),
            false => out.extend_from_slice(&END),
        }
        self.file.write_all_at(&out, self.end)?;
        // Of a longer footer nothing may be left.
        self.file.set_len(self.end + out.len() as u64)?;
        self.has_footer = with_footer;
        if with_footer {
            self.footer_at = Instant::now();
        }
        Ok(())
    }

    /// Writes what is held as a batch.
    fn batch(&mut self, with_footer: bool) -> io::Result<()> {
        let mut out = Vec::new();
        let block = self.table.batch(self.rows.columns(), self.end, &mut out);
        let length = out.len() as u64;
        self.blocks.push(block);
        if let Err(error) = self.put(out, with_footer) {
            // A full disk: what was there before still has room.
            self.blocks.pop();
            let _ = self.put(Vec::new(), true);
            return Err(error);
        }
        self.end += length;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }

    fn is_full(&self) -> bool {
        let footer = 24 * (self.blocks.len() as u64 + 1) + self.table.begin_stream().len() as u64;
        let next = self.rows.row_bytes() * self.rows.len() as u64;
        // 1 kB is more than a batch's metadata and a footer's frame take.
        self.most.is_some_and(|most| self.end + next + footer + 1024 > most)
    }
}

impl Output for WholeFile {
    const PATIENCE: Duration = FILE_EVERY;

    fn begin(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        let record = self.rows.record_bytes();
        for records in records.chunks(self.most_rows * record) {
            self.rows.add(records);
            if self.rows.len() >= self.most_rows || self.since.elapsed() >= FILE_EVERY {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.since = Instant::now();
        let rested = self.footer_at.elapsed() >= FILE_EVERY * (self.blocks.len() / BATCHES) as u32;
        if self.rows.len() == 0 {
            return if self.has_footer { Ok(()) } else { self.put(Vec::new(), true) };
        }
        if self.is_full() && !self.blocks.is_empty() {
            if !self.has_footer {
                self.put(Vec::new(), true)?;
            }
            self.file = next_file(self.own.place())?;
            self.start()?;
        }
        self.batch(rested)
    }

    fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        if self.has_footer { Ok(()) } else { self.put(Vec::new(), true) }
    }

    fn written(&self) -> Option<u64> {
        Some(self.written)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::format::{Binary, Encode, Entry, TimedSample};
    use crate::recording::read;

    fn channels() -> [Channel; 1] {
        [Channel { name: "a".into(), unit: "V".into(), scale: 0.5, offset: 0.0 }]
    }

    fn records(numbers: std::ops::Range<u64>) -> Vec<u8> {
        let (binary, mut out) = (Binary::new(&channels()), Vec::new());
        for number in numbers {
            let raw = [number as i64];
            binary.sample(&TimedSample { number, monotonic_ns: 1, tai_ns: 2, latency_ns: 3, raw: &raw }, &mut out);
        }
        out
    }

    fn begun(path: &Path, most: Option<u64>) -> WholeFile {
        let (file, own) = Own::create(path).unwrap();
        WholeFile::new(own.into(), file, most, &channels()).unwrap()
    }

    /// The numbers in a file, which must have its footer.
    fn numbers(path: &Path) -> Vec<u64> {
        let bytes = fs::read(path).unwrap();
        assert_eq!(&bytes[bytes.len() - 6..], b"ARROW1");
        let (mut recording, mut numbers) = (read(&bytes[..]).unwrap(), Vec::new());
        while let Some(entry) = recording.next().unwrap() {
            match entry {
                Entry::Sample(sample) => numbers.push(sample.number),
                Entry::Gap(gap) => panic!("{gap:?}"),
            }
        }
        numbers
    }

    #[test]
    fn a_file_is_whole_after_every_batch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.arrow");
        let mut file = begun(&path, None);
        assert!(numbers(&path).is_empty());
        for batch in 0..5 {
            file.write(&records(10 * batch..10 * (batch + 1))).unwrap();
            file.flush().unwrap();
            assert_eq!(numbers(&path), (0..10 * (batch + 1)).collect::<Vec<_>>());
        }
        // Behind a batch without a footer nothing of the last one is left.
        file.rows.add(&records(50..51));
        file.batch(false).unwrap();
        assert!(fs::read(&path).unwrap().ends_with(&END));
        file.end().unwrap();
        assert_eq!(numbers(&path), (0..51).collect::<Vec<_>>());
    }

    #[test]
    fn full_files_rotate_and_each_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.arrow");
        let most = 20_000;
        let mut file = begun(&path, Some(most));
        file.write(&records(0..1000)).unwrap();
        file.end().unwrap();
        let mut all = Vec::new();
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert!(files > 3);
        for n in 1..files {
            let full = folder.path().join(format!("a.arrow.{n}"));
            assert!(fs::metadata(&full).unwrap().len() <= most);
            all.extend(numbers(&full));
        }
        all.extend(numbers(&path));
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_full_disk_leaves_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.arrow");
        let mut file = begun(&path, None);
        file.write(&records(0..7)).unwrap();
        file.flush().unwrap();
        file.file = File::options().write(true).open("/dev/full").unwrap();
        file.rows.add(&records(7..9));
        assert_eq!(file.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(file.written(), Some(7));
        assert_eq!(numbers(&path), (0..7).collect::<Vec<_>>());
    }

    #[test]
    fn a_stream_is_read_back() {
        let mut bytes = Vec::new();
        let mut messages = Messages::new(&channels(), |part: &[u8]| {
            bytes.extend_from_slice(part);
            Ok(())
        });
        messages.begin(&[]).unwrap();
        messages.write(&records(0..5)).unwrap();
        messages.end().unwrap();
        let mut recording = read(&bytes[..]).unwrap();
        let mut samples = 0;
        while recording.next().unwrap().is_some() {
            samples += 1;
        }
        assert_eq!(samples, 5);
    }
}
