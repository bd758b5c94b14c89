//! What a class's frames look like: one table of `match`.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::problem::{Report, Reported};
use super::table::{Read, Table, kind, whole};
use super::value_error::ValueError;
use super::values;
use crate::model::Rule;

const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
/// EtherTypes of VLAN tags, which rules do not see.
const TAGS: [u16; 2] = [0x8100, 0x88A8];

pub(super) fn rule(mut table: Table, report: &mut Report) -> Result<Rule, Reported> {
    let pcp = number(&mut table, "pcp", 7, report);
    let vlan = number(&mut table, "vlan", 4094, report);
    let ether_type = named(&mut table, "ether-type", u16::MAX.into(), values::ether_type, report);
    let to = table.parsed("to", report, values::address);
    let from = table.parsed("from", report, values::address);
    let dscp = number(&mut table, "dscp", 63, report);
    let protocol = named(&mut table, "ip-protocol", u8::MAX.into(), values::protocol, report);
    let to_port = Port::read(&mut table, ["to-port", "udp-port", "tcp-port"], report);
    let from_port = Port::read(&mut table, ["from-port", "from-udp-port", "from-tcp-port"], report);
    let to_ip = table.parsed("to-ip", report, values::network);
    let socket_priority = number(&mut table, "socket-priority", 15, report);
    let span = table.span();
    table.finish(report);

    let (to_port, from_port, protocol) = (to_port?, from_port?, protocol?);
    let rule = Rule {
        pcp: pcp?,
        vlan: vlan?,
        ether_type: ether_type?,
        to: to?.map(Spanned::into_inner),
        from: from?.map(Spanned::into_inner),
        dscp: dscp?,
        ip_protocol: one_protocol([protocol, to_port.protocol, from_port.protocol], &span, report)?,
        to_port: to_port.number,
        from_port: from_port.number,
        to_ip: to_ip?.map(Spanned::into_inner),
        socket_priority: socket_priority?,
    };
    match contradiction(&rule) {
        Some(what) => Err(report.error(span, what)),
        None => Ok(rule),
    }
}

/// Why no frame can fit a rule, or every frame does.
fn contradiction(rule: &Rule) -> Option<String> {
    let (ports, ip) = (rule.has_ports(), rule.is_of_ip());
    match (rule.ether_type, rule.ip_protocol) {
        _ if *rule == Rule::default() => {
            Some("a rule without parts takes every frame; leave `match` out of the class that takes all others".into())
        }
        (Some(tag), _) if TAGS.contains(&tag) => Some(format!(
            "`ether-type` is the one behind the VLAN tag, so {tag:#06x} is never seen; use `vlan` or `pcp`"
        )),
        (Some(length @ ..0x0600), _) => {
            Some(format!("`ether-type` {length:#06x} is a length, not a type: types begin at 0x0600"))
        }
        (Some(other), _) if ip && other != IPV4 && other != IPV6 => {
            Some(format!("no frame fits: `ether-type` {other:#06x} is not IP, and the rule asks for parts of IP"))
        }
        (Some(IPV6), _) if rule.to_ip.is_some() => {
            Some("no frame fits: `to-ip` is of IPv4, `ether-type` of IPv6".into())
        }
        (_, Some(other)) if ports && other != TCP && other != UDP => {
            Some(format!("ports are of UDP and TCP, and `ip-protocol` is {other}"))
        }
        _ => None,
    }
}

/// A port's number and the protocol that its key names.
#[derive(Default, Clone, Copy)]
struct Port {
    number: Option<u16>,
    protocol: Option<u8>,
}

impl Port {
    /// From the keys for both protocols, UDP alone and TCP alone, of which one may be there.
    fn read(table: &mut Table, keys: [&'static str; 3], report: &mut Report) -> Result<Port, Reported> {
        let mut found: Result<Option<(&str, Port)>, Reported> = Ok(None);
        for (key, protocol) in keys.into_iter().zip([None, Some(UDP), Some(TCP)]) {
            let number = match number(table, key, u16::MAX.into(), report) {
                Ok(None) => continue,
                Ok(number) => number,
                Err(reported) => {
                    found = Err(reported);
                    continue;
                }
            };
            found =
                match found {
                    Ok(None) => Ok(Some((key, Port { number, protocol }))),
                    Ok(Some((other, _))) => Err(report
                        .error(table.span(), format!("one rule has `{other}` or `{key}`, not both; write two rules"))),
                    reported => reported,
                };
        }
        Ok(found?.map(|(_, port)| port).unwrap_or_default())
    }
}

fn one_protocol(said: [Option<u8>; 3], span: &Range<usize>, report: &mut Report) -> Result<Option<u8>, Reported> {
    let mut said = said.into_iter().flatten();
    let first = said.next();
    match said.find(|other| Some(*other) != first) {
        None => Ok(first),
        Some(other) => {
            let name = |number| values::protocol_name(number).map_or(number.to_string(), str::to_owned);
            let first = name(first.unwrap_or_default());
            Err(report.error(span.clone(), format!("no frame fits: it would be {first} and {} at once", name(other))))
        }
    }
}

fn number<T: TryFrom<u64>>(table: &mut Table, key: &'static str, most: u64, report: &mut Report) -> Read<T> {
    let value = table.whole(key, 0..=most, report)?;
    // The range says that it fits.
    Ok(value.and_then(|value| T::try_from(value.into_inner()).ok()))
}

/// A number, or a text that stands for one.
fn named<T: TryFrom<u64>>(
    table: &mut Table,
    key: &'static str,
    most: u64,
    parse: impl FnOnce(&str) -> Result<T, ValueError>,
    report: &mut Report,
) -> Read<T> {
    let Some(value) = table.get(key) else { return Ok(None) };
    match value.get_ref() {
        DeValue::String(text) => match parse(text) {
            Ok(number) => Ok(Some(number)),
            Err(what) => Err(report.error(value.span(), format!("`{key}`: {what}"))),
        },
        DeValue::Integer(_) => {
            let number = whole(value, key, 0..=most, report)?;
            Ok(T::try_from(number.into_inner()).ok())
        }
        other => Err(report.error(value.span(), format!("`{key}` is a name or a number, not {}", kind(other)))),
    }
}
