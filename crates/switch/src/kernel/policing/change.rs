//! Other streams for a switch that works. The filters of all of them are put beside those of before, in order, and then those
//! go, the last one first: each frame is held to what it was held to before or to what it is held to now.

use std::collections::BTreeSet;
use std::time::Duration;

use ontick_tsn::model::{Stream, Switch};

use super::super::found::gone;
use super::actions::as_planned;
use super::{Policing, base_of};
use crate::apply::{
    Act, Entry, Expect, FIRST_PREFERENCE, Hook, Host, Iface, Journal, JournalError, Link, Plan, Refused, Step, Undo,
    links, preferences_at,
};

/// Of the filters that no frame comes to: they start gates before frames come to those.
const STARTERS: u16 = 65_535;
/// The longest that a gate is waited for: its cycle, as a rule.
const LONGEST_START: Duration = Duration::from_secs(10);
const MILLISECOND: Duration = Duration::from_millis(1);

/// What other streams take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamChange {
    /// Ports by which frames of streams come in, now or before.
    ports: Vec<PortChange>,
    /// What starts gates whose list is new.
    starters: Vec<Act>,
    /// A gate is open until its first cycle begins, after so long at most.
    starts_in: Duration,
}

/// What they take at one port.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PortChange {
    port: Iface,
    /// Makes the hook for filters where there is none.
    hook: Vec<Act>,
    /// How the new filters go again.
    undos: Vec<Undo>,
    /// The new filters.
    adds: Vec<Act>,
    /// Preferences of the new filters.
    preferences: Vec<u16>,
    /// Preferences of filters of before that are there, with what made them if that is known.
    before: Vec<(u16, Option<Act>)>,
}

impl StreamChange {
    /// The change to the streams that `after` has, which `plan` has then, too.
    pub fn plan(
        host: &impl Host,
        journal: &[Entry],
        plan: &mut Plan,
        (before, after): (&Switch, &Switch),
        now_ns: u64,
    ) -> Result<Self, String> {
        let actions = as_planned(plan).to_vec();
        let stays = |stream: &Stream| {
            let at = before.streams.iter().position(|old| old.name == stream.name && acts_alike(old, stream))?;
            actions.get(at).copied()
        };
        let in_use: BTreeSet<u32> = actions.iter().flat_map(|of| [of.size, of.meter, of.gate]).collect();
        let policing = Policing::planned(host, after, stays, &in_use, |stream| at_once(stream, now_ns))?;
        let all = links(host).map_err(|refused| refused.to_string())?;
        let mut ports = Vec::new();
        for port in &after.ports {
            let Some(link) = all.iter().find(|link| link.name == port.name) else {
                // Each port that is policed has the numbers of all actions written down.
                if is_policed(plan, &port.name) || !policing.filters_of(&port.name).is_empty() {
                    return Err(gone(&port.name));
                }
                continue;
            };
            ports.extend(PortChange::plan(host, journal, plan, &policing, link)?);
        }
        let new = after.streams.iter().zip(&policing.actions).enumerate();
        let gated = new.filter(|(_, (stream, of))| stream.gate.is_some() && !actions.contains(of)).map(|(at, _)| at);
        let gated: Vec<usize> = gated.collect();
        let port_of = |place: &usize| ports.iter().find(|of| policing.streams_of(&of.port.name).any(|at| at == *place));
        let starters =
            gated.iter().filter_map(|place| Some(policing.starter(&port_of(place)?.port.name, *place))).collect();
        let cycles = gated.iter().filter_map(|place| Some(after.streams[*place].gate.as_ref()?.cycle_ns));
        let starts_in = cycles.max().map_or(Duration::ZERO, |ns| Duration::from_nanos(ns) + MILLISECOND);
        Ok(Self { ports, starters, starts_in: starts_in.min(LONGEST_START) })
    }

    /// Writes down which filters there may be, before anything of the change is begun.
    pub fn intend(&self, journal: &mut Journal) -> Result<(), JournalError> {
        let undos: Vec<Undo> = self.ports.iter().flat_map(|of| of.undos.clone()).collect();
        if undos.is_empty() {
            return Ok(());
        }
        journal.intend("streams are changed", &undos)?;
        journal.done()
    }

    /// Makes it, all of it or nothing.
    pub fn carry_out(&self, host: &impl Host) -> Result<(), Refused> {
        let done = self.add(host).and_then(|()| self.remove_before(host));
        if done.is_err() {
            self.put_back(host);
        }
        done
    }

