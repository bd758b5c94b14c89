//! Two network namespaces joined by virtual Ethernet, made for one run. Only this process holds them: however it ends, they
//! and their interfaces go with it.

use ontick_switch::verify::namespace::{Namespace, NamespaceError};
use ontick_switch::verify::testbed;

use super::ethernet::{EthernetError, EthernetPort};

/// The interfaces' names, each in its namespace.
const ENDS: [&str; 2] = ["requests", "answers"];

/// Why there is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CableError {
    /// A namespace, or the cable between two, could not be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// An end of it cannot be used.
    #[error(transparent)]
    Port(#[from] EthernetError),
}

/// A cable of virtual Ethernet.
#[derive(Debug)]
pub struct Cable {
    ends: [Namespace; 2],
}

impl Cable {
    /// Makes it.
    pub fn new() -> Result<Self, CableError> {
        let ends = [Namespace::new()?, Namespace::new()?];
        ends[0].join(ENDS[0], &ends[1], ENDS[1])?;
        for (end, name) in ends.iter().zip(ENDS) {
            end.within(|| testbed::plain(name))?;
        }
        Ok(Self { ends })
    }

    /// Opens both ends: that of requests, and that of answers.
    pub fn open(&self) -> Result<[EthernetPort; 2], CableError> {
        let open = |end: usize| Ok::<_, CableError>(self.ends[end].within(|| EthernetPort::open(ENDS[end]))??);
        Ok([open(0)?, open(1)?])
    }
}
