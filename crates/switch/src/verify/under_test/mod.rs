//! What is tested: anything that carries frames from port to port and says what it lost.

mod bridge;
mod kernel;
mod outside;
mod user;

pub use bridge::Bridge;
pub use kernel::{KernelPlane, KernelPlaneError};
pub use outside::Outside;
pub use user::{UserPlane, UserPlaneError};

use crate::user::core::Stall;

/// Frames that were lost and counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost {
    /// By the place of their class in the switch's classes.
    pub classes: Vec<u64>,
    /// Where no class is known of: at which place.
    pub elsewhere: Vec<(String, u64)>,
}

impl Lost {
    /// What was lost since `before`.
    pub fn since(&self, before: &Lost) -> Lost {
        let class = |(i, lost): (usize, &u64)| lost.saturating_sub(before.classes.get(i).copied().unwrap_or(0));
        let place = |(place, lost): &(String, u64)| {
            let before = before.elsewhere.iter().find(|(name, _)| name == place).map_or(0, |(_, lost)| *lost);
            (place.clone(), lost.saturating_sub(before))
        };
        Lost {
            classes: self.classes.iter().enumerate().map(class).collect(),
            elsewhere: self.elsewhere.iter().map(place).collect(),
        }
    }
}

/// A switch under test.
pub trait UnderTest {
    /// `user`, `kernel`, `bridge`.
    fn plane(&self) -> &'static str;

    /// That in words, with what matters about how it runs.
    fn about(&self) -> String;

    /// Frames lost so far on their way from one port to another (as places in the model's ports).
    fn lost(&mut self, from: usize, to: usize) -> Result<Lost, String>;

    /// Stretches of time, since this was last asked, in which it did not run though it should have.
    fn stalls(&mut self) -> Vec<Stall> {
        Vec::new()
    }

    /// Looks after it; call it several times a second. What a reader must know comes back.
    fn tend(&mut self) -> Vec<String> {
        Vec::new()
    }
}
