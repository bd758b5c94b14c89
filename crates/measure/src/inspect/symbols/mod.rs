//! Names for addresses of a program: its mappings, their files' functions, and who called whom.

pub mod elf;
mod maps;
mod open;
mod stack;

use std::collections::HashMap;
use std::fs::File;
use std::time::{Duration, Instant};

use elf::{Bytes, Functions};
use maps::Mapping;
pub use stack::UserStack;

/// Callers that are looked for on a stack, at most.
const MOST_CALLERS: usize = 8;
/// Files whose functions are read; those of a program with more are named by addresses.
const MOST_FILES: usize = 256;
/// Places that are told apart.
const MOST_PLACES: usize = 4096;
/// An unknown address makes the mappings be read again, not more often than this.
const AGAIN: Duration = Duration::from_millis(200);

/// Where a thread was, by number: [`Symbols::place`] has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(u32);

/// Where a thread was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// The function.
    pub function: String,
    /// The file that it is in.
    pub object: String,
    /// Those that called it, the innermost first, as far as they were found.
    pub callers: Vec<Caller>,
}

/// A function that called another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Its name.
    pub function: String,
    /// Whether it is of the program itself, not of a library.
    pub own: bool,
}

impl Location {
    /// The program's own function that is nearest, if the place itself is in a library.
    pub fn caller(&self) -> Option<&str> {
        self.callers.iter().find(|caller| caller.own).or(self.callers.first()).map(|caller| caller.function.as_str())
    }

    /// Whether any of its functions has a name with this in it.
    pub fn mentions(&self, word: &str) -> bool {
        self.function.contains(word) || self.callers.iter().any(|caller| caller.function.contains(word))
    }
}

/// The functions of a program that runs.
pub struct Symbols {
    pid: i32,
    mappings: Vec<Mapping>,
    /// By inode; one that could not be read stays unknown.
    files: HashMap<u64, Option<(File, Functions)>>,
    read: Option<Instant>,
    names: HashMap<u64, Named>,
    known: HashMap<Key, PlaceId>,
    places: Vec<Location>,
}

/// Function, file and callers of a location.
type Key = (String, String, Vec<Caller>);

#[derive(Debug, Clone)]
struct Named {
    function: String,
    object: String,
    own: bool,
    /// Whether the instruction before it is a call.
    after_call: bool,
}

impl Symbols {
    /// Of a process. Its files are opened when they are needed.
    pub fn new(pid: i32) -> Self {
        let mut symbols = Self {
            pid,
            mappings: Vec::new(),
            files: HashMap::new(),
            read: None,
            names: HashMap::new(),
            known: HashMap::new(),
            places: Vec::new(),
        };
        symbols.read_mappings();
        symbols
    }

    /// From now on by another thread's number, as that of one that ended shows nothing.
    pub fn read_by(&mut self, tid: i32) {
        self.pid = tid;
    }

    /// Reads the mappings again: the program became another one, or loaded a library.
    pub fn read_mappings(&mut self) {
        self.read = Some(Instant::now());
        // What is gone stays as it was.
        let Ok(text) = ontick_rt::kernel_text::read(format!("/proc/{}/maps", self.pid)) else { return };
        let mappings = maps::parse(&text);
        if mappings.is_empty() || mappings == self.mappings {
            return;
        }
        self.mappings = mappings;
        self.names.clear();
    }

    /// Opens the files of what is mapped now: when the program has ended it is too late.
    pub fn open_files(&mut self) {
        for mapping in self.mappings.clone() {
            self.open(&mapping);
        }
    }

    fn open(&mut self, mapping: &Mapping) {
        if mapping.inode != 0 && !self.files.contains_key(&mapping.inode) && self.files.len() < MOST_FILES {
            let file = open::functions(self.pid, mapping);
            self.files.insert(mapping.inode, file);
        }
    }

    /// Whether the program's own file, the first, names its functions; `None` where it cannot be read.
    pub fn has_names(&self) -> Option<bool> {
        let file = self.files.get(&self.mappings.first()?.inode)?.as_ref()?;
        Some(!file.1.is_empty())
    }

