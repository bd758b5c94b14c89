//! Programs in C, compiled as strictly as compilers can.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::staged::{prefix, top};

/// A compiler and the language that it takes the source for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Compiler {
    C,
    Cpp,
}

impl Compiler {
    fn command(self) -> Command {
        let (program, language) = match self {
            Compiler::C => ("gcc", ["-x", "c", "-std=c11"]),
            Compiler::Cpp => ("g++", ["-x", "c++", "-std=c++11"]),
        };
        let mut command = Command::new(program);
        command.args(language).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"]);
        command
    }
}

/// Whether a program is here; a test that needs it is skipped otherwise.
pub fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        ontick_skip::skipped!("{program} is not installed");
    }
    found
}

/// How the library is linked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Linked {
    Shared,
    Static,
}

/// Compiles a source against the installed library; what the compiler says where it does not.
pub fn compile(source: &Path, compiler: Compiler, linked: Linked, into: &Path) -> Result<PathBuf, String> {
    let program = into.join(source.file_stem().unwrap());
    let (include, lib) = (prefix().join("include"), prefix().join("lib"));
    let mut command = compiler.command();
    command.arg("-I").arg(include).arg("-I").arg(top().join("crates/c/tests/programs")).arg("-o").arg(&program);
    command.arg(source).args(["-x", "none"]);
    match linked {
        Linked::Shared => command.arg("-L").arg(&lib).args(["-lontick", "-lpthread"]),
        Linked::Static => {
            command.arg(lib.join("libontick.a")).args(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"])
        }
    };
    let output = command.output().expect("the compiler starts");
    match output.status.success() {
        true => Ok(program),
        false => Err(format!("{compiler:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Runs a compiled program with the installed library, ended where it hangs.
pub fn run(command: &[&str]) -> Output {
    let mut limited = Command::new("timeout");
    limited.arg("60").args(command).env("LD_LIBRARY_PATH", prefix().join("lib"));
    limited.output().expect("timeout starts")
}

/// What a program printed, after it ended well.
pub fn printed(command: &[&str]) -> String {
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}
