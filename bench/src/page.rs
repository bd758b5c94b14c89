//! What is shown, once: on the terminal as it comes, and as Markdown at the end.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use ontick_record::store;

/// What stands around figures in a page, by their name.
fn marks(name: &str) -> [String; 2] {
    ["begin", "end"].map(|end| format!("<!-- {name}: {end} -->"))
}

/// Rows of cells under a head.
#[derive(Debug, Clone, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Columns beyond the first hold figures, which stand to the right.
    figures: bool,
}

impl Table {
    /// A table of figures, without rows yet.
    pub fn new(head: &[&str]) -> Self {
        Self { figures: true, ..Self::of_words(head) }
    }

    /// A table of words, without rows yet.
    pub fn of_words(head: &[&str]) -> Self {
        Self { head: head.iter().map(|cell| (*cell).into()).collect(), rows: Vec::new(), figures: false }
    }

    fn to_the_right(&self, column: usize) -> bool {
        self.figures && column > 0
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Columns in line.
    fn text(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |i: usize| lines().filter_map(|line| line.get(i)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..self.head.len()).filter_map(width).collect();
        let line = |cells: &Vec<String>| {
            let columns = cells.iter().zip(&widths).enumerate();
            let line: String = columns
                .map(
                    |(i, (cell, width))| {
                        if self.to_the_right(i) { format!("  {cell:>width$}") } else { format!("  {cell:width$}") }
                    },
                )
                .collect();
            line.trim_end().to_owned() + "\n"
        };
        lines().map(line).collect()
    }

    fn markdown(&self) -> String {
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('<', "&lt;")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<&str> = (0..self.head.len()).map(|i| if self.to_the_right(i) { "---:" } else { "---" }).collect();
        let rows: String = self.rows.iter().map(line).collect();
        format!("{}| {} |\n{rows}", line(&self.head), rule.join(" | "))
    }
}

/// Everything shown so far, as Markdown.
#[derive(Debug, Default)]
pub struct Page {
    markdown: String,
}

impl Page {
    /// Begins a section.
    pub fn heading(&mut self, heading: &str) {
        println!("\n{heading}");
        self.add(&format!("### {heading}\n"));
    }

    /// A sentence or several.
    pub fn words(&mut self, words: &str) {
        println!("  {words}");
        self.add(&format!("{}\n", words.replace('<', "&lt;")));
    }

    /// A table.
    pub fn table(&mut self, table: &Table) {
        print!("{}", table.text());
        self.add(&table.markdown());
    }

    /// A table that the terminal has seen line by line already.
    pub fn folded(&mut self, title: &str, table: &Table) {
        self.add(&format!("<details><summary>{title}</summary>\n\n{}\n</details>\n", table.markdown()));
    }

    /// A picture in `images` beside the page's file, which the terminal does not show.
    pub fn picture(&mut self, page: &Path, name: &str, svg: &str, shows: &str) -> Result<(), String> {
        let folder = page.parent().unwrap_or(Path::new("")).join("images");
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let file = folder.join(name);
        store::write_whole(&file, svg.as_bytes()).map_err(|e| e.to_string())?;
        give_back(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        self.add(&format!("![{shows}](images/{name})\n"));
        Ok(())
    }

    /// Commands, as they were run.
    pub fn commands(&mut self, commands: &[String]) {
        commands.iter().for_each(|command| println!("  {command}"));
        self.add(&format!("```\n{}\n```\n", commands.join("\n")));
    }

    fn add(&mut self, markdown: &str) {
        self.markdown.push_str(markdown);
        self.markdown.push('\n');
    }

    /// Writes it to a file: between the marks of this name where the file has them, else at its end.
    pub fn write(&self, path: &Path, name: &str) -> Result<(), String> {
        let before = if path.is_file() { store::read_text(path).map_err(|e| e.to_string())? } else { String::new() };
        let text = placed(&before, name, &self.markdown);
        store::write_whole(path, text.as_bytes()).map_err(|e| e.to_string())?;
        give_back(path).map_err(|e| format!("{}: {e}", path.display()))
    }
}

fn placed(before: &str, name: &str, figures: &str) -> String {
    let [begin, end] = marks(name);
    match (before.find(&begin), before.find(&end)) {
        (Some(at), Some(until)) if at < until => format!("{}{begin}\n\n{figures}{}", &before[..at], &before[until..]),
        _ => format!("{before}{begin}\n\n{figures}{end}\n"),
    }
}

/// A file written as root belongs to whoever owns the folder.
fn give_back(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (folder, file) = (fs::metadata(folder)?, fs::metadata(path)?);
    match file.is_file() && rustix::process::geteuid().is_root() && file.uid() != folder.uid() {
        true => chown(path, Some(folder.uid()), Some(folder.gid())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_the_same_both_ways() {
        let mut table = Table::new(&["side", "< 3us"]);
        table.row(["ontick".to_string(), "99.98 %".to_string()]);
        assert_eq!(table.text(), "  side      < 3us\n  ontick  99.98 %\n");
        assert_eq!(table.markdown(), "| side | &lt; 3us |\n| --- | ---: |\n| ontick | 99.98 % |\n");
    }

    #[test]
    fn figures_go_between_the_marks_and_nothing_else_changes() {
        let [[begin, end], [other, _]] = ["figures", "other figures"].map(marks);
        let page = format!("# Words\n{begin}\nold\n{end}\nmore\n{other}\n");
        let new = placed(&page, "figures", "figures\n");
        assert_eq!(new, format!("# Words\n{begin}\n\nfigures\n{end}\nmore\n{other}\n"));
        assert_eq!(placed(&new, "figures", "figures\n"), new);
        let appended = placed("words\n", "figures", "figures\n");
        assert_eq!(appended, format!("words\n{begin}\n\nfigures\n{end}\n"));
        assert_eq!(placed(&appended, "figures", "figures\n"), appended);
    }

    #[test]
    fn a_page_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("benchmarks.md");
        let mut page = Page::default();
        page.words("share < 3us");
        page.write(&path, "figures").unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("share &lt; 3us\n\n"));
    }
}
