//! What the kernel tells of links, and what is then to be done.

use std::time::Instant;

use super::Keeper;
use crate::apply::Host;
use crate::link::{Change, Event};

impl<H: Host> Keeper<'_, H> {
    pub(super) fn hear(&mut self, event: &Event) {
        match event {
            Event::Link { change: Change::Renamed { from }, name, .. } => {
                if self.is_port(from) {
                    self.say(&format!("port {from} is called {name} now: it no longer takes part"));
                }
                if self.is_port(name) {
                    self.returned.insert(name.clone());
                }
            }
            Event::Link { name, change, .. } if self.is_port(name) => self.port_changed(name, change),
            Event::Link { name, .. } if *name == self.switch.name => self.look_at = Instant::now(),
            Event::Traffic { name: Some(name), .. } if self.is_port(name) => self.look_at = Instant::now(),
            Event::Lost => {
                self.say("events of the kernel were lost: everything is looked at anew");
                self.reissue_all_soon();
                self.look_at = Instant::now();
            }
            _ => {}
        }
    }

    fn port_changed(&mut self, name: &str, change: &Change) {
        match change {
            Change::CarrierUp | Change::Flapped => {
                let came = if *change == Change::Flapped { "link went and came back" } else { "link is there" };
                self.say(&format!("port {name}: its {came}; gates are set anew"));
                self.reissue_soon(name);
            }
            Change::AdminUp => self.reissue_soon(name),
            Change::CarrierDown => self.say(&format!("port {name}: no link")),
            Change::AdminDown => self.say(&format!("port {name}: somebody switched it off")),
            Change::Gone => self.say(&format!("port {name} is gone; the others go on")),
            Change::Appeared => {
                self.returned.insert(name.into());
            }
            Change::Renamed { .. } | Change::Master { .. } => self.look_at = Instant::now(),
        }
    }
}
