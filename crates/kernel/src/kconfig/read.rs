//! Reads Kconfig files, line by line.

use super::{Definition, Expression, Options, Select};

/// No tree has more files under each other than this; a file that sources itself ends here.
const DEEPEST: usize = 30;
/// A tree has about 1700 files.
const MOST_FILES: usize = 20_000;

/// Follows a file and what it sources; `file` gives a file's text.
pub(super) fn read(options: &mut Options, file: &dyn Fn(&str) -> Option<String>, path: &str) {
    Reader { options, file, blocks: Vec::new(), choices: 0, files: 0 }.follow(path, 0);
}

struct Reader<'a> {
    options: &'a mut Options,
    file: &'a dyn Fn(&str) -> Option<String>,
    /// What is open around the current line, with what it makes everything inside depend on.
    blocks: Vec<Block>,
    choices: usize,
    files: usize,
}

#[derive(Default)]
struct Block {
    depends: Vec<Expression>,
    choice: Option<usize>,
}

/// What `depends on` and the like belong to.
enum About {
    Nothing,
    Block,
    Option(String),
}

impl Reader<'_> {
    fn follow(&mut self, path: &str, depth: usize) {
        let Some(text) = (self.file)(path).filter(|_| depth < DEEPEST && self.files < MOST_FILES) else { return };
        self.files += 1;
        let open = self.blocks.len();
        let mut about = About::Nothing;
        let mut lines = Lines { lines: text.lines().enumerate().peekable() };
        while let Some((number, line)) = lines.next() {
            let line = line.trim();
            let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
            match word {
                "help" | "---help---" => lines.skip_help(),
                "config" | "menuconfig" => about = self.option(rest.trim(), format!("{path}:{number}")),
                "if" => about = self.open(Block { depends: vec![Expression::parse(rest)], choice: None }),
                "menu" => about = self.open(Block::default()),
                "choice" => {
                    self.choices += 1;
                    about = self.open(Block { depends: Vec::new(), choice: Some(self.choices) });
                }
                "endif" | "endmenu" | "endchoice" => {
                    self.blocks.truncate(open.max(self.blocks.len().saturating_sub(1)));
                    about = About::Nothing;
                }
                "comment" => about = About::Nothing,
                "source" => {
                    about = About::Nothing;
                    self.follow(rest.trim().trim_matches('"'), depth + 1);
                }
                _ => self.attribute(&about, word, rest),
            }
        }
        self.blocks.truncate(open);
    }

    fn open(&mut self, block: Block) -> About {
        self.blocks.push(block);
        About::Block
    }

    fn option(&mut self, name: &str, place: String) -> About {
        let name = name.split_whitespace().next().unwrap_or_default().to_owned();
        let depends = self.blocks.iter().flat_map(|block| block.depends.clone()).collect();
        let choice = self.blocks.last().and_then(|block| block.choice);
        let definition = Definition { place, depends, choice, ..Definition::default() };
        self.options.definitions.entry(name.clone()).or_default().push(definition);
        About::Option(name)
    }

    fn attribute(&mut self, about: &About, word: &str, rest: &str) {
        let depends = || Expression::parse(rest.trim_start().strip_prefix("on").unwrap_or(rest));
        match (about, word) {
            (About::Block, "depends") => self.blocks.last_mut().into_iter().for_each(|b| b.depends.push(depends())),
            (About::Option(name), "select") => {
                let (target, when) =
                    rest.split_once(" if ").map_or((rest, None), |(target, when)| (target, Some(when)));
                let target = target.split_whitespace().next().unwrap_or_default().to_owned();
                let select = Select { by: name.clone(), when: when.map(Expression::parse) };
                self.options.selects.entry(target).or_default().push(select);
            }
            (About::Option(name), _) => {
                let Some(definition) = self.options.definitions.get_mut(name).and_then(|all| all.last_mut()) else {
                    return;
                };
                definition.yes_or_no |= matches!(word, "bool" | "def_bool");
                match word {
                    "depends" => definition.depends.push(depends()),
                    "prompt" => definition.prompt = true,
                    "bool" | "tristate" | "int" | "hex" | "string" => definition.prompt |= rest.contains('"'),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

struct Lines<'a, I: Iterator<Item = (usize, &'a str)>> {
    lines: std::iter::Peekable<I>,
}

impl<'a, I: Iterator<Item = (usize, &'a str)>> Lines<'a, I> {
    /// The next line with its number, lines that go on (`\`) joined.
    fn next(&mut self) -> Option<(usize, String)> {
        let (number, line) = self.lines.next()?;
        let mut whole = line.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            whole.push_str(self.lines.next().map_or("", |(_, more)| more));
        }
        Some((number + 1, whole))
    }

    /// Help is what is indented at least as far as its first line.
    fn skip_help(&mut self) {
        let mut first = None;
        while let Some((_, line)) = self.lines.peek() {
            if !line.trim().is_empty() {
                let indent = indent(line);
                if indent == 0 || indent < *first.get_or_insert(indent) {
                    return;
                }
            }
            self.lines.next();
        }
    }
}

/// How far a line is indented; a tab goes to the next multiple of eight.
fn indent(line: &str) -> usize {
    let mut column = 0;
    for c in line.chars() {
        match c {
            ' ' => column += 1,
            '\t' => column = (column / 8 + 1) * 8,
            _ => break,
        }
    }
    column
}
