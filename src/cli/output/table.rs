//! Tables with aligned columns that fit the terminal.

use crate::cli::output::{self, Line, Style};
use crate::model::Timestamp;

/// The behaviour of a column if there is not enough room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) enum Fit {
    /// The column stays unchanged.
    Keep,
    /// The cells of the column are cut, down to [`NARROWEST`].
    Cut,
    /// The column may be left out. The one with the highest number goes first.
    Spare(u8),
}

/// A table of rows in aligned columns. Colour codes take no room.
#[derive(Debug)]
pub(in crate::cli) struct Table {
    fits: Vec<Fit>,
    rows: Vec<Vec<Line>>,
}

/// The maximum number of characters of a cell.
const MAX_CELL_CHARS: usize = 40;
/// The minimum width of a cut cell as long as other columns can be left out.
const NARROW: usize = 12;
/// The minimum width of a cut cell.
const NARROWEST: usize = 6;
/// The number of spaces between two columns.
const GAP: usize = 2;

impl Table {
    pub(in crate::cli) fn new(style: Style, head: &[(&str, Fit)]) -> Self {
        let (names, fits) = head.iter().map(|(name, fit)| (style.bold(*name), *fit)).unzip();
        Self { fits, rows: vec![names] }
    }

    pub(in crate::cli) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Line>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Prints the table to fit the terminal. Prints everything into a file or pipe.
    pub(in crate::cli) fn print(&self) -> anyhow::Result<()> {
        output::document(&self.text(output::columns()))
    }

    fn text(&self, room: Option<usize>) -> String {
        let widest = |at| self.rows.iter().filter_map(|row| row.get(at)).map(Line::width).max().unwrap_or_default();
        let mut columns: Vec<(usize, usize)> = (0..self.fits.len()).map(|at| (at, widest(at))).collect();
        if let Some(room) = room {
            self.fit(&mut columns, room);
            if columns.iter().map(|(_, width)| width + GAP).sum::<usize>() > room + GAP {
                return self.records(room);
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (at, width) in &columns {
                let cell = row.get(*at).map(|cell| cell.cut(*width)).unwrap_or_default();
                line.push_str(cell.as_str());
                line.push_str(&" ".repeat(width + GAP - cell.width()));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Returns each row as a list of its cells, one below the other, if there is no room for columns.
    fn records(&self, room: usize) -> String {
        let Some((head, rows)) = self.rows.split_first() else { return String::new() };
        let widest = head.iter().map(Line::width).max().unwrap_or_default();
        let record = |row: &Vec<Line>| {
            head.iter().zip(row).zip(&self.fits).fold(String::new(), |text, ((name, cell), fit)| {
                let most = room.saturating_sub(widest + GAP).max(NARROWEST);
                let cell = if *fit == Fit::Cut { cell.cut(most) } else { cell.clone() };
                format!("{text}{}{}{}\n", name.as_str(), " ".repeat(widest + GAP - name.width()), cell.as_str())
            })
        };
        rows.iter().map(record).collect::<Vec<_>>().join("\n")
    }

    /// Leaves out columns and narrows others until all fit or nothing more can be done.
    fn fit(&self, columns: &mut Vec<(usize, usize)>, room: usize) {
        let too_wide = |columns: &[(usize, usize)], cut: bool| {
            let width = |(at, width): &(usize, usize)| if cut && self.fits[*at] == Fit::Cut { *width.min(&NARROW) } else { *width } + GAP;
            (columns.iter().map(width).sum::<usize>().saturating_sub(GAP)).saturating_sub(room)
        };
        while too_wide(columns, true) > 0
            && let Some(index) =
                (0..columns.len()).filter(|index| self.fits[columns[*index].0] > Fit::Cut).max_by_key(|index| self.fits[columns[*index].0])
        {
            columns.remove(index);
        }
        while too_wide(columns, false) > 0
            && let Some((_, width)) =
                columns.iter_mut().filter(|(at, width)| self.fits[*at] == Fit::Cut && *width > NARROWEST).max_by_key(|(_, width)| *width)
        {
            *width -= 1;
        }
    }
}

/// Turns the texts and lines of a row into cells.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { [$($crate::cli::output::Line::from($cell)),*] };
}
pub(in crate::cli) use cells;

/// Formats the time since a point in time, in its largest meaningful unit.
pub(in crate::cli) fn ago(time: Option<Timestamp>) -> String {
    let Some(time) = time else { return "-".to_owned() };
    match Timestamp::local().since(time).as_secs() {
        seconds @ 0..=99 => format!("{seconds}s ago"),
        seconds @ 100..=5_999 => format!("{}m ago", seconds / 60),
        seconds @ 6_000..=172_799 => format!("{}h ago", seconds / 3600),
        seconds => format!("{}d ago", seconds / 86_400),
    }
}

/// Formats a name or text for a table cell: short, on one line.
pub(in crate::cli) fn cell(text: &str) -> Line {
    Line::from(text.lines().next().unwrap_or_default()).cut(MAX_CELL_CHARS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_whatever_their_colour() {
        let (plain, style) = (Style::coloured(false), Style::coloured(true));
        let mut table = Table::new(plain, &[("ID", Fit::Keep), ("STATUS", Fit::Keep), ("X", Fit::Keep)]);
        table.row(cells!["1", style.green("finished"), "a"]);
        table.row(["22", "failed", "b"]);
        assert_eq!(table.text(None), "ID  STATUS    X\n1   \x1b[32mfinished\x1b[0m  a\n22  failed    b\n");
    }

    #[test]
    fn narrow_tables_drop_columns_before_they_cut_cells() {
        let head = [("ID", Fit::Keep), ("LESS", Fit::Spare(2)), ("LEAST", Fit::Spare(9)), ("NAME", Fit::Cut)];
        let mut table = Table::new(Style::coloured(false), &head);
        table.row(cells!["1", "a", "b", Style::coloured(true).dim("a long name")]);
        assert_eq!(table.text(Some(28)).lines().next().unwrap(), "ID  LESS  LEAST  NAME");
        assert_eq!(table.text(Some(22)), "ID  LESS  NAME\n1   a     \x1b[2ma long name\x1b[0m\n");
        assert_eq!(table.text(Some(18)), "ID  NAME\n1   \x1b[2ma long name\x1b[0m\n");
        assert_eq!(table.text(Some(10)), "ID  NAME\n1   \x1b[2ma lon…\x1b[0m\n");
    }

    #[test]
    fn what_does_not_fit_side_by_side_stands_below_each_other() {
        let mut table = Table::new(Style::coloured(false), &[("ID", Fit::Keep), ("NOTE", Fit::Spare(1)), ("NAME", Fit::Cut)]);
        table.row(cells!["0123456789", "x", "a rather long name"]);
        table.row(["1", "y", "b"]);
        assert_eq!(table.text(Some(18)), "ID          NAME\n0123456789  a rat…\n1           b\n");
        assert_eq!(table.text(Some(17)), "ID    0123456789\nNOTE  x\nNAME  a rather l…\n\nID    1\nNOTE  y\nNAME  b\n");
        assert_eq!(Table::new(Style::coloured(false), &[("A LONG NAME", Fit::Keep)]).text(Some(5)), "");
    }

    #[test]
    fn a_cell_is_short_and_on_one_line() {
        assert_eq!(cell(&"x".repeat(60)).as_str(), format!("{}…", "x".repeat(MAX_CELL_CHARS)));
        assert_eq!(cell("one\ntwo").as_str(), "one");
    }
}
