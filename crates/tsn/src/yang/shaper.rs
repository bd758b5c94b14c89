//! The credit-based shaper: idle slopes of traffic classes in `cbsa-parameter-table` (IEEE 802.1Qdx-2024, and IEEE
//! 802.1DC-2024 for end stations), and in a bridge which classes it limits in the transmission selection algorithm table
//! (IEEE 802.1Q-2022 clauses 8.6.8 and 12.20).

use ontick_units::FASTEST_LINK;
use serde_json::{Map, Value, json};

use super::node::{Node, YangError};
use super::notes::Notes;
use super::{BRIDGE, CBSA_BRIDGE, CBSA_IF, CBSA_TABLE, TYPES};
use crate::model::{Class, Port, STANDARD_CLASSES, Switch};

const ALGORITHMS: &str = "transmission-selection-algorithm-table";
const ALGORITHM: &str = "transmission-selection-algorithm";
const ALGORITHM_MAP: &str = "transmission-selection-algorithm-map";
const SHAPER: &str = "credit-based-shaper";
const STRICT: &str = "strict-priority";

/// Idle slope of each traffic class, in bits per second; nothing for one that is not shaped.
pub(super) type IdleSlopes = [Option<u64>; STANDARD_CLASSES];

/// Who decides which frame of a class is sent, by traffic class; nothing where the document does not say it.
type Algorithms<'a> = [Option<Node<'a>>; STANDARD_CLASSES];

/// Adds what a port of a bridge has.
pub(super) fn export_bridged(switch: &Switch, port: &Port, bridged: &mut Map<String, Value>) {
    let Some(parameters) = parameters(switch, port) else { return };
    let algorithm = |(queue, _): (u8, u64)| json!({ "traffic-class": queue, ALGORITHM: format!("{TYPES}:{SHAPER}") });
    let algorithms: Vec<Value> = shaped(switch, port).map(algorithm).collect();
    bridged.insert(ALGORITHMS.into(), json!({ ALGORITHM_MAP: algorithms }));
    bridged.insert(format!("{CBSA_BRIDGE}:cbsa"), parameters);
}

/// Adds what an interface of an end station has.
pub(super) fn export_station(switch: &Switch, port: &Port, interface: &mut Map<String, Value>) {
    if let Some(parameters) = parameters(switch, port) {
        interface.insert(format!("{CBSA_IF}:cbsa"), parameters);
    }
}

fn parameters(switch: &Switch, port: &Port) -> Option<Value> {
    let entry = |(queue, slope): (u8, u64)| json!({ "traffic-class": queue, "admin-idle-slope": slope.to_string() });
    let entries: Vec<Value> = shaped(switch, port).map(entry).collect();
    (!entries.is_empty()).then(|| json!({ CBSA_TABLE: entries }))
}

/// Traffic classes that are shaped, with their idle slopes.
fn shaped<'a>(switch: &'a Switch, port: &'a Port) -> impl Iterator<Item = (u8, u64)> + 'a {
    switch.classes.iter().zip(&port.idle_slopes).filter_map(|(class, slope)| Some((class.queue, (*slope)?)))
}

