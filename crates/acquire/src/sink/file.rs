//! Files, also ones that are begun anew when they are full, and standard output.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::Clients;
#[cfg(feature = "arrow")]
use super::arrow;
use super::rotation::next_file;
use super::writer::{self, Output, Plain};
use crate::Error;
use crate::format::Format;
use crate::hub::Stream;
use crate::place::Own;

/// Writes to standard output.
pub fn stdout(format: Format, stream: Arc<Stream>, clients: &Clients) -> Result<JoinHandle<()>, Error> {
    let write = |bytes: &[u8]| {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    };
    match format {
        #[cfg(feature = "arrow")]
        Format::Arrow => start(arrow::Messages::new(&stream.channels, write), stream, clients, "stdout".into()),
        _ => start(Plain(write), stream, clients, "stdout".into()),
    }
}

/// Writes to a file, which comes back beside the thread. One that is there already is not overwritten.
pub fn file(
    path: &Path,
    rotate: Option<u64>,
    format: Format,
    stream: Arc<Stream>,
    clients: &Clients,
) -> Result<(JoinHandle<()>, Arc<Own>), Error> {
    let (name, system) =
        (path.display().to_string(), |error| Error::System { what: format!("file {}", path.display()), error });
    let (file, own) = Own::create(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::FileExists { path: path.into() },
        _ => system(error),
    })?;
    let own = Arc::new(own);
    let thread = match format {
        #[cfg(feature = "arrow")]
        Format::Arrow => {
            let output = arrow::WholeFile::new(own.clone(), file, rotate, &stream.channels).map_err(system)?;
            start(output, stream, clients, name)
        }
        _ => {
            let begin = stream.begin.clone();
            let mut rotating = Rotating { own: own.clone(), file, written: 0, most: rotate, begin };
            start(Plain(move |bytes: &[u8]| rotating.write(bytes)), stream, clients, name)
        }
    }?;
    Ok((thread, own))
}

fn start<O: Output + Send + 'static>(
    mut output: O,
    stream: Arc<Stream>,
    clients: &Clients,
    name: String,
) -> Result<JoinHandle<()>, Error> {
    let place = stream.backlog.now();
    let client = clients.join_essential(name.clone(), place);
    let run = move || {
        let fed = writer::feed(&stream, place, &client, &mut output);
        // A reader that went away (`| head`) has what it wanted.
        let problem = fed.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        client.leave(problem.map(|error| error.to_string()));
    };
    let thread = std::thread::Builder::new().name("ontick-file".into()).spawn(run);
    thread.map_err(|error| Error::System { what: name, error })
}

/// A file that becomes `NAME.1`, `NAME.2`, … when it is full.
struct Rotating {
    own: Arc<Own>,
    file: File,
    written: u64,
    most: Option<u64>,
    begin: Arc<[u8]>,
}

impl Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let is_full = self.most.is_some_and(|most| self.written + bytes.len() as u64 > most);
        if is_full && self.written > self.begin.len() as u64 {
            self.file = next_file(self.own.place())?;
            self.file.write_all(&self.begin)?;
            self.written = self.begin.len() as u64;
        }
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}
