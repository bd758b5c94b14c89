//! Conditions: `NET && (A || B="x")`. Their values are n, m or y.

use std::fmt;

use ontick_machine::facts::KernelConfig;

/// A value of an option or a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tri {
    /// n.
    No,
    /// m.
    Module,
    /// y.
    Yes,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// An option, or the constants n, m and y.
    Symbol(String),
    /// Two words compared: whether they must be the same, or how they must stand to each other.
    Compare(String, &'static str, String),
    /// Not.
    Not(Box<Expression>),
    /// Both.
    And(Box<Expression>, Box<Expression>),
    /// Either.
    Or(Box<Expression>, Box<Expression>),
    /// What only the kernel's own tools can tell (a compiler's abilities).
    Unknown(String),
}

/// Deeper nesting than any tree has; what goes on is not read.
const DEEPEST: usize = 50;

impl Expression {
    /// Reads a condition; what is not one becomes [`Expression::Unknown`].
    pub fn parse(text: &str) -> Self {
        let mut words = words(text);
        words.reverse();
        match either(&mut words, 0) {
            Some(expression) if words.is_empty() => expression,
            _ => Self::Unknown(text.trim().to_owned()),
        }
    }

    /// Its value in a configuration, where that can be known.
    pub fn value(&self, config: &KernelConfig) -> Option<Tri> {
        match self {
            Self::Symbol(name) => Some(value(name, config)),
            Self::Compare(left, how, right) => compare(&word(left, config), how, &word(right, config)),
            Self::Not(inner) => inner.value(config).map(|value| match value {
                Tri::No => Tri::Yes,
                Tri::Module => Tri::Module,
                Tri::Yes => Tri::No,
            }),
            Self::And(a, b) => match (a.value(config), b.value(config)) {
                (Some(Tri::No), _) | (_, Some(Tri::No)) => Some(Tri::No),
                (a, b) => Some(a?.min(b?)),
            },
            Self::Or(a, b) => match (a.value(config), b.value(config)) {
                (Some(Tri::Yes), _) | (_, Some(Tri::Yes)) => Some(Tri::Yes),
                (a, b) => Some(a?.max(b?)),
            },
            Self::Unknown(_) => None,
        }
    }

    /// The parts that do not hold, in words; none where it holds or cannot be known.
    pub fn unmet(&self, config: &KernelConfig) -> Vec<String> {
        if self.value(config) != Some(Tri::No) {
            return Vec::new();
        }
        match self {
            Self::And(a, b) => [a, b].into_iter().flat_map(|side| side.unmet(config)).collect(),
            Self::Symbol(name) => vec![format!("{name}, which is not set")],
            Self::Not(inner) => match inner.as_ref() {
                Self::Symbol(name) => vec![format!("!{name}, which is {}", config.get(name).unwrap_or("y"))],
                _ => vec![self.to_string()],
            },
            _ => vec![self.to_string()],
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let joined = |f: &mut fmt::Formatter, side: &Self| match side {
            Self::And(..) | Self::Or(..) => write!(f, "({side})"),
            _ => write!(f, "{side}"),
        };
        match self {
            Self::Symbol(name) | Self::Unknown(name) => f.write_str(name),
            Self::Compare(left, how, right) => write!(f, "{left}{how}{right}"),
            Self::Not(inner) => {
                f.write_str("!")?;
                joined(f, inner)
            }
            Self::And(a, b) => {
                joined(f, a)?;
                f.write_str(" && ")?;
                joined(f, b)
            }
            Self::Or(a, b) => {
                joined(f, a)?;
                f.write_str(" || ")?;
                joined(f, b)
            }
        }
    }
}

fn value(name: &str, config: &KernelConfig) -> Tri {
    match config.get(name).unwrap_or(name) {
        "y" => Tri::Yes,
        "m" => Tri::Module,
        _ => Tri::No,
    }
}

/// What a word of a comparison stands for: an option's value, or itself.
fn word(word: &str, config: &KernelConfig) -> String {
    let constant = matches!(word, "y" | "m" | "n") || word.starts_with(|c: char| c.is_ascii_digit());
    match config.get(word) {
        Some(value) if !constant => value.to_owned(),
        // An option that is not set compares as n, a word in quotes as itself.
        None if !constant && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_') => {
            "n".into()
        }
        _ => word.to_owned(),
    }
}