/// Reads what an interface has, which is a port of a bridge if it has a `port`; nothing where it says nothing of this.
pub(super) fn import(
    interface: &Node,
    port: Option<&Node>,
    notes: &mut Notes,
) -> Result<Option<IdleSlopes>, YangError> {
    let (cbsa, algorithms) = match port {
        Some(port) => (port.member(CBSA_BRIDGE, "cbsa")?, algorithms(port)?),
        None => (interface.member(CBSA_IF, "cbsa")?, Algorithms::default()),
    };
    if cbsa.is_none() && algorithms.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut slopes = cbsa.map_or(Ok(IdleSlopes::default()), |cbsa| self::slopes(&cbsa))?;
    for (class, (slope, algorithm)) in slopes.iter_mut().zip(&algorithms).enumerate() {
        let Some(algorithm) = algorithm else { continue };
        match (local_name(algorithm.text()?), slope.is_some()) {
            (SHAPER, true) | (STRICT, false) => {}
            (SHAPER, false) => {
                return Err(algorithm.error(format!(
                    "no frame of traffic class {class} passes without an admin-idle-slope above 0; give it one in \
                     {CBSA_TABLE}, or write {STRICT}"
                )));
            }
            (STRICT, true) => {
                let path = algorithm.path();
                notes.push(format!("{path}: {STRICT} shapes nothing; the class's admin-idle-slope is left out"));
                *slope = None;
            }
            (other, _) => {
                notes.otherwise(algorithm, format!("{other} is not supported; {STRICT} is written"));
                *slope = None;
            }
        }
    }
    Ok(Some(slopes))
}

/// Of an identity, with or without the name of its module.
fn local_name(identity: &str) -> &str {
    identity.split_once(':').map_or(identity, |(_, name)| name)
}

fn slopes(cbsa: &Node) -> Result<IdleSlopes, YangError> {
    cbsa.only(CBSA_BRIDGE, &[CBSA_TABLE])?;
    let mut slopes = IdleSlopes::default();
    let Some(table) = cbsa.member(CBSA_BRIDGE, CBSA_TABLE)? else { return Ok(slopes) };
    let mut seen = [false; STANDARD_CLASSES];
    for item in table.items()? {
        let item = item.keyed_by(CBSA_BRIDGE, "traffic-class")?;
        item.only(CBSA_BRIDGE, &["traffic-class", "admin-idle-slope", "oper-idle-slope"])?;
        let class = traffic_class(&item, CBSA_BRIDGE, &mut seen)?;
        let Some(leaf) = item.member(CBSA_BRIDGE, "admin-idle-slope")? else { continue };
        let slope = leaf.number(0..=FASTEST_LINK);
        let slope =
            slope.map_err(|error| YangError { what: format!("{}; it counts bits per second", error.what), ..error })?;
        slopes[class] = (slope > 0).then_some(slope);
    }
    Ok(slopes)
}

fn algorithms<'a>(port: &Node<'a>) -> Result<Algorithms<'a>, YangError> {
    let mut algorithms = Algorithms::default();
    let Some(table) = port.member(BRIDGE, ALGORITHMS)? else { return Ok(algorithms) };
    let Some(map) = table.member(BRIDGE, ALGORITHM_MAP)? else { return Ok(algorithms) };
    let mut seen = [false; STANDARD_CLASSES];
    for item in map.items()? {
        let item = item.keyed_by(BRIDGE, "traffic-class")?;
        algorithms[traffic_class(&item, BRIDGE, &mut seen)?] = item.member(BRIDGE, ALGORITHM)?;
    }
    Ok(algorithms)
}

/// The traffic class that an entry is of, which none of those before is.
pub(super) fn traffic_class(
    item: &Node,
    module: &str,
    seen: &mut [bool; STANDARD_CLASSES],
) -> Result<usize, YangError> {
    let leaf = item.require(module, "traffic-class")?;
    let class = leaf.number(0..=STANDARD_CLASSES as u64 - 1)? as usize;
    match std::mem::replace(&mut seen[class], true) {
        true => Err(leaf.error(format!("there are two entries with traffic-class {class}"))),
        false => Ok(class),
    }
}

/// Brings them into a port.
pub(super) fn merge(port: &mut Port, classes: &[Class], slopes: &IdleSlopes) {
    let own = |place: usize| port.idle_slopes.get(place).copied().flatten();
    // The document has no class beyond the eighth.
    let slope = |(place, class): (usize, &Class)| slopes.get(usize::from(class.queue)).copied().unwrap_or(own(place));
    port.idle_slopes = classes.iter().enumerate().map(slope).collect();
    if !port.is_shaped() {
        port.idle_slopes.clear();
    }
}
