//! Methods by the names that the command line and records have for them.

/// A name that is no method's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} \"{name}\": there is no such method (choose one of {choices})")]
pub struct MethodError {
    what: &'static str,
    name: String,
    choices: String,
}

/// The method of this name.
pub(crate) fn find<M: Copy>(
    what: &'static str,
    all: &[M],
    name_of: fn(M) -> &'static str,
    name: &str,
) -> Result<M, MethodError> {
    all.iter().copied().find(|method| name_of(*method) == name).ok_or_else(|| MethodError {
        what,
        name: name.into(),
        choices: all.iter().map(|method| name_of(*method)).collect::<Vec<_>>().join(", "),
    })
}

/// Reads and writes methods, which have a `name` each, by these names.
macro_rules! named_method {
    ($method:ty, $all:expr, $what:literal) => {
        impl std::str::FromStr for $method {
            type Err = $crate::MethodError;

            fn from_str(text: &str) -> Result<Self, $crate::MethodError> {
                $crate::named_method::find($what, &$all, <$method>::name, text)
            }
        }

        impl std::fmt::Display for $method {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use named_method;

#[cfg(test)]
mod tests {
    use crate::{delay, edge, response, timer, wakeup};

    #[test]
    fn what_is_no_method_is_refused_with_those_there_are() {
        let refused = |error: crate::MethodError| error.to_string();
        assert_eq!(
            refused("looking".parse::<edge::Method>().unwrap_err()),
            "edges by \"looking\": there is no such method (choose one of poll, interrupt, interrupt-busy)"
        );
        assert!(refused("x".parse::<wakeup::Method>().unwrap_err()).contains("futex, eventfd, pipe, condvar)"));
        assert!(refused("x".parse::<response::Method>().unwrap_err()).ends_with("kernel, kernel-hard)"));
        assert!(refused("x".parse::<timer::Method>().unwrap_err()).starts_with("method \"x\": "));
        assert!(refused("x".parse::<delay::Method>().unwrap_err()).contains("usleep, nanosleep"));
        for method in timer::Method::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
    }
}
