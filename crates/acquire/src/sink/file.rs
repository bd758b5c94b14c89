//! Files, also ones that are begun anew when they are full, and standard output.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::{Clients, writer};
use crate::Error;
use crate::hub::Stream;

/// Writes to standard output.
pub fn stdout(stream: Arc<Stream>, clients: &Clients) -> Result<JoinHandle<()>, Error> {
    start(stream, clients, "stdout".into(), |bytes| {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    })
}

/// Writes to a file. One that is there already is not overwritten.
pub fn file(path: &Path, rotate: Option<u64>, stream: Arc<Stream>, clients: &Clients) -> Result<JoinHandle<()>, Error> {
    let system = |error| Error::System { what: format!("file {}", path.display()), error };
    let file = File::create_new(path).map_err(system)?;
    let mut rotating = Rotating { path: path.into(), file, written: 0, most: rotate, begin: stream.begin.clone() };
    start(stream, clients, path.display().to_string(), move |bytes| rotating.write(bytes))
}

fn start(
    stream: Arc<Stream>,
    clients: &Clients,
    name: String,
    write: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let place = stream.backlog.now();
    let client = clients.join_essential(name.clone(), place);
    let run = move || {
        let fed = writer::feed(&stream, place, &client, write);
        // A reader that went away (`| head`) has what it wanted.
        let problem = fed.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        client.leave(problem.map(|error| error.to_string()));
    };
    let thread = std::thread::Builder::new().name("ontick-file".into()).spawn(run);
    thread.map_err(|error| Error::System { what: name, error })
}

/// A file that becomes `NAME.1`, `NAME.2`, … when it is full.
struct Rotating {
    path: PathBuf,
    file: File,
    written: u64,
    most: Option<u64>,
    begin: Arc<[u8]>,
}

impl Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let is_full = self.most.is_some_and(|most| self.written + bytes.len() as u64 > most);
        if is_full && self.written > self.begin.len() as u64 {
            self.rotate()?;
        }
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let numbered = |n: u32| {
            let mut name = OsString::from(&self.path);
            name.push(format!(".{n}"));
            PathBuf::from(name)
        };
        // A link refuses to replace what is there, where a rename would not.
        let mut n = 1;
        while let Err(error) = fs::hard_link(&self.path, numbered(n)) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            n += 1;
        }
        fs::remove_file(&self.path)?;
        self.file = File::create_new(&self.path)?;
        self.file.write_all(&self.begin)?;
        self.written = self.begin.len() as u64;
        Ok(())
    }
}
