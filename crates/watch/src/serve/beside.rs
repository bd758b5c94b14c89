//! What is shown beside the measurements: what else works on time on this machine.

use std::sync::Arc;

use crate::signals::Signals;
use crate::switches::{SwitchWatch, Switches};

/// Switches and samplers.
#[derive(Default)]
pub struct Beside {
    /// Who knows switches, where anybody does.
    pub switches: Option<Arc<SwitchWatch>>,
    /// Samplers that were named.
    pub signals: Signals,
}

impl Beside {
    /// The switches now; this may take a moment.
    pub fn switches(&self) -> Option<Arc<Switches>> {
        self.switches.as_deref().map(SwitchWatch::now)
    }
}
