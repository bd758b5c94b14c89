//! A switch that is at work already, and whose counters are not to be had from here.

use super::{Lost, UnderTest};

/// Any switch between two interfaces.
pub struct Outside {
    /// How many classes it has.
    pub classes: usize,
}

impl UnderTest for Outside {
    fn plane(&self) -> &'static str {
        "outside"
    }

    fn about(&self) -> String {
        "a switch that was at work already".into()
    }

    fn lost(&mut self, _from: usize, _to: usize) -> Result<Lost, String> {
        Ok(Lost { classes: vec![0; self.classes], elsewhere: Vec::new() })
    }
}
