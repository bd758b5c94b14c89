//! A network namespace for a test; its unit tests use it too.

use super::{Namespace, NamespaceError};

/// Nothing where there are no namespaces to be had.
pub fn namespace() -> Option<Namespace> {
    match Namespace::new() {
        Ok(namespace) => Some(namespace),
        Err(NamespaceError::Privilege(what)) => {
            ontick_skip::skipped!("{what} needs root");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
