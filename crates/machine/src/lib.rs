//! The machine under a timed program: look at it, explain it, tune it, put it back, and edit how it boots.
//!
//! Everything goes through a [`Root`], so all of it also works on a folder that stands for a machine.
//! Nothing here prints; every result can be shown or serialised by the caller.
//!
//! ```no_run
//! use ontick_machine::*;
//! let root = Root::live();
//! let facts = Facts::gather(&root);
//! let target = Target::new(&facts, None, Profile::DedicatedCore)?;
//! let worst_first = check(&facts, &target, &Remedy::to_string);
//! let plan = TuningPlan::make(&root, &facts, &target)?;
//! let mut journal = Journal::open(&root)?;
//! let applied = apply(&root, &plan, &mut journal);
//! let reverted = revert(&root, &mut journal, false);
//! assert!(applied.complete() && reverted.complete());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod apply;
pub mod boot;
pub mod config_txt;
pub mod device_tree;
pub mod facts;
pub mod findings;
pub mod isolate;
pub mod journal;
pub mod knobs;
pub mod merge;
pub mod own_setting;
pub mod ownership;
pub mod plan;
pub mod profile_file;
pub mod resctrl;
pub mod revert;
pub mod root;
pub mod service_unit;
pub mod status;
pub mod target;
pub mod tree;
pub mod value_format;
pub mod wanted_cpus;

pub use apply::{Applied, apply};
pub use facts::Facts;
pub use findings::{Finding, Remedy, Severity, check};
pub use journal::Journal;
pub use plan::TuningPlan;
pub use revert::{Reverted, revert, undo_for_holder};
pub use root::Root;
pub use status::{Status, status};
pub use target::{IrqThreads, Profile, Target, TargetError};
pub use value_format::ValueFormat;
pub use wanted_cpus::WantedCpus;
