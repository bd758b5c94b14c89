//! One core's part of one switch, before its thread begins.

use std::sync::Arc;

use ontick_tsn::model::Switch;

use crate::user::address_table::random_seed;
use crate::user::core::{Channels, Core, Part, PortConfig};
use crate::user::counters::Counters;
use crate::user::port::Port;
use crate::user::time::{Distance, SwitchClock};

/// All that the core takes to its thread.
pub struct Work<P> {
    pub switch: Switch,
    pub part: Part,
    pub attachments: Vec<PortConfig<P>>,
    pub channels: Channels<P>,
    pub counters: Arc<Counters>,
    pub distance: Distance,
}

impl<P: Port> Work<P> {
    /// The core, with all the memory that it will ever need.
    pub fn core(self, counters: &Counters) -> Core<'_, P, SwitchClock> {
        let clock = SwitchClock::new(self.distance);
        Core::of_part(&self.switch, self.part, self.attachments, clock, counters, self.channels, random_seed())
    }
}
