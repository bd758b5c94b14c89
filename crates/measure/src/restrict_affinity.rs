//! Fewer CPUs than there are, for the measured program and the load beside it.
//!
//! Source 002 saw its pulses become useless with one CPU online and good with four. Taking CPUs offline concerns
//! everything on the machine; confining the two programs that compete does not, and asks for no privilege.

use std::fmt;
use std::str::FromStr;

use ontick_rt::cpus;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Error;

/// How many CPUs the program and its load may use together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpus {
    /// Those that they have.
    All,
    /// So many of them.
    Some(usize),
}

/// A text that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no number of CPUs (write 1, 2, …, one or all)")]
pub struct CpusError(pub String);

impl FromStr for Cpus {
    type Err = CpusError;

    fn from_str(text: &str) -> Result<Self, CpusError> {
        match text {
            "all" => Ok(Cpus::All),
            "one" => Ok(Cpus::Some(1)),
            number => match number.parse() {
                Ok(count @ 1..) => Ok(Cpus::Some(count)),
                _ => Err(CpusError(text.into())),
            },
        }
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Cpus::All => f.write_str("all CPUs"),
            Cpus::Some(1) => f.write_str("1 CPU"),
            Cpus::Some(count) => write!(f, "{count} CPUs"),
        }
    }
}

impl Cpus {
    /// Whether this process may use so many.
    pub fn check(self) -> Result<(), Error> {
        match self {
            Cpus::All => Ok(()),
            Cpus::Some(count) => enough(&cpus::allowed(), count),
        }
    }
}

/// The calling thread, and all threads and programs that it starts meanwhile, have only some CPUs. Undone when
/// dropped.
pub struct RestrictedAffinity {
    before: CpuSet,
    cpus: Vec<u32>,
}

impl RestrictedAffinity {
    /// To so many CPUs, with `cpu` among them where it is given; `None` where that changes nothing.
    pub fn to(count: Cpus, cpu: Option<u32>) -> Result<Option<Self>, Error> {
        let Cpus::Some(count) = count else { return Ok(None) };
        let refused = |error: rustix::io::Errno| Error::System { what: "confining to fewer CPUs", error: error.into() };
        let before = sched_getaffinity(None).map_err(refused)?;
        let cpus = chosen(&cpus::allowed(), count, cpu)?;
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu as usize));
        sched_setaffinity(None, &set).map_err(refused)?;
        Ok(Some(Self { before, cpus }))
    }

    /// The CPUs, as a list.
    pub fn list(&self) -> String {
        self.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    }
}

fn enough(allowed: &[u32], count: usize) -> Result<(), Error> {
    if count > allowed.len() {
        let have = if allowed.len() == 1 { "1 CPU".into() } else { format!("{} CPUs", allowed.len()) };
        return Err(Error::Impossible(format!("{count} CPUs were asked for, and this process may use {have}")));
    }
    Ok(())
}

/// So many of these CPUs: the named one, then the last.
fn chosen(allowed: &[u32], count: usize, cpu: Option<u32>) -> Result<Vec<u32>, Error> {
    enough(allowed, count)?;
    let others = allowed.iter().rev().copied().filter(|other| Some(*other) != cpu);
    let mut cpus: Vec<u32> = cpu.into_iter().chain(others).take(count).collect();
    cpus.sort_unstable();
    Ok(cpus)
}

impl Drop for RestrictedAffinity {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_cpu_is_among_them() {
        let allowed = [0, 1, 2, 5];
        assert_eq!(chosen(&allowed, 1, Some(2)).unwrap(), [2]);
        assert_eq!(chosen(&allowed, 2, Some(0)).unwrap(), [0, 5]);
        assert_eq!(chosen(&allowed, 1, None).unwrap(), [5]);
        assert!(chosen(&allowed, 5, None).unwrap_err().to_string().contains("4 CPUs"));
    }

    #[test]
    fn numbers_of_cpus_are_read() {
        assert_eq!(
            ["one", "1", "3", "all"].map(str::parse),
            [1, 1, 3, 0].map(|n| { Ok(if n == 0 { Cpus::All } else { Cpus::Some(n) }) })
        );
        for text in ["0", "-1", "", "some"] {
            assert!(text.parse::<Cpus>().unwrap_err() == CpusError(text.into()), "{text}");
        }
    }

    #[test]
    fn threads_started_meanwhile_are_confined_and_it_ends() {
        std::thread::spawn(|| {
            let before = cpus::allowed();
            let confined = RestrictedAffinity::to(Cpus::Some(1), before.first().copied()).unwrap().unwrap();
            let inherited = std::thread::spawn(cpus::allowed).join().unwrap();
            assert_eq!((inherited, confined.list()), (before[..1].to_vec(), before[0].to_string()));
            drop(confined);
            assert_eq!(cpus::allowed(), before);
        })
        .join()
        .unwrap();
    }
}