fn compare(left: &str, how: &str, right: &str) -> Option<Tri> {
    let numbers = || Some((left.parse::<i64>().ok()?, right.parse::<i64>().ok()?));
    let holds = match how {
        "=" => left == right,
        "!=" => left != right,
        "<" => numbers().map(|(l, r)| l < r)?,
        "<=" => numbers().map(|(l, r)| l <= r)?,
        ">" => numbers().map(|(l, r)| l > r)?,
        _ => numbers().map(|(l, r)| l >= r)?,
    };
    Some(if holds { Tri::Yes } else { Tri::No })
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => break,
            '"' | '\'' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            '$' => rest.find(')').map_or(rest.len(), |end| end + 1),
            _ => match ["&&", "||", "!=", "<=", ">="].into_iter().find(|two| rest.starts_with(two)) {
                Some(two) => two.len(),
                None if "()!=<>".contains(first) => 1,
                None => {
                    let end = |c: char| c.is_whitespace() || "()!=<>&|#\"'".contains(c);
                    rest.find(end).unwrap_or(rest.len()).max(first.len_utf8())
                }
            },
        };
        words.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    words
}

/// Words lie with the next one last.
fn either(words: &mut Vec<String>, depth: usize) -> Option<Expression> {
    let mut left = both(words, depth)?;
    while words.last().is_some_and(|word| word == "||") {
        words.pop();
        left = Expression::Or(Box::new(left), Box::new(both(words, depth)?));
    }
    Some(left)
}

fn both(words: &mut Vec<String>, depth: usize) -> Option<Expression> {
    let mut left = one(words, depth)?;
    while words.last().is_some_and(|word| word == "&&") {
        words.pop();
        left = Expression::And(Box::new(left), Box::new(one(words, depth)?));
    }
    Some(left)
}

fn one(words: &mut Vec<String>, depth: usize) -> Option<Expression> {
    if depth > DEEPEST {
        return None;
    }
    let word = words.pop()?;
    match word.as_str() {
        "!" => Some(Expression::Not(Box::new(one(words, depth + 1)?))),
        "(" => {
            let inner = either(words, depth + 1)?;
            (words.pop()? == ")").then_some(inner)
        }
        ")" | "&&" | "||" | "=" | "!=" | "<" | "<=" | ">" | ">=" => None,
        _ if word.starts_with('$') => Some(Expression::Unknown(word)),
        _ => {
            let how = ["=", "!=", "<=", ">=", "<", ">"].into_iter().find(|how| words.last().is_some_and(|w| w == how));
            let Some(how) = how else { return Some(Expression::Symbol(plain(&word))) };
            words.pop();
            Some(Expression::Compare(plain(&word), how, plain(&words.pop()?)))
        }
    }
}

fn plain(word: &str) -> String {
    word.trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Option<Tri> {
        Expression::parse(text).value(&KernelConfig::parse("x", "CONFIG_Y=y\nCONFIG_M=m\nCONFIG_N64=64\n"))
    }

    #[test]
    fn conditions_have_three_values_or_cannot_be_reported() {
        let cases = [
            ("Y", Some(Tri::Yes)),
            ("M && Y", Some(Tri::Module)),
            ("NONE || M", Some(Tri::Module)),
            ("!(NONE || M)", Some(Tri::Module)),
            ("!Y || NONE", Some(Tri::No)),
            ("N64 >= 32 && M=m && NONE!=y", Some(Tri::Yes)),
            ("NONE=n", Some(Tri::Yes)),
            ("$(cc-option,-mabi) && Y", None),
            ("$(cc-option,-mabi) && NONE", Some(Tri::No)),
            ("Y &&", None),
            ("(Y", None),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), expected, "{text}");
        }
        assert_eq!(value(&"!".repeat(10_000)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[A-Z!&|()=<>\"$ ä#]{0,40}") {
            let read = Expression::parse(&text);
            let config = KernelConfig::parse("x", "CONFIG_A=y\n");
            prop_assert_eq!(read.unmet(&config).is_empty(), read.value(&config) != Some(Tri::No));
        }

        #[test]
        fn what_is_shown_is_read_again(text in "(A|!B|C=y)( (&&|\\|\\|) (A|!\\(B && C\\)|D)){0,5}") {
            let read = Expression::parse(&text);
            prop_assert_eq!(Expression::parse(&read.to_string()), read);
        }
    }
}
