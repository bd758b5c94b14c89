//! A folder that stands for a BeagleBone, and a thread that stands for its kernel's remoteproc.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use ontick_measure::pru::layout::SHARED_BYTES;
use ontick_measure::pru::{Host, Pin};

/// What a PRU is started with, and until when it runs.
pub type Player = fn(root: &Path, pru: u32, firmware: &str, alive: &AtomicBool);

pub const FORMER: &str = "am335x-pru0-fw";
/// Enough of an ELF file for a PRU.
const ELF: &[u8] = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x90\0";

pub struct Machine {
    folder: tempfile::TempDir,
    over: Arc<AtomicBool>,
    kernel: Option<JoinHandle<()>>,
}

impl Machine {
    /// A BeagleBone whose PRUs rest, and whose pins are theirs.
    pub fn new(player: Player) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |path: &str, text: &[u8]| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/device-tree/compatible", b"ti,am335x-bone-black\0ti,am335x-bone\0ti,am33xx\0");
        write("proc/device-tree/model", b"TI AM335x BeagleBone Black\0");
        for (i, name) in ["wkup_m3", "4a334000.pru", "4a338000.pru"].iter().enumerate() {
            write(&format!("sys/class/remoteproc/remoteproc{i}/name"), format!("{name}\n").as_bytes());
            write(&format!("sys/class/remoteproc/remoteproc{i}/state"), b"offline\n");
            write(&format!("sys/class/remoteproc/remoteproc{i}/firmware"), format!("{FORMER}\n").as_bytes());
        }
        let pins = "registered pins: 142\npin 97 (PIN97) 44e10984 00000026 pinctrl-single \n\
                    pin 99 (PIN99) 0:? 44e10990 00000005 pinctrl-single \npin 100 (PIN100) 44e10994 00000026 pinctrl-single \n\
                    pin 101 (PIN101) 44e10998 00000027 pinctrl-single \npin 102 (PIN102) 44e1099c 00000006 pinctrl-single \n\
                    pin 103 (PIN103) 44e108a0 00000005 pinctrl-single \n";
        write("sys/kernel/debug/pinctrl/44e10800.pinmux-pinctrl-single/pins", pins.as_bytes());
        write("dev/mem", &[0x5a; SHARED_BYTES]);
        write(&format!("lib/firmware/{FORMER}"), ELF);
        for kind in ["pulse", "response"] {
            for pru in 0..2 {
                write(&format!("built/ontick-{kind}-pru{pru}.elf"), ELF);
            }
        }
        let over = Arc::new(AtomicBool::new(false));
        let kernel = std::thread::spawn({
            let (root, over) = (root.to_owned(), over.clone());
            move || serve(&root, player, &over)
        });
        Self { folder, over, kernel: Some(kernel) }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn host(&self) -> Host {
        Host { root: self.folder.path().into(), firmware: Some(self.path("built")) }
    }

    fn remote(&self, pru: u32, file: &str) -> PathBuf {
        self.path(&format!("sys/class/remoteproc/remoteproc{}/{file}", pru + 1))
    }

    pub fn state(&self, pru: u32) -> String {
        fs::read_to_string(self.remote(pru, "state")).unwrap().trim().into()
    }

    pub fn set(&self, pru: u32, file: &str, value: &str) {
        fs::write(self.remote(pru, file), value).unwrap();
    }

    /// Waits until a PRU is in this state: the kernel's thread may be a moment behind.
    pub fn comes_to(&self, pru: u32, wanted: &str) {
        let began = Instant::now();
        while self.state(pru) != wanted {
            assert!(began.elapsed() < Duration::from_secs(20), "PRU {pru} stays {}", self.state(pru));
            sleep(Duration::from_millis(1));
        }
    }

    pub fn firmware(&self, pru: u32) -> String {
        fs::read_to_string(self.remote(pru, "firmware")).unwrap().trim().into()
    }

    /// Files among the kernel's firmware.
    pub fn installed(&self) -> Vec<String> {
        let all = fs::read_dir(self.path("lib/firmware")).unwrap();
        let mut names: Vec<String> = all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        let _ = self.kernel.take().unwrap().join();
    }
}

pub fn pin(name: &str) -> Pin {
    name.parse().unwrap()
}

/// A PRU that runs.
struct Core {
    alive: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Core {
    fn halt(self) {
        self.alive.store(false, Relaxed);
        self.thread.join().unwrap();
    }
}

/// Does what is written into the `state` files, as the kernel would.
fn serve(root: &Path, player: Player, over: &AtomicBool) {
    let mut cores: [Option<Core>; 2] = [None, None];
    while !over.load(Relaxed) {
        for (pru, core) in cores.iter_mut().enumerate() {
            let folder = root.join(format!("sys/class/remoteproc/remoteproc{}", pru + 1));
            let command = fs::read_to_string(folder.join("state")).unwrap();
            match command.trim() {
                "start" => {
                    core.take().into_iter().for_each(Core::halt);
                    let firmware = fs::read_to_string(folder.join("firmware")).unwrap().trim().to_owned();
                    let there = root.join("lib/firmware").join(&firmware).exists();
                    if there {
                        let alive = Arc::new(AtomicBool::new(true));
                        let (root, runs) = (root.to_owned(), alive.clone());
                        let thread = std::thread::spawn(move || player(&root, pru as u32, &firmware, &runs));
                        *core = Some(Core { alive, thread });
                    }
                    fs::write(folder.join("state"), if there { "running\n" } else { "offline\n" }).unwrap();
                }
                "stop" => {
                    core.take().into_iter().for_each(Core::halt);
                    fs::write(folder.join("state"), "offline\n").unwrap();
                }
                _ => {}
            }
        }
        sleep(Duration::from_millis(1));
    }
    cores.into_iter().flatten().for_each(Core::halt);
}
