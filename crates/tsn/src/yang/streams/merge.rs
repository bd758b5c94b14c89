//! Brings imported streams into a switch.

use std::collections::BTreeSet;

use super::export::handles;
use super::{ImportedStream, name, unsaid};
use crate::model::{Stream, Switch};

/// The streams of the document in place of those of the switch. One of the same frames keeps its name; those of which no
/// document can speak stay, behind the same streams as before. It has all of the ports. Each keeps the document's handle.
pub(in super::super) fn merge(switch: &mut Switch, imported: &[ImportedStream]) {
    let before = &switch.streams;
    let (kept, said): (Vec<_>, Vec<_>) = before.iter().enumerate().partition(|(_, stream)| unsaid(stream).is_some());
    let mut names: BTreeSet<String> = kept.iter().map(|(_, stream)| stream.name.clone()).collect();
    let mut streams = Vec::new();
    for of in imported {
        let ingress = places(switch, &of.ingress);
        let ingress = all_or(switch, Some(&ingress)).map(<[usize]>::to_vec);
        let is_same = |old: &Stream| {
            (old.to, old.vlan) == (of.to, of.vlan) && all_or(switch, old.ingress.as_deref()) == ingress.as_deref()
        };
        let old = said.iter().map(|(_, old)| *old).find(|old| is_same(old) && !names.contains(&old.name));
        let ingress = old.map_or(ingress, |old| old.ingress.clone());
        let name = old.map(|old| old.name.clone());
        let handle = old.and_then(|old| old.handle).filter(|handle| *handle == of.handle);
        names.extend(name.clone());
        streams.push(Stream {
            name: name.unwrap_or_default(),
            handle,
            to: of.to,
            vlan: of.vlan,
            from: None,
            ingress,
            max_sdu: of.max_sdu,
            meter: of.meter,
            gate: of.gate.clone(),
            eliminate: of.eliminate,
            replicate: of.replicate.as_ref().map(|names| places(switch, names)),
        });
    }
    for (stream, of) in streams.iter_mut().zip(imported).filter(|(stream, _)| stream.name.is_empty()) {
        let others = (2u64..).map(|number| format!("{}-{number}", name(of.handle)));
        let mut free = std::iter::once(name(of.handle)).chain(others).filter(|name| !names.contains(name));
        stream.name = free.next().unwrap_or_default();
        names.insert(stream.name.clone());
    }
    keep_handles(&mut streams, imported);
    for (place, stream) in kept {
        let follows = |other: &Stream| before[..place].iter().any(|old| old.name == other.name);
        let at = streams.iter().rposition(follows).map_or(0, |last| last + 1);
        streams.insert(at, stream.clone());
    }
    switch.streams = streams;
}

/// Those that would be found otherwise are written. One that is written may be what another would be found to have.
fn keep_handles(streams: &mut [Stream], imported: &[ImportedStream]) {
    loop {
        let found = handles(&streams.iter().collect::<Vec<_>>());
        let differ = |(found, of): (&u32, &ImportedStream)| found != &of.handle;
        if !found.iter().zip(imported).any(differ) {
            return;
        }
        for ((stream, of), found) in streams.iter_mut().zip(imported).zip(&found) {
            if *found != of.handle {
                stream.handle = Some(of.handle);
            }
        }
    }
}

/// Ports by their place.
fn places(switch: &Switch, names: &[String]) -> Vec<usize> {
    let place = |name: &String| switch.ports.iter().position(|port| port.name == *name);
    let places: BTreeSet<usize> = names.iter().filter_map(place).collect();
    places.into_iter().collect()
}

/// Nothing in place of all ports.
fn all_or<'a>(switch: &Switch, ports: Option<&'a [usize]>) -> Option<&'a [usize]> {
    ports.filter(|ports| ports.len() < switch.ports.len())
}