    /// Ports that get a hook for filters, after which software taprio stands still until its gates are set anew.
    pub fn hooked(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().filter(|of| !of.hook.is_empty()).map(|of| of.port.name.as_str())
    }

    fn add(&self, host: &impl Host) -> Result<(), Refused> {
        let all = |acts: &[Act]| acts.iter().try_for_each(|act| host.act(act));
        self.ports.iter().try_for_each(|of| all(&of.hook))?;
        all(&self.starters)?;
        if !self.starters.is_empty() {
            std::thread::sleep(self.starts_in);
        }
        self.ports.iter().try_for_each(|of| all(&of.adds))
    }

    /// The last one first, so that what is left knows each frame as it did with those that are gone.
    fn remove_before(&self, host: &impl Host) -> Result<(), Refused> {
        for of in &self.ports {
            of.before.iter().rev().try_for_each(|(preference, _)| remove(host, &of.port.name, *preference))?;
        }
        self.remove_starters(host)
    }

    fn remove_starters(&self, host: &impl Host) -> Result<(), Refused> {
        self.ports.iter().try_for_each(|of| remove(host, &of.port.name, STARTERS))
    }

    /// As it was, as far as the machine lets it be.
    pub fn put_back(&self, host: &impl Host) {
        for of in &self.ports {
            let present = preferences_at(host, &of.port.name, Hook::Ingress).unwrap_or_default();
            let gone = of.before.iter().filter(|(preference, _)| !present.contains(preference));
            gone.filter_map(|(_, act)| act.as_ref()).for_each(|act| drop(host.act(act)));
            of.preferences.iter().rev().for_each(|preference| drop(remove(host, &of.port.name, *preference)));
        }
        let _ = self.remove_starters(host);
    }
}

impl PortChange {
    /// What a port takes, whose step in the plan is another one then; nothing where no stream comes in, now or before.
    fn plan(
        host: &impl Host,
        journal: &[Entry],
        plan: &mut Plan,
        policing: &Policing,
        link: &Link,
    ) -> Result<Option<Self>, String> {
        let is_its = |step: &Step| {
            step.expects.iter().any(|expect| matches!(expect, Expect::Policed { port, .. } if *port == link.name))
        };
        let at = plan.steps.iter().position(is_its);
        let filters = policing.filters_of(&link.name);
        if at.is_none() && filters.is_empty() {
            return Ok(None);
        }
        let taken = preferences_at(host, &link.name, Hook::Ingress).map_err(|refused| refused.to_string())?;
        let old = at.map(|at| plan.steps[at].clone());
        let journaled = intended(journal, &link.name);
        let mut known = journaled.clone();
        known.extend(old.iter().flat_map(preferences_of));
        let before = taken.iter().filter(|preference| known.contains(preference));
        let before: Vec<(u16, Option<Act>)> =
            before.map(|preference| (*preference, old.as_ref().and_then(|old| added(old, *preference)))).collect();
        let first = free_block(&taken, &before, filters.len())
            .ok_or_else(|| format!("port {}: there is no room for {} filters", link.name, filters.len()))?;
        let step = policing.step_from(first, host, link, &[])?;
        let mut change = Self {
            port: link.into(),
            hook: Vec::new(),
            undos: Vec::new(),
            adds: Vec::new(),
            preferences: Vec::new(),
            before,
        };
        let Some(mut step) = step else {
            if let Some(at) = at {
                plan.steps[at] = emptied(&plan.steps[at]);
            }
            return Ok(Some(change));
        };
        change.preferences = (first..).take(filters.len()).collect();
        (change.adds, change.hook) = step.acts.iter().cloned().partition(is_filter);
        if !change.hook.is_empty() {
            change.undos.push(Undo::Clsact { port: link.into() });
        }
        let mut own: BTreeSet<u16> = change.preferences.iter().copied().chain([STARTERS]).collect();
        own.extend(known.difference(&journaled));
        own.retain(|preference| !journaled.contains(preference));
        if !own.is_empty() {
            change.undos.push(Undo::Policers { port: link.into(), preferences: own.into_iter().collect() });
        }
        match (old, at) {
            (Some(old), Some(at)) => {
                // Where the port's hook goes, these make it anew.
                let (_, hook): (Vec<Act>, Vec<Act>) = old.acts.into_iter().partition(is_filter);
                if !hook.is_empty() {
                    step.acts.splice(..0, hook);
                    step.undos = old.undos;
                }
                plan.steps[at] = step;
            }
            _ => plan.steps.push(step),
        }
        Ok(Some(change))
    }
}

