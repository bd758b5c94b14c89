//! Descriptions of switches, networks and schedules in files; what is in them is read by `ontick-tsn`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ontick_rt::clock::ClockId;
use ontick_tsn::config::{self, Errors, Parsed};
use ontick_tsn::egress::{Calibration, CalibrationError};
use ontick_tsn::network::tsnkit::{self, RateUnit};
use ontick_tsn::network::{self, Network, Overhead};
use ontick_tsn::planning::{Document, DocumentError};
use ontick_tsn::validate::{self, Schedule};

const MIB: u64 = 1 << 20;

/// Why nothing came out of a file; one sentence, or one line for each thing that is wrong in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: {cause}", file.display())]
    Unreadable {
        /// Its name.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// It cannot be a description of a switch.
    #[error("{}: {what}", file.display())]
    NotText {
        /// Its name.
        file: PathBuf,
        /// Why.
        what: &'static str,
    },
    /// What it says is wrong.
    #[error("{}", errors.in_file(&file.display().to_string()))]
    Wrong {
        /// Its name.
        file: PathBuf,
        /// What is wrong.
        errors: Errors,
    },
    /// It is no plan.
    #[error("{}: {cause}", file.display())]
    NotPlan {
        /// Its name.
        file: PathBuf,
        /// Why.
        cause: DocumentError,
    },
    /// It is no calibration.
    #[error("{}: {cause}", file.display())]
    NotCalibration {
        /// Its name.
        file: PathBuf,
        /// Why.
        cause: CalibrationError,
    },
}

/// Reads a switch.
pub fn switch(file: &Path) -> Result<Parsed, FileError> {
    let text = read_text(file, MIB, "longer than 1 MiB, so no description of a switch")?;
    config::read_at(&text, ClockId::Realtime.now_ns()).map_err(wrong(file))
}

/// Reads a network.
pub fn network(file: &Path) -> Result<Network, FileError> {
    let text = read_text(file, 64 * MIB, "longer than 64 MiB, so no description of a network")?;
    network::read(&text).map_err(wrong(file))
}

/// Reads a plan that was written before.
pub fn plan(file: &Path) -> Result<Document, FileError> {
    let text = read_text(file, 1024 * MIB, "longer than 1 GiB, so no plan")?;
    Document::read(&text).map_err(|cause| FileError::NotPlan { file: file.into(), cause })
}

/// Reads what was measured of a data plane.
pub fn calibration(file: &Path) -> Result<Calibration, FileError> {
    let text = read_text(file, 64 << 10, "longer than 64 KiB, so no calibration")?;
    Calibration::read(&text).map_err(|cause| FileError::NotCalibration { file: file.into(), cause })
}

/// Reads a network from tsnkit's two tables.
pub fn tsnkit_network(
    task: &Path,
    topo: &Path,
    rates: Option<RateUnit>,
    overhead: Overhead,
) -> Result<Network, FileError> {
    let text = |file: &Path| read_text(file, 64 * MIB, "longer than 64 MiB, so no such table");
    let mut network = tsnkit::links(&text(topo)?, rates).map_err(wrong(topo))?;
    network.overhead = overhead;
    network.streams = tsnkit::streams(&text(task)?, &network).map_err(wrong(task))?;
    Ok(network)
}

/// Reads a schedule from the four of tsnkit's tables that say what happens.
pub fn tsnkit_schedule(prefix: &Path, network: &Network) -> Result<Schedule, FileError> {
    let text = |table| read_text(&tsnkit_table(prefix, table), 256 * MIB, "longer than 256 MiB, so no such table");
    let wrong = |table, errors| FileError::Wrong { file: tsnkit_table(prefix, table), errors };
    validate::tsnkit::read_each(network, text, wrong)
}

/// The file of one of tsnkit's tables: `PREFIX-GCL.csv`.
pub fn tsnkit_table(prefix: &Path, table: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!("-{table}.csv"));
    name.into()
}

