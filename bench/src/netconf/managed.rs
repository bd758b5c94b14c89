//! A switch that is set up, of as many ports and gates as are asked for, and sessions that manage it.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ontick_switch::verify::namespace::{Namespace, NamespaceError};

use crate::child::{self, Running, Words};
use crate::side::Job;

/// Setting it up takes no longer.
const BEGINS_WITHIN: Duration = Duration::from_secs(60);
const END: &[u8] = b"]]>]]>";
const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// A switch of the user data plane in namespaces of its own, for as long as this lives.
pub struct Managed {
    here: Namespace,
    _far: Namespace,
    folder: tempfile::TempDir,
    ontick: String,
    _running: Running,
}

impl Managed {
    /// Sets one up. Each port has so many gate entries, of 100 us each.
    pub fn begin(job: &Job, ports: usize, entries: usize) -> Result<Self, String> {
        let (here, far) = cabled(ports).map_err(|e| format!("the switch: {e}"))?;
        let folder = tempfile::tempdir().map_err(|e| format!("no folder for a switch: {e} (set TMPDIR)"))?;
        let file = folder.path().join("bench.toml");
        std::fs::write(&file, configuration(ports, entries)).map_err(|e| format!("{}: {e}", file.display()))?;
        let ontick = job.ontick.display().to_string();
        let words = words(&here, &ontick, folder.path(), &["run", &file.display().to_string(), "--keep-throttling"]);
        let mut running = child::start(&words)?;
        let began = Instant::now();
        while !running.said()?.contains("switch bench works on") {
            if running.has_ended()? || began.elapsed() > BEGINS_WITHIN {
                return Err(format!("ontick switch run did not begin: {}", running.said()?.trim()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self { here, _far: far, folder, ontick, _running: running })
    }

    fn words(&self, more: &[&str]) -> Words {
        words(&self.here, &self.ontick, self.folder.path(), more)
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        // It goes with its namespace in any case; this takes its guardian along.
        let _ = child::run_whether_met(&self.words(&["revert", "bench"]));
    }
}

/// `ontick switch …` where the switch is.
fn words(here: &Namespace, ontick: &str, folder: &Path, more: &[&str]) -> Words {
    let net = format!("--net={}", here.path().display());
    let state = folder.join("state").display().to_string();
    [&["nsenter", &net, ontick, "switch"], more, &["--state", &state]].concat().into_iter().map(String::from).collect()
}

fn cabled(ports: usize) -> Result<(Namespace, Namespace), NamespaceError> {
    let (here, far) = (Namespace::new()?, Namespace::new()?);
    for port in 0..ports {
        here.join(&format!("port{port}"), &far, &format!("far{port}"))?;
    }
    Ok((here, far))
}

fn configuration(ports: usize, entries: usize) -> String {
    let mut text =
        "[switch]\nname = \"bench\"\nplane = \"user\"\n\n[[class]]\nname = \"blue\"\nqueue = 0\n\n[[class]]\n\
                    name = \"red\"\nqueue = 1\nmatch = [{ pcp = 6 }]\n"
            .to_owned();
    let entry = |at: usize| format!("{{ open = [\"{}\"], for = \"100us\" }}", ["blue", "red"][at % 2]);
    let gates = (0..entries).map(entry).collect::<Vec<_>>().join(", ");
    for port in 0..ports {
        let _ =
            write!(text, "\n[[port]]\nname = \"port{port}\"\nrate = \"1Gbit\"\n[port.gates]\nentries = [{gates}]\n");
    }
    text
}

/// A session of base:1.0.
pub struct Session {
    child: Child,
}

impl Session {
    pub fn begin(managed: &Managed) -> Result<Self, String> {
        let words = managed.words(&["netconf"]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        child::end_with_this_process(&mut command);
        let child = command.spawn().map_err(|e| format!("ontick switch netconf: {e}"))?;
        let mut session = Self { child };
        session.exchange(&format!(
            "<hello xmlns='{BASE}'><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability></capabilities></hello>"
        ))?;
        Ok(session)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks for what is done; the whole reply.
    pub fn ask(&mut self, operation: &str) -> Result<String, String> {
        let reply = self.exchange(&format!("<rpc xmlns='{BASE}' message-id='1'>{operation}</rpc>"))?;
        match reply.contains("<rpc-error>") {
            true => Err(format!("ontick switch netconf: {operation}: {reply}")),
            false => Ok(reply),
        }
    }

    fn exchange(&mut self, message: &str) -> Result<String, String> {
        let failed = |e: std::io::Error| format!("ontick switch netconf: {e}");
        let gone = || "ontick switch netconf has ended".to_owned();
        let (Some(input), Some(output)) = (&mut self.child.stdin, &mut self.child.stdout) else { return Err(gone()) };
        input.write_all(&[message.as_bytes(), END].concat()).map_err(failed)?;
        let (mut reply, mut octets) = (Vec::new(), vec![0; 1 << 16]);
        while !reply.ends_with(END) {
            match output.read(&mut octets).map_err(failed)? {
                0 => return Err(gone()),
                count => reply.extend_from_slice(&octets[..count]),
            }
        }
        String::from_utf8(reply).map_err(|e| format!("ontick switch netconf: {e}"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
