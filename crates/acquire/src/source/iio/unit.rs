//! Units of channels by their type (*sysfs-bus-iio*).

/// A type, the unit its values are shown in, and that unit's parts that the kernel counts in.
const UNITS: [(&str, &str, f64); 17] = [
    ("voltage", "V", 1e-3),
    ("altvoltage", "V", 1e-3),
    ("current", "A", 1e-3),
    ("power", "W", 1e-3),
    ("energy", "J", 1.0),
    ("resistance", "Ω", 1.0),
    ("capacitance", "nF", 1.0),
    ("temp", "°C", 1e-3),
    ("humidityrelative", "%", 1e-3),
    ("pressure", "kPa", 1.0),
    ("illuminance", "lx", 1.0),
    ("accel", "m/s²", 1.0),
    ("anglvel", "rad/s", 1.0),
    ("magn", "G", 1.0),
    ("distance", "m", 1.0),
    ("concentration", "%", 1.0),
    ("timestamp", "ns", 1.0),
];

/// The unit of a channel of this type, and the factor to it; a plain number where none is known.
pub fn of(kind: &str) -> (&'static str, f64) {
    UNITS.iter().find(|(name, ..)| *name == kind).map_or(("", 1.0), |(_, unit, factor)| (unit, *factor))
}