/// A file's text, if it is not longer than that.
pub fn read_text(file: &Path, longest: u64, too_long: &'static str) -> Result<String, FileError> {
    let mut bytes = Vec::new();
    let read = |opened: File| {
        // One octet more shows its end.
        bytes.reserve(opened.metadata()?.len().min(longest) as usize + 1);
        opened.take(longest + 1).read_to_end(&mut bytes)
    };
    File::open(file).and_then(read).map_err(|cause| FileError::Unreadable { file: file.into(), cause })?;
    if bytes.len() as u64 > longest {
        return Err(FileError::NotText { file: file.into(), what: too_long });
    }
    String::from_utf8(bytes).map_err(|_| FileError::NotText { file: file.into(), what: "not a text in UTF-8" })
}

fn wrong(file: &Path) -> impl FnOnce(Errors) -> FileError {
    let file = file.to_owned();
    move |errors| FileError::Wrong { file, errors }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tsnkit's smallest network: one switch between two stations, and a stream of one frame.
    const TOPO: &str = "link,q_num,rate,t_proc,t_prop\n\"(1, 0)\",8,1,0,0\n\"(0, 1)\",8,1,0,0\n\
        \"(0, 2)\",8,1,0,0\n\"(2, 0)\",8,1,0,0\n";
    const TASK: &str = "stream,src,dst,size,period,deadline,jitter\n0,1,[2],100,1000000,1000000,0\n";
    const TABLES: [(&str, &str); 4] = [
        ("GCL", "link,queue,start,end,cycle\n\"(1, 0)\",7,0,2000,1000000\n"),
        ("ROUTE", "stream,link\n0,\"(1, 0)\"\n0,\"(0, 2)\"\n"),
        ("OFFSET", "stream,frame,offset\n0,0,0\n"),
        ("QUEUE", "stream,frame,link,queue\n0,0,\"(1, 0)\",7\n"),
    ];

    #[test]
    fn what_is_wrong_names_the_table_s_file() {
        let folder = tempfile::tempdir().unwrap();
        let [task, topo] = ["task.csv", "topo.csv"].map(|name| folder.path().join(name));
        std::fs::write(&task, TASK).unwrap();
        std::fs::write(&topo, TOPO).unwrap();
        let network = tsnkit_network(&task, &topo, None, Overhead::Wire).unwrap();
        let prefix = folder.path().join("cell");
        for (table, text) in TABLES {
            std::fs::write(tsnkit_table(&prefix, table), text).unwrap();
        }
        let schedule = tsnkit_schedule(&prefix, &network).unwrap();
        assert_eq!((schedule.windows.len(), schedule.sends.len(), schedule.routes[0].len()), (1, 1, 2));

        std::fs::write(tsnkit_table(&prefix, "GCL"), TABLES[0].1.replacen("\"(", "\"(9", 1)).unwrap();
        let message = tsnkit_schedule(&prefix, &network).unwrap_err().to_string();
        assert!(message.contains("cell-GCL.csv:2:1: `link`: the network has no link (9"), "{message}");
        std::fs::write(&task, TASK.replace("[2]", "[7]")).unwrap();
        let message = tsnkit_network(&task, &topo, None, Overhead::Wire).unwrap_err().to_string();
        assert!(message.contains("task.csv:2:"), "{message}");
    }

    /// The time of the machine counts here, as a text alone has none.
    #[test]
    fn a_base_time_beyond_reason_is_an_error_in_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = |base| {
            format!(
                "[switch]\nname = \"s\"\n[[class]]\nname = \"red\"\nqueue = 0\n[[port]]\nname = \"a\"\nrate = \"1Gbit\"\n\
                 [[port]]\nname = \"b\"\nrate = \"1Gbit\"\n[port.gates]\nbase-time = {base}\ncycle = \"1ms\"\n\
                 entries = [{{ open = [\"red\"], for = \"1ms\" }}]\n"
            )
        };
        std::fs::write(file.path(), text(9_000_000_000_000_000_000u64)).unwrap();
        let message = switch(file.path()).unwrap_err().to_string();
        assert!(message.contains("more than ten years ahead"), "{message}");
        std::fs::write(file.path(), text(1_700_000_000_000_000_000)).unwrap();
        assert!(switch(file.path()).is_ok());
    }
}
