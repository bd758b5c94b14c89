//! Why a program could not be inspected.

/// Why a program could not be inspected; each message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such process.
    #[error("there is no process {0}: see ps(1) for those that run")]
    NoProcess(i32),
    /// It was there, and did not stay.
    #[error("process {0} ended before it could be observed")]
    Ended(i32),
    /// A thread of the kernel runs no program.
    #[error("process {0} ({1}) is a thread of the kernel: it has no program that could be inspected")]
    Kernel(i32, String),
    /// Inspecting oneself never ends.
    #[error("process {0} is the one that would inspect")]
    Itself(i32),
    /// Threads were asked for that it does not have.
    #[error("{program} has no thread \"{names}\" (ps -L -p {pid} lists them)")]
    NoThread {
        /// Its name.
        program: String,
        /// Its process.
        pid: i32,
        /// Their names, in quotation marks but for the first and the last one.
        names: String,
    },
}
