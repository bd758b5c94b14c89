//! What tells how wide a pulse was: the line, not the program that drives it.

use ontick_gpio::{Backend, Edges, Gone, Line, Name, Request};

use super::driver::DrivenPulse;
use super::edges::{ObservedPulse, Pairs};
use super::watcher::Watcher;
use crate::clock_readings::Timing;
use crate::{Error, Placement};

/// Who looks.
pub enum WidthObserver {
    /// Another handle of the driven line itself, which tells the time of every edge.
    Itself { line: Line, pairs: Pairs },
    /// A thread that watches another line, joined to the driven one.
    Other { watcher: Watcher, line: Name },
    /// Nobody: the clock is read before the one write and after the other.
    Clock { last: Option<ObservedPulse> },
    /// The same by the kernel module, around its own writes.
    Kernel { last: Option<ObservedPulse> },
}

impl WidthObserver {
    /// The best that there is for a driven line. `watched_line` must have been found to follow it.
    pub fn of(driven: &Line, watched_line: Option<&Name>, placement: Placement) -> Result<Self, Error> {
        if let Some(name) = watched_line {
            return Self::other(name, placement);
        }
        Ok(match driven.backend() {
            Backend::Simulated => {
                let line = Line::open(driven.name(), &Request::input().edges(Edges::Both))?;
                WidthObserver::Itself { line, pairs: Pairs::default() }
            }
            // A line that this program drives tells nobody of its edges.
            _ => WidthObserver::Clock { last: None },
        })
    }

    /// A thread that watches this line.
    pub fn other(name: &Name, placement: Placement) -> Result<Self, Error> {
        Ok(WidthObserver::Other { watcher: Watcher::start(name, placement)?, line: name.clone() })
    }

    /// What the program itself knows of the pulse that it just made.
    #[inline]
    pub fn made(&mut self, driven: DrivenPulse) {
        if let WidthObserver::Clock { last } | WidthObserver::Kernel { last } = self {
            let width_ns = driven.after_ns.saturating_sub(driven.before_ns);
            *last = Some(ObservedPulse { rose_ns: driven.before_ns, width_ns });
        }
    }

    /// The next pulse that was seen, if one was by now.
    #[inline]
    pub fn take(&mut self) -> Result<Option<ObservedPulse>, Gone> {
        match self {
            WidthObserver::Itself { line, pairs } => {
                while let Some(edge) = line.edge(0)? {
                    let seen = pairs.add(edge);
                    if seen.is_some() {
                        return Ok(seen);
                    }
                }
                Ok(None)
            }
            WidthObserver::Other { watcher, .. } => watcher.take(),
            WidthObserver::Clock { last } | WidthObserver::Kernel { last } => Ok(last.take()),
        }
    }

    /// In words, for who reads the figures.
    pub fn describe(&self) -> String {
        match self {
            WidthObserver::Itself { line, .. } => format!("edges of the {} line itself", line.backend()),
            WidthObserver::Other { watcher, line } => watcher.describe(line),
            WidthObserver::Clock { .. } => {
                "clock readings around the writes: the program's own view, not the line's".into()
            }
            WidthObserver::Kernel { .. } => {
                "clock readings in the kernel around its writes: the module's own view, not the line's".into()
            }
        }
    }

    /// How widths come about of readings of this program's clock, or of stamps that are taken as those are; none where
    /// nothing is known of what they are worth.
    pub fn timing(&self) -> Option<Timing> {
        match self {
            WidthObserver::Itself { .. } => Some(Timing::Stamps),
            WidthObserver::Other { watcher, .. } => watcher.is_notified().then_some(Timing::Stamps),
            WidthObserver::Clock { .. } => Some(Timing::Between),
            WidthObserver::Kernel { .. } => None,
        }
    }

    /// What is behind the line that is looked at.
    pub fn backend(&self) -> Option<Backend> {
        match self {
            WidthObserver::Itself { line, .. } => Some(line.backend()),
            WidthObserver::Other { watcher, .. } => Some(watcher.backend()),
            WidthObserver::Clock { .. } | WidthObserver::Kernel { .. } => None,
        }
    }

    /// The line that was looked at, if it is another one.
    pub fn watched_line(&self) -> Option<&Name> {
        match self {
            WidthObserver::Other { line, .. } => Some(line),
            WidthObserver::Itself { .. } | WidthObserver::Clock { .. } | WidthObserver::Kernel { .. } => None,
        }
    }
}
