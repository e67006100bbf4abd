use serde_json::{Value, json};

use crate::cli::output::{Line, Style, json_text};
use crate::exit::Exit;
use crate::model::{ErrorKind, JobError, Seconds, excerpt as excerpt_of, tree};

/// A script that does not compile.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {}", error.message)]
pub(in crate::cli) struct ScriptError {
    /// The name of its file.
    pub(in crate::cli) file: String,
    /// Its text.
    pub(in crate::cli) script: String,
    /// Why it does not compile.
    pub(in crate::cli) error: JobError,
    /// The index of its job, in a list of jobs.
    pub(in crate::cli) index: Option<usize>,
    /// The exit code of the command.
    pub(in crate::cli) exit: Exit,
}

impl ScriptError {
    /// Returns the error as data for programs, in the same form as a server's.
    pub(in crate::cli) fn data(&self) -> Value {
        let mut data = json!({ "error": self.error });
        if let Some(index) = self.index {
            data["index"] = json!(index);
        }
        data
    }

    /// Formats the error for people.
    pub(in crate::cli) fn render(&self, style: Style) -> Vec<Line> {
        render(style, &self.file, &self.script, None, &self.error)
    }
}

/// Formats the error of a script as compilers do: `file:line:column: message`, the line, and a caret.
pub(in crate::cli) fn render(style: Style, file: &str, script: &str, timeout: Option<Seconds>, error: &JobError) -> Vec<Line> {
    let place = match (error.line, error.column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}: "),
        (Some(line), None) => format!("{file}:{line}: "),
        _ => format!("{file}: "),
    };
    let kind = match error.limit {
        Some(limit) => format!("{} ({})", error.kind.as_str(), limit.as_str()),
        None => error.kind.as_str().to_owned(),
    };
    // Replaces the message of a timeout, which tells people no more than the kind.
    let limit = timeout.map_or_else(String::new, |timeout| format!("{timeout} s, "));
    let late = format!("it took longer than its timeout ({limit}--timeout)");
    let message = match (error.kind, error.message.as_str()) {
        (ErrorKind::Timeout, "timeout") => &late,
        (ErrorKind::Stopped, "stopped") => "before it ran",
        (ErrorKind::Stopped, "stopped_by_request") => "by request",
        (_, message) => message,
    };
    let mut lines = vec![style.bold(place) + style.red(format!("{kind}:")) + " " + message];
    let source = error.line.and_then(|line| Some((line, script.lines().nth((line as usize).checked_sub(1)?)?)));
    if let Some((number, source)) = source {
        let number = number.to_string();
        // The columns left next to the line number and the text before it.
        let room = style.columns.map_or(DEFAULT_WIDTH, |columns| columns.saturating_sub(number.len() + 7).clamp(20, DEFAULT_WIDTH));
        let (line, caret) = excerpt(source, error.column, room);
        let margin = " ".repeat(number.len());
        lines.push(Line::from("  ") + style.dim(format!("{number} |")) + " " + line);
        if let Some(caret) = caret {
            lines.push(Line::from("  ") + style.dim(format!("{margin} |")) + " " + " ".repeat(caret) + style.red("^"));
        }
    }
    lines.extend(error.stack.iter().map(|function| Line::from("  in ") + function));
    lines.extend(thrown(error).map(|data| Line::from("  ") + style.dim("data:") + " " + data));
    lines
}

/// The maximum number of shown characters of a thrown value.
const MOST_DATA: usize = 2000;

/// Returns the value that a script threw, if it tells more than the message. Processes leave their errors in the log.
fn thrown(error: &JobError) -> Option<String> {
    let data = error.data.as_ref()?;
    if let Ok(Value::Object(fields)) = tree(data.as_str()) {
        let of_process = fields.contains_key("stderr") && (fields.contains_key("exit_code") || fields.contains_key("signal"));
        if of_process || fields.len() == 1 && fields.get("message").and_then(Value::as_str) == Some(error.message.as_str()) {
            return None;
        }
    }
    let text = json_text(data).ok()?;
    Some(excerpt_of(&text, MOST_DATA).into_owned())
}

/// The maximum number of shown characters of a line if the terminal's width is unknown.
const DEFAULT_WIDTH: usize = 100;

/// Returns the shown part of a line, and the position of the caret below it. A longer line is cut around the column.
fn excerpt(source: &str, column: Option<u32>, room: usize) -> (String, Option<usize>) {
    let shown: Vec<char> = source.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(); // One column each, even tabs.
    let caret = column.map(|column| (column as usize).saturating_sub(1).min(shown.len()));
    let from = caret.unwrap_or(0).saturating_sub(room / 2).min(shown.len().saturating_sub(room));
    (shown.iter().skip(from).take(room).collect::<String>().trim_end().to_owned(), caret.map(|caret| caret - from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_points_at_the_column() {
        let mut error = JobError::new(ErrorKind::Script, "Variable not found: y");
        (error.line, error.column) = (Some(2), Some(9));
        error.stack.push("total".to_owned());
        let plain = Style::stdout(); // Not a terminal under test.
        let text = render(plain, "a.rhai", "let x = 1;\n\tlet z = y;\n", None, &error);
        let text = text.iter().map(Line::as_str).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        a.rhai:2:9: script: Variable not found: y
          2 |  let z = y;
            |         ^
          in total
        ");
    }

    #[test]
    fn what_was_thrown_is_shown_unless_the_message_says_it() {
        let shown = |message: &str, data: &str| {
            let error = JobError { data: Some(serde_json::from_str(data).unwrap()), ..JobError::new(ErrorKind::Script, message) };
            render(Style::stdout(), "a.rhai", "", None, &error)[1..].iter().map(|line| line.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown("no", r#"{"message": "no", "code": 7}"#), [r#"  data: {"message":"no","code":7}"#]);
        assert_eq!(shown("[1]", "[1]"), ["  data: [1]"]);
        assert!(shown("no", r#"{"message": "no"}"#).is_empty());
        assert!(shown("exit code 3: oh", r#"{"exit_code": 3, "stderr": ["oh"]}"#).is_empty());
        let long = format!("\"{}\"", "é".repeat(5000));
        assert!(shown("é", &long)[0].ends_with("é…"));
    }

    #[test]
    fn a_long_line_is_cut_around_the_column() {
        let (line, caret) = excerpt(&format!("{}!{}", "a".repeat(5000), "b".repeat(5000)), Some(5001), DEFAULT_WIDTH);
        assert_eq!(line.chars().nth(caret.unwrap()), Some('!'));
        assert!(line.len() <= 100);
        assert_eq!(excerpt("short", Some(900), DEFAULT_WIDTH).1, Some(5));
    }
}
