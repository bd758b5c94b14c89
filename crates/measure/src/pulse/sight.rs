//! What tells how wide a pulse was: the line, not the program that drives it.

use ontick_gpio::{Backend, Edges, Gone, Line, Name, Request};

use super::edges::{ObservedPulse, Pairs};
use super::hand::Stroke;
use super::watcher::Watcher;
use crate::{Error, Place};

/// Who looks.
pub enum Sight {
    /// Another handle of the driven line itself, which tells the time of every edge.
    Itself { line: Line, pairs: Pairs },
    /// A thread that watches another line, joined to the driven one.
    Other { watcher: Watcher, line: Name },
    /// Nobody: the clock is read before the one write and after the other.
    Clock { last: Option<ObservedPulse> },
    /// The same by the kernel module, around its own writes.
    Kernel { last: Option<ObservedPulse> },
}

impl Sight {
    /// The best that there is for a driven line. `seen_by` must have been found to follow it.
    pub fn of(driven: &Line, seen_by: Option<&Name>, place: Place) -> Result<Self, Error> {
        if let Some(name) = seen_by {
            return Self::other(name, place);
        }
        Ok(match driven.backend() {
            Backend::Simulated => {
                let line = Line::open(driven.name(), &Request::input().edges(Edges::Both))?;
                Sight::Itself { line, pairs: Pairs::default() }
            }
            // A line that this program drives tells nobody of its edges.
            _ => Sight::Clock { last: None },
        })
    }

    /// A thread that watches this line.
    pub fn other(name: &Name, place: Place) -> Result<Self, Error> {
        Ok(Sight::Other { watcher: Watcher::start(name, place)?, line: name.clone() })
    }

    /// What the program itself knows of the pulse that it just made.
    #[inline]
    pub fn made(&mut self, stroke: Stroke) {
        if let Sight::Clock { last } | Sight::Kernel { last } = self {
            let width_ns = stroke.after_ns.saturating_sub(stroke.before_ns);
            *last = Some(ObservedPulse { rose_ns: stroke.before_ns, width_ns });
        }
    }

    /// The next pulse that was seen, if one was by now.
    #[inline]
    pub fn take(&mut self) -> Result<Option<ObservedPulse>, Gone> {
        match self {
            Sight::Itself { line, pairs } => {
                while let Some(edge) = line.edge(0)? {
                    let seen = pairs.add(edge);
                    if seen.is_some() {
                        return Ok(seen);
                    }
                }
                Ok(None)
            }
            Sight::Other { watcher, .. } => watcher.take(),
            Sight::Clock { last } | Sight::Kernel { last } => Ok(last.take()),
        }
    }

    /// In words, for who reads the figures.
    pub fn describe(&self) -> String {
        match self {
            Sight::Itself { line, .. } => format!("edges of the {} line itself", line.backend()),
            Sight::Other { watcher, line } => watcher.describe(line),
            Sight::Clock { .. } => "clock readings around the writes: the program's own view, not the line's".into(),
            Sight::Kernel { .. } => {
                "clock readings in the kernel around its writes: the module's own view, not the line's".into()
            }
        }
    }

    /// What is behind the line that is looked at.
    pub fn backend(&self) -> Option<Backend> {
        match self {
            Sight::Itself { line, .. } => Some(line.backend()),
            Sight::Other { watcher, .. } => Some(watcher.backend()),
            Sight::Clock { .. } | Sight::Kernel { .. } => None,
        }
    }

    /// The line that was looked at, if it is another one.
    pub fn seen_line(&self) -> Option<&Name> {
        match self {
            Sight::Other { line, .. } => Some(line),
            Sight::Itself { .. } | Sight::Clock { .. } | Sight::Kernel { .. } => None,
        }
    }
}
