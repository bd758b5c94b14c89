//! Device interrupts: which CPU each is delivered to, and whether it could be sent elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use super::InterruptCounts;
use crate::kernel_text;

/// A numbered interrupt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number, as in `/proc/irq`.
    pub number: u32,
    /// The device, as `/proc/interrupts` calls it.
    pub device: String,
    /// Whether the kernel refuses to move it (it steers it itself, or the controller cannot); `None` where the
    /// kernel does not tell without a write.
    pub fixed: Option<bool>,
    /// The CPUs that it may go to.
    pub affinity: Vec<u32>,
    /// The CPUs that it does go to; empty where the kernel does not say.
    pub effective: Vec<u32>,
    /// How often it was delivered to each CPU since boot.
    pub counts: BTreeMap<u32, u64>,
}

impl Interrupt {
    /// Whether it is known that it cannot be moved.
    pub fn is_fixed(&self) -> bool {
        self.fixed == Some(true)
    }

    /// How often it was delivered to `cpu` since boot, as far as that speaks against the CPU: a queue that serves this
    /// CPU alone is quiet once a timed thread has it to itself, and what each CPU has of its own (timers) is nowhere
    /// less.
    pub fn deliveries(&self, cpu: u32) -> u64 {
        let delivered = self.counts.get(&cpu).copied().unwrap_or(0);
        let own_queue = self.is_fixed() && self.affinity == [cpu] && self.effective == [cpu];
        if own_queue || self.of_each_cpu() { 0 } else { delivered }
    }

    /// An interrupt that goes nowhere in particular and still went to many CPUs: each has one.
    fn of_each_cpu(&self) -> bool {
        let all: u64 = self.counts.values().sum();
        let most = self.counts.values().max().copied().unwrap_or(0);
        self.effective.is_empty() && self.counts.len() > 1 && most < all / 10 * 9
    }
}

/// The interrupts as they were when this was first asked, so that one program does not change its mind half-way.
pub(super) fn at_first_sight() -> &'static [Interrupt] {
    static SEEN: OnceLock<Vec<Interrupt>> = OnceLock::new();
    SEEN.get_or_init(|| {
        let text = kernel_text::read("/proc/interrupts").unwrap_or_default();
        let mut all: Vec<Interrupt> =
            parse(&text).into_iter().map(|row| located(row, Path::new("/proc/irq"))).collect();
        believe(&mut all);
        all
    })
}

/// The numbered rows of `/proc/interrupts`.
fn parse(text: &str) -> Vec<Interrupt> {
    let table = InterruptCounts::parse(text);
    let numbered = table.rows.iter().filter_map(|(label, row)| Some((label.parse().ok()?, row)));
    let mut all: Vec<Interrupt> = numbered
        .map(|(number, row)| Interrupt {
            number,
            device: row.device().unwrap_or("unnamed").to_owned(),
            counts: table.cpus.iter().copied().zip(row.counts.iter().copied()).collect(),
            ..Interrupt::default()
        })
        .collect();
    all.sort_by_key(|interrupt| interrupt.number);
    all
}

/// With what the folder of all interrupts (`/proc/irq`) says. Since Linux 6.11 `smp_affinity` can be written by nobody
/// where a write would be refused.
fn located(interrupt: Interrupt, all: &Path) -> Interrupt {
    let folder = all.join(interrupt.number.to_string());
    let list = |name: &str| super::listed(&folder.join(name));
    let mode = fs::metadata(folder.join("smp_affinity")).ok().map(|file| file.permissions().mode());
    Interrupt {
        fixed: mode.map(|mode| mode & 0o200 == 0),
        affinity: list("smp_affinity_list"),
        effective: list("effective_affinity_list"),
        ..interrupt
    }
}

/// A kernel that shows every interrupt as movable may be too old to tell; then nothing is known.
fn believe(all: &mut [Interrupt]) {
    if !all.iter().any(Interrupt::is_fixed) {
        all.iter_mut().for_each(|interrupt| interrupt.fixed = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU2
 36:          3      89891 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 41:        997          0 PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx
LOC:      68576     106520   Local timer interrupts
ERR:          0
";

    #[test]
    fn numbered_rows_are_read_with_the_cpus_of_their_columns() {
        let all = parse(TEXT);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].number, all[0].device.as_str()), (36, "virtio1-req.0"));
        assert_eq!(all[0].counts, [(0, 3), (2, 89_891)].into());
        assert_eq!(all[0].deliveries(2), 89_891);
        assert!(parse("").is_empty() && parse("nonsense\n1: x\n").is_empty());
    }

    #[test]
    fn where_it_goes_and_whether_it_can_be_moved_is_read_from_its_folder() {
        let all = std::env::temp_dir().join(format!("ontick-interrupts-{}", std::process::id()));
        for (number, mode) in [(36, 0o644), (41, 0o444)] {
            let folder = all.join(number.to_string());
            fs::create_dir_all(&folder).unwrap();
            for (name, text) in
                [("smp_affinity", "f\n"), ("smp_affinity_list", "0-3\n"), ("effective_affinity_list", "2\n")]
            {
                fs::write(folder.join(name), text).unwrap();
            }
            fs::set_permissions(folder.join("smp_affinity"), fs::Permissions::from_mode(mode)).unwrap();
        }
        let [movable, fixed, unknown] =
            [36, 41, 99].map(|number| located(Interrupt { number, ..Interrupt::default() }, &all));
        assert_eq!((movable.fixed, fixed.fixed, unknown.fixed), (Some(false), Some(true), None));
        assert_eq!((movable.affinity, movable.effective), (vec![0, 1, 2, 3], vec![2]));
        fs::remove_dir_all(all).unwrap();
    }

    #[test]
    fn the_machines_own_interrupts_are_known() {
        let shown = parse(&fs::read_to_string("/proc/interrupts").unwrap_or_default());
        let Some(first) = shown.first() else { return ontick_skip::skipped!("no numbered interrupt") };
        let known = at_first_sight().iter().find(|interrupt| interrupt.number == first.number).unwrap();
        assert_eq!((&known.device, known.counts.len()), (&first.device, first.counts.len()));
    }

    #[test]
    fn a_timer_that_each_cpu_has_speaks_against_none() {
        let of_each = |counts: [u64; 2], effective: &[u32]| Interrupt {
            fixed: Some(true),
            effective: effective.into(),
            counts: [(0, counts[0]), (1, counts[1])].into(),
            ..Interrupt::default()
        };
        assert_eq!(of_each([40_000, 90_000], &[]).deliveries(1), 0);
        // As a Raspberry Pi's USB controller, which its interrupt controller sends to CPU 0 alone.
        assert_eq!(of_each([9_000_000, 0], &[]).deliveries(0), 9_000_000);
        assert_eq!(of_each([40_000, 90_000], &[1]).deliveries(1), 90_000);
    }

    #[test]
    fn a_kernel_that_tells_nothing_is_not_believed() {
        let movable = Interrupt { fixed: Some(false), ..Interrupt::default() };
        let mut old = vec![movable.clone(), movable.clone()];
        believe(&mut old);
        assert!(old.iter().all(|i| i.fixed.is_none()));
        let mut new = vec![movable.clone(), Interrupt { fixed: Some(true), ..movable }];
        believe(&mut new);
        assert_eq!(new[0].fixed, Some(false));
    }
}
