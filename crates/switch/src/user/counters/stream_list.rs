//! The counters of the streams, of which there may be others while the core runs.

use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::StreamCounters;

/// In the order of the model. The core never asks this list: it has a hold of its own of each stream's counters.
#[derive(Debug, Default)]
pub struct StreamList(RwLock<Vec<Arc<StreamCounters>>>);

impl StreamList {
    /// So many, all zero.
    pub fn of(streams: usize) -> Self {
        Self(RwLock::new((0..streams).map(|_| Arc::default()).collect()))
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<StreamCounters>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// There are others now; some may be among those before.
    pub fn replace(&self, streams: Vec<Arc<StreamCounters>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = streams;
    }
}

impl Serialize for StreamList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.all().iter().map(AsRef::as_ref))
    }
}

impl<'de> Deserialize<'de> for StreamList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let streams = Vec::<StreamCounters>::deserialize(deserializer)?;
        Ok(Self(RwLock::new(streams.into_iter().map(Arc::new).collect())))
    }
}
