//! A file of rows that only grows. What was written is safe; a row that was cut off is left out, one that was damaged is
//! skipped and counted.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::row::{LENGTH, Row};

/// The first bytes of such a file; as long as a row, so that rows are where they can be counted.
const HEAD: [u8; LENGTH] = *b"ontick-rows/1 40 bytes each, crc32 last\n";
/// How a file of any version begins.
const NAME: &[u8] = b"ontick-rows/";
/// Rows that are read at a time.
const AT_A_TIME: usize = 4096;

/// A file of rows.
#[derive(Debug)]
pub struct Rows {
    path: PathBuf,
    file: File,
    /// Bytes that are safe: the head and whole rows.
    length: u64,
    /// The head was damaged, and is written anew.
    lost_head: bool,
}

/// Why a file of rows cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowsError {
    /// The system refused.
    #[error("{}: {error}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// It is something else, or of a later version.
    #[error("{}: is no file of rows of this version (move it away, and a new one is begun)", .0.display())]
    Foreign(PathBuf),
}

impl Rows {
    /// Opens a file, or begins one. Bytes of a row that was cut off are cut away, and a damaged head is written anew.
    pub fn open(path: &Path) -> Result<Self, RowsError> {
        let system = |error| RowsError::System { path: path.into(), error };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(path);
        let mut file = file.map_err(system)?;
        let there = file.metadata().map_err(system)?.len();
        let mut head = vec![0; LENGTH.min(usize::try_from(there).unwrap_or(LENGTH))];
        file.read_exact_at(&mut head, 0).map_err(system)?;
        let lost_head = !HEAD.starts_with(&head);
        if lost_head && !is_damaged(&head, &file).map_err(system)? {
            return Err(RowsError::Foreign(path.into()));
        }
        if lost_head || there < LENGTH as u64 {
            file.write_all_at(&HEAD, 0).map_err(system)?;
        }
        let length = (there - there % LENGTH as u64).max(LENGTH as u64);
        file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length))).map_err(system)?;
        Ok(Self { path: path.into(), file, length, lost_head })
    }

    /// Appends rows, as one write. They outlast the end of this process; a power cut, after [`sync`](Self::sync). Where
    /// that fails, on a full disk, say, the file is as before.
    pub fn append(&mut self, rows: &[Row]) -> Result<(), RowsError> {
        let bytes: Vec<u8> = rows.iter().flat_map(Row::bytes).collect();
        let written = self.file.write_all_at(&bytes, self.length);
        match written {
            Ok(()) => self.length += bytes.len() as u64,
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written.map_err(|error| self.system(error))
    }

    /// What was appended outlasts a power cut.
    pub fn sync(&self) -> Result<(), RowsError> {
        self.file.sync_data().map_err(|error| self.system(error))
    }

    /// Hands every sound row that is at `from` or later, and before `to`, to `take`, in the order of the file; how many
    /// were damaged, the head among them.
    pub fn each(&self, from: u32, to: u32, mut take: impl FnMut(Row)) -> Result<u64, RowsError> {
        let mut buffer = vec![0; AT_A_TIME * LENGTH];
        let mut damaged = u64::from(self.lost_head);
        let mut place = LENGTH as u64;
        while place < self.length {
            let more = (self.length - place).min(buffer.len() as u64) as usize;
            self.file.read_exact_at(&mut buffer[..more], place).map_err(|error| self.system(error))?;
            for bytes in buffer[..more].chunks_exact(LENGTH) {
                match Row::read(bytes.try_into().expect("the length of a row")) {
                    Some(row) if (from..to).contains(&row.at) => take(row),
                    Some(_) => {}
                    None => damaged += 1,
                }
            }
            place += more as u64;
        }
        Ok(damaged)
    }

    /// How many rows there are.
    pub fn count(&self) -> u64 {
        self.length / LENGTH as u64 - 1
    }

    /// Leaves the rows that `keep` takes; the file is replaced at once, or stays as it was.
    pub fn retain(&mut self, mut keep: impl FnMut(&Row) -> bool) -> Result<(), RowsError> {
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let new = PathBuf::from(new);
        let written = self.write_retained(&new, &mut keep);
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        // From here on the file at the path is the new one, whatever fails yet.
        (self.file, self.length) = written?;
        self.lost_head = false;
        // The folder's entry is what a power cut could lose.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let synced = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        synced.map_err(|error| self.system(error))
    }

    /// Puts a file with the rows that are left in the place of this one; that file, and how long it is.
    fn write_retained(&self, new: &Path, keep: &mut impl FnMut(&Row) -> bool) -> Result<(File, u64), RowsError> {
        let system = |error| RowsError::System { path: new.into(), error };
        let _ = std::fs::remove_file(new);
        let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o644).open(new).map_err(system)?;
        let mut out = BufWriter::new(made);
        out.write_all(&HEAD).map_err(system)?;
        let (mut failure, mut length) = (None, LENGTH as u64);
        self.each(0, u32::MAX, |row| {
            if failure.is_none() && keep(&row) {
                failure = out.write_all(&row.bytes()).err();
                length += LENGTH as u64;
            }
        })?;
        failure.map_or(Ok(()), Err).map_err(system)?;
        let file = out.into_inner().map_err(|error| system(error.into_error()))?;
        file.sync_all().and_then(|()| std::fs::rename(new, &self.path)).map_err(system)?;
        Ok((file, length))
    }

    fn system(&self, error: io::Error) -> RowsError {
        RowsError::System { path: self.path.clone(), error }
    }
}