    /// The place of a stack.
    pub fn locate(&mut self, stack: &UserStack) -> PlaceId {
        let here = self.name(stack.instruction);
        let mut callers: Vec<Caller> = Vec::new();
        for address in stack.candidates() {
            if callers.len() == MOST_CALLERS {
                break;
            }
            if maps::containing(&self.mappings, address).is_none() {
                continue;
            }
            let named = self.name(address);
            let repeated = callers.last().is_some_and(|last| last.function == named.function);
            if named.after_call && !repeated && named.function != here.function {
                callers.push(Caller { function: named.function, own: named.own });
            }
        }
        // Who called a function of the program itself is seldom of use, and makes one place many.
        if here.own {
            callers.truncate(1);
        }
        let key = (here.function, here.object, callers);
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        if self.places.len() >= MOST_PLACES {
            return PlaceId(0);
        }
        let id = PlaceId(self.places.len() as u32);
        let (function, object, callers) = key.clone();
        self.places.push(Location { function, object, callers });
        self.known.insert(key, id);
        id
    }

    /// A place by its number.
    pub fn place(&self, id: PlaceId) -> Option<&Location> {
        self.places.get(id.0 as usize)
    }

    fn name(&mut self, address: u64) -> Named {
        if let Some(named) = self.names.get(&address) {
            return named.clone();
        }
        if maps::containing(&self.mappings, address).is_none() && self.read.is_none_or(|at| at.elapsed() > AGAIN) {
            self.read_mappings();
        }
        let named = self.look_up(address);
        if self.names.len() < MOST_PLACES * 4 {
            self.names.insert(address, named.clone());
        }
        named
    }

    fn look_up(&mut self, address: u64) -> Named {
        let Some(at) = maps::containing(&self.mappings, address) else {
            return Named { function: format!("{address:#x}"), object: String::new(), own: false, after_call: false };
        };
        let mapping = self.mappings[at].clone();
        let own = self.mappings.first().is_some_and(|first| first.inode == mapping.inode && mapping.inode != 0);
        self.open(&mapping);
        let offset = address - mapping.start + mapping.offset;
        let file = self.files.get(&mapping.inode).and_then(Option::as_ref);
        let function = file.and_then(|(_, functions)| functions.at_offset(offset));
        let before = file.and_then(|(file, _)| file.at(offset.checked_sub(stack::CALL as u64)?, stack::CALL));
        let object = if mapping.path.is_empty() { "generated code" } else { mapping.name() };
        Named {
            function: function.map_or_else(|| format!("+{offset:#x}"), |name| demangled(&name)),
            object: object.into(),
            own,
            after_call: before.is_some_and(|bytes| stack::ends_in_a_call(&bytes)),
        }
    }
}

/// A Rust function by the name in its source. Those of C++ stay as they are.
fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_programs_own_caller() {
        let caller = |function: &str, own| Caller { function: function.into(), own };
        let callers = vec![caller("_IO_file_write", false), caller("log_line", true), caller("main", true)];
        let location = Location { function: "write".into(), object: "libc.so.6".into(), callers };
        assert_eq!(location.caller(), Some("log_line"));
        assert!(location.mentions("file_write") && !location.mentions("mutex"));
        assert_eq!(Location { callers: vec![caller("helper", false)], ..location }.caller(), Some("helper"));
        assert_eq!(Location::default().caller(), None);
    }

    #[test]
    fn a_function_of_this_process_is_named() {
        let mut symbols = Symbols::new(std::process::id() as i32);
        symbols.open_files();
        assert_eq!(symbols.has_names(), Some(true));
        let here = a_function_of_this_process_is_named as fn() as usize as u64;
        let stack = UserStack { instruction: here + 4, ..UserStack::default() };
        let id = symbols.locate(&stack);
        assert!(symbols.place(id).unwrap().function.ends_with("a_function_of_this_process_is_named"));
        assert_eq!(symbols.locate(&stack), id);
        let nowhere = symbols.locate(&UserStack { instruction: 8, ..UserStack::default() });
        assert_eq!(symbols.place(nowhere).unwrap().function, "0x8");
    }
}
