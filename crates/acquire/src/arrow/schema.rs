//! The columns of samples.

use ontick_arrow::{Field, Kind, Table};

use super::{DESCRIPTION, FIXED, is_plain};
use crate::Channel;
use crate::format::description;

/// The table of samples of these channels.
pub fn table(channels: &[Channel]) -> Table {
    let fixed = FIXED.iter().map(|name| Field::new(*name, if *name == "time" { Kind::Time } else { Kind::U64 }));
    let names = names(channels).into_iter().skip(FIXED.len());
    let values = names.zip(channels).map(|(name, channel)| {
        let kind = if is_plain(channel) { Kind::I64 } else { Kind::F64 };
        let field = Field::new(name, kind).with("unit", channel.unit.clone());
        field.with("scale", channel.scale.to_string()).with("offset", channel.offset.to_string())
    });
    Table::new(fixed.chain(values).collect(), [(DESCRIPTION.into(), description(channels).to_string())])
}

/// The names of all columns. A channel that has the name of another one gets a suffix.
pub(super) fn names(channels: &[Channel]) -> Vec<String> {
    let mut names: Vec<String> = FIXED.map(String::from).to_vec();
    for channel in channels {
        let mut name = channel.name.clone();
        while names.contains(&name) {
            name.push_str(".channel");
        }
        names.push(name);
    }
    names
}
