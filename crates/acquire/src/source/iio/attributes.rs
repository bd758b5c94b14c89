//! A channel's attributes, its own and those it shares with others.

use std::fs;
use std::path::PathBuf;

use super::device::Device;
use super::unit;
use crate::Channel;

/// The type of a channel: `voltage` of `voltage0`, `accel` of `accel_x`.
fn kind(channel: &str) -> &str {
    let end = channel.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(channel.len());
    &channel[..end]
}

/// Names that an attribute of this channel may be under, its own first: `voltage0-voltage1`, `voltage-voltage`,
/// `voltage`, and what all channels of a direction share.
fn files(channel: &str, attribute: &str) -> Vec<String> {
    let shared: String = channel.chars().filter(|c| !c.is_ascii_digit()).collect();
    let mut names: Vec<String> =
        [channel, &shared, kind(channel)].iter().map(|name| format!("in_{name}_{attribute}")).collect();
    names.push(format!("in_{attribute}"));
    names.push(attribute.into());
    names
}

/// An attribute as a number.
fn number(device: &Device, channel: &str, attribute: &str) -> Option<f64> {
    let read = |name: &String| fs::read_to_string(device.folder.join(name)).ok();
    files(channel, attribute).iter().find_map(read)?.trim().parse().ok()
}

/// What a channel's raw values mean: (raw + offset) * scale in the kernel's unit.
pub fn channel(device: &Device, channel: &str) -> Channel {
    let (unit, factor) = unit::of(kind(channel));
    let scale = number(device, channel, "scale");
    // Without a scale the number is what it is, not thousandths of anything.
    let (unit, scale) = match scale {
        Some(scale) => (unit, scale * factor),
        None if kind(channel) == "timestamp" => (unit, 1.0),
        None => ("", 1.0),
    };
    let offset = number(device, channel, "offset").unwrap_or(0.0) * scale;
    Channel { name: channel.into(), unit: unit.into(), scale, offset }
}

/// As [`channel`], for values that the driver has converted, in parts of its unit.
pub fn processed(channel: &str, parts: i64) -> Channel {
    let (unit, factor) = unit::of(kind(channel));
    Channel { name: channel.into(), unit: unit.into(), scale: factor / parts as f64, offset: 0.0 }
}

/// The file of a channel's own attribute, if it has it.
pub fn own(device: &Device, channel: &str, attribute: &str) -> Option<PathBuf> {
    Some(device.folder.join(format!("in_{channel}_{attribute}"))).filter(|path| path.exists())
}

/// The channels that the device has, for people.
pub fn list(device: &Device) -> String {
    let entries = fs::read_dir(&device.folder).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let channel = |name: String| {
        let name = name.strip_prefix("in_")?;
        name.strip_suffix("_raw").or(name.strip_suffix("_input")).map(String::from)
    };
    let mut channels: Vec<String> = names.filter_map(channel).collect();
    channels.sort();
    channels.dedup();
    if channels.is_empty() { "none".into() } else { channels.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_attributes_come_after_a_channels_own() {
        let names = |channel| files(channel, "scale")[..3].join(" ");
        assert_eq!(names("voltage0"), "in_voltage0_scale in_voltage_scale in_voltage_scale");
        assert_eq!(names("voltage0-voltage1"), "in_voltage0-voltage1_scale in_voltage-voltage_scale in_voltage_scale");
        assert_eq!(names("accel_x"), "in_accel_x_scale in_accel_x_scale in_accel_scale");
    }
}
