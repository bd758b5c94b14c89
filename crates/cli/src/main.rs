//! The program `ontick`. What it does is in the library beside this file, which the manual pages are generated from, too.
#![deny(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ontick::main()
}
