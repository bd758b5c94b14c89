//! Names of the kernel's functions.

use std::fs;

/// Functions by where they begin, in that order.
#[derive(Debug, Default)]
pub struct Symbols(Vec<(u64, Box<str>)>);

impl Symbols {
    /// Those of this kernel; none where it does not tell where they are.
    pub fn read() -> Self {
        Self::of(&fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// Of the text of `/proc/kallsyms`, whose addresses are all 0 for those who may not know them.
    pub(super) fn of(text: &str) -> Self {
        let symbol = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
            let is_function = matches!(kind, "t" | "T" | "w" | "W");
            let address = u64::from_str_radix(address, 16).ok().filter(|address| is_function && *address > 0)?;
            Some((address, name.into()))
        };
        let mut symbols: Vec<(u64, Box<str>)> = text.lines().filter_map(symbol).collect();
        symbols.sort_by_key(|(address, _)| *address);
        Self(symbols)
    }

    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The function that a call returns to at this address; the address itself where it is not known.
    pub fn name(&self, returns_to: u64) -> String {
        // A function that ends with a call is not returned to its end, where the next one begins.
        let after = self.0.partition_point(|(begin, _)| *begin < returns_to);
        after.checked_sub(1).map_or_else(|| format!("{returns_to:#x}"), |at| self.0[at].1.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_is_into_the_function_that_begins_before_it() {
        let symbols = Symbols::of("0000000000002000 T second\n0000000000001000 t first\n0000000000001800 d data\n");
        let names = [0x1001, 0x2000, 0x2001, 0x9000].map(|address| symbols.name(address));
        assert_eq!(names, ["first", "first", "second", "second"]);
        assert_eq!(symbols.name(0xfff), "0xfff", "before all");
    }

    #[test]
    fn without_addresses_nothing_is_named() {
        let hidden = Symbols::of("0000000000000000 T second\n0000000000000000 t first\nno line\n");
        assert!(hidden.is_empty());
        assert_eq!(hidden.name(0xffff_8000_0000_1234), "0xffff800000001234");
    }
}