impl Policing<'_> {
    /// A filter with the gate of a stream that no frame comes to: none comes from the address of a group.
    fn starter(&self, port: &str, place: usize) -> Act {
        let Some(gate) = &self.switch.streams[place].gate else { return Act::run("true") };
        let [high, low] = (place as u16).to_be_bytes();
        Act::run(format!(
            "tc filter add dev {port} ingress pref {STARTERS} protocol all flower dst_mac 00:00:00:00:{high:02x}:{low:02x} \
             src_mac ff:ff:ff:ff:ff:ff action {} pass",
            self.gate(gate, self.actions[place])
        ))
    }
}

/// Whether the actions of one can be those of the other.
fn acts_alike(one: &Stream, other: &Stream) -> bool {
    let is_tagged = |stream: &Stream| stream.vlan.is_some_and(|vlan| vlan > 0);
    let acts = |stream: &Stream| (stream.max_sdu, stream.meter, stream.gate.clone(), is_tagged(stream));
    acts(one) == acts(other)
}

/// A gate is open until its list begins, and has no other list until then: a new one begins with the next cycle.
fn at_once(stream: &Stream, now_ns: u64) -> u64 {
    let base_ns = base_of(stream, now_ns);
    let cycle_ns = stream.gate.as_ref().map_or(1, |gate| gate.cycle_ns.max(1));
    let early_ns = base_ns.saturating_sub(now_ns).div_ceil(cycle_ns) * cycle_ns;
    base_ns.checked_sub(early_ns).unwrap_or(base_ns % cycle_ns)
}

/// The first of so many preferences that are all free, and all before or all after those of before.
fn free_block(taken: &[u16], before: &[(u16, Option<Act>)], count: usize) -> Option<u16> {
    let last = |first: u16| u16::try_from(usize::from(first) + count).ok().filter(|last| *last < STARTERS);
    let is_free = |first: u16| last(first).is_some_and(|last| !taken.iter().any(|of| (first..last).contains(of)));
    let is_apart = |first: u16| {
        last(first)
            .is_some_and(|last| before.iter().all(|(of, _)| *of >= last) || before.iter().all(|(of, _)| *of < first))
    };
    let behind = taken.iter().filter(|of| **of >= FIRST_PREFERENCE && **of < STARTERS).max().map(|of| of + 1);
    [Some(FIRST_PREFERENCE), behind].into_iter().flatten().find(|first| is_free(*first) && is_apart(*first))
}

/// Preferences of filters at a port of which the journal knows.
fn intended(journal: &[Entry], name: &str) -> BTreeSet<u16> {
    let undos = journal.iter().flat_map(|entry| &entry.undos);
    let of_port = undos.filter_map(|undo| match undo {
        Undo::Policers { port, preferences } if port.name == name => Some(preferences),
        _ => None,
    });
    of_port.flatten().copied().collect()
}

/// Whether frames of streams come in by a port of the plan.
fn is_policed(plan: &Plan, name: &str) -> bool {
    let mut expects = plan.steps.iter().flat_map(|step| &step.expects);
    expects.any(|expect| matches!(expect, Expect::Policed { port, actions, .. } if port == name && !actions.is_empty()))
}

/// Preferences of the filters that a step has at a port's way in.
fn preferences_of(step: &Step) -> Vec<u16> {
    let of = |expect: &Expect| match expect {
        Expect::Policed { preferences, .. } => preferences.clone(),
        _ => Vec::new(),
    };
    step.expects.iter().flat_map(of).collect()
}

fn is_filter(act: &Act) -> bool {
    matches!(act, Act::Run { argv } if argv.get(1).is_some_and(|word| word == "filter"))
}

/// What made the filter with this preference.
fn added(step: &Step, preference: u16) -> Option<Act> {
    let word = preference.to_string();
    let made = |act: &&Act| matches!(act, Act::Run { argv } if argv.windows(2).any(|pair| pair[0] == "pref" && pair[1] == word));
    step.acts.iter().find(made).cloned()
}

/// The step of a port by which no stream comes in any more: it has the hook, if it made that.
fn emptied(step: &Step) -> Step {
    let mut step = step.clone();
    step.acts.retain(|act| !is_filter(act));
    for expect in &mut step.expects {
        if let Expect::Policed { preferences, gates, actions, .. } = expect {
            (*preferences, *gates, *actions) = Default::default();
        }
    }
    step
}

fn remove(host: &impl Host, port: &str, preference: u16) -> Result<(), Refused> {
    match preferences_at(host, port, Hook::Ingress)?.contains(&preference) {
        true => host.act(&Act::run(format!("tc filter del dev {port} ingress pref {preference}"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
