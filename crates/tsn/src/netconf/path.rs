//! Paths as RFC 7951 section 6.11 writes them, as XPath wants them, and in words.

use crate::yang::predicate;

/// An absolute XPath expression: the module at every node, also at the keys of lists.
pub(super) fn xpath(path: &str) -> String {
    let mut module = "";
    let mut whole = String::new();
    for step in steps(path) {
        let name = match step.name.split_once(':') {
            Some((own, name)) => {
                module = own;
                name
            }
            None => step.name,
        };
        let prefix = if module.is_empty() { String::new() } else { format!("{module}:") };
        whole += &format!("/{prefix}{name}");
        let keys = step.keys();
        if keys.is_empty() {
            whole += step.predicate;
        }
        for (key, value) in keys {
            let prefix = if key == "." { "" } else { &prefix };
            whole += &predicate(&format!("{prefix}{key}"), value);
        }
    }
    if whole.is_empty() { "/".into() } else { whole }
}

/// What a path leads to: the entries of lists on the way with their keys, and the node at its end. Nothing for the top.
pub(super) fn words(path: &str) -> String {
    let steps = steps(path);
    let count = steps.len();
    let words = steps.into_iter().enumerate().filter_map(|(place, step)| {
        let name = step.name.split_once(':').map_or(step.name, |(_, name)| name);
        let values: Vec<&str> = step.keys().into_iter().map(|(_, value)| value).collect();
        match values.is_empty() {
            false => Some(format!("{name} {}", values.join(" "))),
            true => (place + 1 == count).then(|| name.to_owned()),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// One node of a path.
struct Step<'a> {
    /// With its module where the path names it.
    name: &'a str,
    /// `[name='eth1']`, `[1]`, or nothing.
    predicate: &'a str,
}

impl<'a> Step<'a> {
    fn of(text: &'a str) -> Self {
        let (name, predicate) = text.split_at(text.find('[').unwrap_or(text.len()));
        Self { name, predicate }
    }

    /// The leaves that name an entry, and their values.
    fn keys(&self) -> Vec<(&'a str, &'a str)> {
        let mut rest = self.predicate;
        let mut keys = Vec::new();
        while let Some((key, value)) = rest.strip_prefix('[').and_then(|rest| rest.split_once('=')) {
            let quote = if value.starts_with('"') { '"' } else { '\'' };
            let Some((value, after)) = value.strip_prefix(quote).and_then(|value| value.split_once(quote)) else {
                break;
            };
            keys.push((key, value));
            rest = after.strip_prefix(']').unwrap_or_default();
        }
        keys
    }
}

/// The parts between slashes that stand in no quotes.
fn steps(path: &str) -> Vec<Step<'_>> {
    let mut quote = None;
    let parts = path.split(move |c| {
        match quote {
            Some(open) if open == c => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            _ => {}
        }
        c == '/' && quote.is_none()
    });
    parts.filter(|part| !part.is_empty()).map(Step::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_and_key_has_its_module() {
        let port = "/a:ports/port[name='x/y]']/b:table/entry[index='1']/value";
        assert_eq!(xpath(port), "/a:ports/a:port[a:name='x/y]']/b:table/b:entry[b:index='1']/b:value");
        assert_eq!(xpath("/a:ports/port[2]/name[.='x']"), "/a:ports/a:port[2]/a:name[.='x']");
        assert_eq!(xpath("/a:ports/port[name=\"it's\"]"), "/a:ports/a:port[a:name=\"it's\"]");
        let two = "/a:ports/port[name='x/y]'][on='true']";
        assert_eq!(xpath(two), "/a:ports/a:port[a:name='x/y]'][a:on='true']");
        assert_eq!((xpath("/").as_str(), xpath("").as_str()), ("/", "/"));
    }

    #[test]
    fn words_name_entries_and_the_end() {
        assert_eq!(words("/a:ports/port[name='x/y]']/b:table/entry[index='1']/value"), "port x/y], entry 1, value");
        assert_eq!(words("/a:ports/port[name='eth1']"), "port eth1");
        assert_eq!(words("/a:ports/port[name='eth1'][on='true']/value"), "port eth1 true, value");
        assert_eq!((words("/a:ports").as_str(), words("/").as_str()), ("ports", ""));
    }
}