/// Whether a head that is none is a damaged one: nothing was written to the disk but the length, sound rows are behind it, or
/// nothing is, and most of it is as it should be. One of another version is not.
fn is_damaged(head: &[u8], file: &File) -> io::Result<bool> {
    if head.iter().all(|byte| *byte == 0) {
        return Ok(true);
    }
    let version = head.strip_prefix(NAME).and_then(<[u8]>::first);
    if version.is_some_and(|version| version.is_ascii_digit() && *version != HEAD[NAME.len()]) {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.take((AT_A_TIME * LENGTH) as u64).read_to_end(&mut bytes)?;
    let mut rows = bytes.chunks_exact(LENGTH).skip(1).peekable();
    if rows.peek().is_none() {
        let alike = head.iter().zip(HEAD).filter(|(byte, whole)| **byte == *whole).count();
        return Ok(2 * alike > LENGTH);
    }
    Ok(rows.any(|row| Row::read(row.try_into().expect("the length of a row")).is_some()))
}

/// Whether a file begins as one of rows does.
pub fn begins_one(mut file: impl Read) -> bool {
    let mut head = [0; LENGTH];
    file.read_exact(&mut head).is_ok() && head == HEAD
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::series::SeriesId;

    fn rows(range: std::ops::Range<u32>) -> Vec<Row> {
        range
            .map(|at| Row {
                at,
                series: SeriesId::Cpu((at % 2) as u16),
                samples: 200,
                max_ns: at.into(),
                ..Row::default()
            })
            .collect()
    }

    fn all(file: &Rows) -> (Vec<Row>, u64) {
        let mut found = Vec::new();
        let damaged = file.each(0, u32::MAX, |row| found.push(row)).unwrap();
        (found, damaged)
    }

    #[test]
    fn rows_are_there_after_a_restart_and_a_stretch_of_them_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rows");
        let mut file = Rows::open(&path).unwrap();
        file.append(&rows(0..5_000)).unwrap();
        file.append(&rows(5_000..9_000)).unwrap();
        let file = Rows::open(&path).unwrap();
        assert_eq!((all(&file), file.count()), ((rows(0..9_000), 0), 9_000));
        let mut some = Vec::new();
        file.each(4_000, 6_000, |row| some.push(row)).unwrap();
        assert_eq!(some, rows(4_000..6_000));
    }

    #[test]
    fn a_file_cut_anywhere_has_all_rows_before_the_cut_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rows");
        Rows::open(&path).unwrap().append(&rows(0..3)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut file = Rows::open(&path).unwrap();
            let safe = (cut / LENGTH).saturating_sub(1) as u32;
            assert_eq!(all(&file), (rows(0..safe), 0), "cut at {cut}");
            file.append(&rows(7..8)).unwrap();
            assert_eq!(all(&Rows::open(&path).unwrap()).0.len() as u32, safe + 1);
        }
    }

    #[test]
    fn damaged_rows_are_skipped_and_counted_and_other_files_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rows");
        Rows::open(&path).unwrap().append(&rows(0..3)).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[LENGTH + LENGTH + 9] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(all(&Rows::open(&path).unwrap()), (vec![rows(0..1)[0], rows(2..3)[0]], 1));
        let other = folder.path().join("b");
        std::fs::write(&other, "something else").unwrap();
        assert!(Rows::open(&other).unwrap_err().to_string().contains("no file of rows"));
        assert_eq!(std::fs::read(&other).unwrap(), b"something else");
    }

    #[test]
    fn a_file_whose_head_a_power_cut_took_has_its_rows_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rows");
        Rows::open(&path).unwrap().append(&rows(0..3)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for place in 0..LENGTH {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x40;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(all(&Rows::open(&path).unwrap()), (rows(0..3), 1), "at {place}");
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        let mut bytes = whole[..LENGTH].to_vec();
        bytes[3] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(all(&Rows::open(&path).unwrap()), (vec![], 1), "a head alone");
        for zeros in [3, LENGTH, 3 * LENGTH] {
            std::fs::write(&path, vec![0; zeros]).unwrap();
            let mut file = Rows::open(&path).unwrap();
            file.append(&rows(5..6)).unwrap();
            assert_eq!(all(&Rows::open(&path).unwrap()).0, rows(5..6), "{zeros} zeros");
        }
        let mut later = whole.clone();
        later[NAME.len()] = b'2';
        std::fs::write(&path, &later).unwrap();
        assert!(Rows::open(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), later);
    }

    #[test]
    fn what_is_not_retained_goes_and_the_file_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rows");
        let mut file = Rows::open(&path).unwrap();
        file.append(&rows(0..100)).unwrap();
        file.retain(|row| row.at >= 60).unwrap();
        file.append(&rows(100..101)).unwrap();
        assert_eq!(all(&file), (rows(60..101), 0));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(begins_one(File::open(&path).unwrap()) && !begins_one(&b"x"[..]));
    }
    /// Root may read every folder; for others the last step fails.
    #[test]
    fn what_is_appended_after_a_replacement_that_failed_at_its_end_is_in_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rows");
        let mut file = Rows::open(&path).unwrap();
        file.append(&rows(0..100)).unwrap();
        let mode = |mode| std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        mode(0o300);
        let replaced = file.retain(|row| row.at >= 60);
        assert_eq!(replaced.is_err(), File::open(folder.path()).is_err());
        mode(0o700);
        file.append(&rows(100..101)).unwrap();
        assert_eq!(all(&Rows::open(&path).unwrap()), (rows(60..101), 0));
    }
}
