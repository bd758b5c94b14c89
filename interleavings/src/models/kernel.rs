//! Memory that the kernel shares: here the other side is a thread that does what the kernel promises.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use loom::cell::UnsafeCell;
use loom::thread;

use crate::sources::bpf::records as bpf;
use crate::sources::measure::taking as perf;
use crate::sources::switch::ring::{Incoming, Outgoing};
use crate::sources::switch::turn;

/// A place in shared memory, in which loom sees every access.
#[derive(Debug, Default)]
struct Cell<D>(UnsafeCell<D>);

// SAFETY: loom ends the model where two threads access it at once.
unsafe impl<D: Send> Sync for Cell<D> {}

impl<D: Copy> Cell<D> {
    fn write(&self, value: D) {
        // SAFETY: loom has made sure that no other thread accesses it.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self) -> D {
        // SAFETY: as above.
        self.0.with(|cell| unsafe { *cell })
    }
}

/// In place of the module beside the rings of a socket.
pub mod descriptors {
    use super::{Arc, AtomicU32, Cell};

    #[derive(Debug, Clone)]
    pub struct Descriptors<D>(Arc<Shared<D>>);

    #[derive(Debug)]
    struct Shared<D> {
        producer: AtomicU32,
        consumer: AtomicU32,
        cells: [Cell<D>; 2],
    }

    impl<D: Copy + Default> Descriptors<D> {
        pub fn new() -> Self {
            let (producer, consumer) = (AtomicU32::new(0), AtomicU32::new(0));
            Self(Arc::new(Shared { producer, consumer, cells: Default::default() }))
        }
    }

    impl<D: Copy> Descriptors<D> {
        pub fn producer(&self) -> &AtomicU32 {
            &self.0.producer
        }

        pub fn consumer(&self) -> &AtomicU32 {
            &self.0.consumer
        }

        pub fn size(&self) -> u32 {
            self.0.cells.len() as u32
        }

        pub fn write(&mut self, number: u32, descriptor: D) {
            self.0.cells[number as usize % self.0.cells.len()].write(descriptor);
        }

        pub fn read(&self, number: u32) -> D {
            self.0.cells[number as usize % self.0.cells.len()].read()
        }
    }
}

use descriptors::Descriptors;

/// How often each side looks whether it is its turn.
const TURNS: u64 = 3;

/// Frames came in the order of their numbers, as far as they came.
fn check(came: &[u64]) {
    assert!(came.iter().copied().eq(1..=came.len() as u64), "{came:?}");
}

pub fn xdp_received() {
    let ring = Descriptors::<u64>::new();
    let kernel = thread::spawn({
        let mut ring = ring.clone();
        move || {
            let mut put = 0;
            for _ in 0..TURNS {
                if put - ring.consumer().load(Ordering::Acquire) < ring.size() {
                    ring.write(put, u64::from(put) + 1);
                    put += 1;
                    ring.producer().store(put, Ordering::Release);
                }
            }
            put
        }
    });
    let mut ring = Incoming::over(ring);
    let mut came: Vec<u64> = (0..TURNS).filter_map(|_| ring.take()).collect();
    let put = kernel.join().unwrap();
    came.extend(std::iter::from_fn(|| ring.take()));
    check(&came);
    assert_eq!(came.len(), put as usize);
}

pub fn xdp_sent() {
    let ring = Descriptors::<u64>::new();
    let kernel = thread::spawn({
        let ring = ring.clone();
        move || {
            let mut came = Vec::new();
            for _ in 0..TURNS {
                let taken = came.len() as u32;
                if ring.producer().load(Ordering::Acquire) != taken {
                    came.push(ring.read(taken));
                    ring.consumer().store(taken + 1, Ordering::Release);
                }
            }
            came
        }
    });
    let mut ring = Outgoing::over(ring);
    let mut put = 0;
    for _ in 0..TURNS {
        if ring.untaken() < 2 {
            put += 1;
            ring.put(put);
        }
    }
    let came = kernel.join().unwrap();
    check(&came);
    assert_eq!(ring.untaken() as usize, put as usize - came.len());
}

