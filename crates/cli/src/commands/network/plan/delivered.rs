//! Where a plan goes: a document, a file for each node, tsnkit's tables, pictures.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use ontick_record::{output_file, store};
use ontick_switch::files;
use ontick_tsn::config;
use ontick_tsn::model::{Base, Switch};
use ontick_tsn::network::Network;
use ontick_tsn::network::tsnkit::check_names;
use ontick_tsn::planning::nodes::{self, Form};
use ontick_tsn::planning::{Document, Timetable, forwarding, tsnkit};
use ontick_tsn::target::Target;
use ontick_tsn::validate::Schedule;

use super::pictures;
use crate::failure::Failure;

#[derive(Args)]
pub struct Delivery {
    /// Write the plan as JSON: offsets of talkers, and the windows of every port
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write into this folder a file for each node, for `ontick switch apply`
    #[arg(long, value_name = "FOLDER")]
    nodes: Option<PathBuf>,
    /// When cycles begin, in nanoseconds of TAI; the same on all nodes [default: with the next second, where all cycles
    /// divide one]
    #[arg(long, value_name = "NS", requires = "nodes")]
    base_time: Option<u64>,
    /// Close all other gates before each window for as long as the largest frame takes: for ports that start a frame
    /// without regard to its length
    #[arg(long, requires = "nodes")]
    guard_bands: bool,
    /// Largest number of entries of a gate control list [default: what the target has, and no more than 1024]
    #[arg(long, value_name = "N", requires = "nodes")]
    max_entries: Option<usize>,
    /// Write tsnkit's tables: PREFIX-GCL.csv, -OFFSET.csv, -QUEUE.csv, -ROUTE.csv, -DELAY.csv
    #[arg(long, value_name = "PREFIX")]
    pub tsnkit: Option<PathBuf>,
    /// Draw which message uses which link when; .svg or .png
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// What the picture's rows are
    #[arg(long, value_enum, default_value = "links", requires = "picture")]
    rows: pictures::Rows,
}

impl Delivery {
    /// What cannot be delivered is known before anything is computed.
    pub fn check(&self, network: &Network) -> Result<(), Failure> {
        if self.tsnkit.is_some() {
            tsnkit_names(network)?;
        }
        if let Some(picture) = &self.picture {
            pictures::kind(picture)?;
        }
        if self.nodes.is_some() {
            nodes::every_way_has_queues(network).map_err(Failure::new)?;
        }
        Ok(())
    }

    /// The target, with as many entries of a list as were asked for.
    pub fn limited(&self, target: &Target) -> Target {
        Target { most_entries: self.max_entries.unwrap_or(target.most_entries), ..*target }
    }

    /// Writes what was asked for; what came out that one should know.
    pub fn deliver(
        &self,
        network: &Network,
        table: &Timetable,
        schedule: &Schedule,
        target: &Target,
    ) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        let switches = match &self.nodes {
            Some(_) => Some(nodes::switches(network, schedule, self.form(schedule, target)?).map_err(Failure::new)?),
            None => {
                notes.extend(not_forwarded(network, schedule, target));
                None
            }
        };
        if let Some(file) = &self.out {
            store::write_whole(file, Document::new(network, table, schedule).write()?.as_bytes())?;
        }
        if let (Some(folder), Some((switches, unnamed))) = (&self.nodes, switches) {
            output_file::make_folder(folder).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                    Failure::new(format!("{} is no folder", folder.display()))
                }
                _ => Failure::new(format!("{}: {error}", folder.display())),
            })?;
            for switch in &switches {
                let file = folder.join(format!("{}.toml", switch.name));
                store::write_whole(&file, config::write(switch).as_bytes())?;
            }
            notes.extend(others(folder, &switches));
            if target.plane.is_none() {
                notes.push(
                    "windows are exactly as long as their messages, which no data plane of this machine carries: plan with --target user, kernel or hardware"
                        .into(),
                );
            }
            if let Some(first) = unnamed.first() {
                notes.push(format!(
                    "{} ports have no interface in the network's file (the first: {first}); write `ports` in [[link]], or change the files in {}",
                    unnamed.len(),
                    folder.display()
                ));
            }
        }
        if let Some(prefix) = &self.tsnkit {
            let tables = tsnkit::tables(network, table, schedule);
            store::write_each_whole(tables.map(|(name, text)| (files::tsnkit_table(prefix, name), text)))?;
        }
        if let Some(file) = &self.picture {
            pictures::write(file, self.rows, network, table, schedule)?;
        }
        Ok(notes)
    }

    fn form(&self, schedule: &Schedule, target: &Target) -> Result<Form, Failure> {
        let odd = schedule.windows.iter().find(|window| 1_000_000_000 % window.cycle_ns != 0);
        let base = match (self.base_time, odd) {
            (Some(ns), _) => Base::At(ns),
            (None, None) => Base::NextSecond,
            (None, Some(window)) => {
                let cycle = ontick_units::exact(window.cycle_ns);
                return Err(Failure::new(format!(
                    "a cycle of {cycle} does not divide a second, so \"next second\" is another moment on each node; name one with --base-time, in ns of TAI"
                )));
            }
        };
        let most_entries = self.limited(target).most_entries.min(nodes::MOST_ENTRIES);
        let guard_bands = self.guard_bands || !target.length_aware;
        Ok(Form { base, guard_bands, most_entries, shortest_ns: target.shortest_ns, plane: target.plane })
    }
}

/// Which files of the folder look as if they were this plan's, and are not: a node whose streams are gone has none now.
fn others(folder: &Path, switches: &[Switch]) -> Option<String> {
    let own: HashSet<String> = switches.iter().map(|switch| format!("{}.toml", switch.name)).collect();
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut others: Vec<String> = names.filter(|name| name.ends_with(".toml") && !own.contains(name)).collect();
    others.sort_unstable();
    let named = match others.as_slice() {
        [] => return None,
        all if all.len() <= 3 => all.join(", "),
        all => format!("{} and {} more", all[0], all.len() - 1),
    };
    Some(format!(
        "this plan did not write {named} in {}; remove what is of an earlier plan, or it may be set up with this one",
        folder.display()
    ))
}

/// Why no switch could forward the streams as they are planned. Addresses that are assigned are fit for all.
fn not_forwarded(network: &Network, schedule: &Schedule, target: &Target) -> Option<String> {
    network.streams.iter().find(|stream| stream.address.is_some())?;
    let error = forwarding::forwarding(network, schedule, target.plane).err()?;
    Some(format!("no switch can carry out this plan: {error}"))
}

/// Refuses a network that tsnkit's tables cannot be of.
pub fn tsnkit_names(network: &Network) -> Result<(), Failure> {
    check_names(network).map_err(|error| Failure::new(format!("--tsnkit: {error}")))
}

/// A plan that was written before.
pub fn read_plan(file: &Path) -> Result<Document, Failure> {
    ontick_switch::files::plan(file).map_err(Failure::new)
}