pub fn packet_ring() {
    let slots = Arc::new(<[(AtomicU32, Cell<u64>); 2]>::default());
    let slot = |frame: u64| frame as usize % 2;
    let kernel = thread::spawn({
        let slots = slots.clone();
        move || {
            let mut put = 0;
            for _ in 0..TURNS {
                let (status, cell) = &slots[slot(put + 1)];
                if status.load(Ordering::Acquire) == libc::TP_STATUS_KERNEL {
                    put += 1;
                    cell.write(put);
                    status.store(libc::TP_STATUS_USER, Ordering::Release);
                }
            }
            put
        }
    });
    let mut came = Vec::new();
    let mut look = || {
        let (status, cell) = &slots[slot(came.len() as u64 + 1)];
        turn::lend(status, |_| cell.read()).inspect(|frame| came.push(*frame)).is_some()
    };
    (0..TURNS).for_each(|_| {
        look();
    });
    let put = kernel.join().unwrap();
    while look() {}
    check(&came);
    assert_eq!(came.len(), put as usize);
}

/// Room for two records that programs write, and how many they have begun.
#[derive(Default)]
struct Records {
    taken: AtomicU64,
    words: [AtomicU64; 2 * bpf::WORDS],
}

impl Records {
    /// What a program does: the kernel orders all before and after what it does at once for all CPUs.
    fn write(&self) {
        let number = self.taken.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        let place = (number % 2) as usize * bpf::WORDS;
        (0..bpf::WORDS - 1).for_each(|n| self.words[place + n].store(number, Ordering::Relaxed));
        self.words[place + bpf::WORDS - 1].swap((number + 1) << 32 | number, Ordering::AcqRel);
    }

    /// Adds what a look finds to the numbers of those found before; returns how many were lost.
    fn look(&self, reader: &mut bpf::Reader, found: &mut Vec<u64>) -> u64 {
        reader.take(
            2,
            &self.taken,
            |word| &self.words[word],
            |words| {
                let number = words[0];
                assert_eq!(words, [number, number, number, (number + 1) << 32 | number]);
                found.push(number);
            },
        )
    }
}

fn records(writers: usize, each: u64) {
    let ring = Arc::new(Records::default());
    let write = |ring: Arc<Records>| thread::spawn(move || (0..each).for_each(|_| ring.write()));
    let writers: Vec<_> = (0..writers).map(|_| write(ring.clone())).collect();
    let (mut reader, mut found) = (bpf::Reader::default(), Vec::new());
    let mut lost = ring.look(&mut reader, &mut found);
    let written = writers.len() as u64 * each;
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    lost += ring.look(&mut reader, &mut found);
    assert!(found.is_sorted_by(|one, next| one < next), "{found:?}");
    assert_eq!(found.len() as u64 + lost, written, "{found:?}");
    assert!(written > 2 || lost == 0, "{lost} lost, and there was room");
}

/// Programs on two CPUs.
pub fn bpf_records() {
    records(2, 1);
}

/// More than there is room for.
pub fn bpf_lapped() {
    records(1, 3);
}

/// Room for four octets.
#[derive(Default)]
struct Octets {
    head: AtomicU64,
    tail: AtomicU64,
    cells: [Cell<u8>; 4],
}

pub fn perf_records() {
    let ring = Arc::new(Octets::default());
    let kernel = thread::spawn({
        let ring = ring.clone();
        move || {
            let mut head = 0;
            for _ in 0..TURNS {
                // Records of three octets: the second is in two parts.
                if head + 3 - ring.tail.load(Ordering::Acquire) <= 4 {
                    (head..head + 3).for_each(|at| ring.cells[at as usize % 4].write(at as u8));
                    head += 3;
                    ring.head.store(head, Ordering::Release);
                }
            }
            head as u8
        }
    });
    let mut found = Vec::new();
    let mut look = || {
        perf::take(&ring.head, &ring.tail, 4, |from, count| {
            found.extend(ring.cells[from..from + count].iter().map(Cell::read));
        });
    };
    look();
    look();
    let put = kernel.join().unwrap();
    look();
    assert!(found.iter().copied().eq(0..put), "{found:?} of {put}");
}
