use std::fmt::{self, Display, Formatter, Write as _};

use super::{Action, CORE, Script, Value};

/// The maximum length of an action's line. A longer action has one line for each parameter.
const WIDTH: usize = 100;
const INDENT: &str = "    ";

impl Display for Script {
    /// Prints the script, in one form for all scripts of the same meaning.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for action in &self.actions {
            comments(out, &action.comments)?;
            writeln!(out, "{action}")?;
        }
        comments(out, &self.comments)
    }
}

fn comments(out: &mut Formatter<'_>, comments: &[String]) -> fmt::Result {
    comments.iter().try_for_each(|comment| writeln!(out, "{}", format!("// {comment}").trim_end()))
}

impl Display for Action {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut head = "!".repeat(self.marks);
        if self.actor != CORE {
            write!(head, "{}.", self.actor)?;
        }
        head.push_str(&self.name);
        for word in &self.positional {
            write!(head, " {word}")?;
        }
        let given: Vec<String> = self.arguments.iter().map(|(key, value)| format!("{key}:{value}")).collect();
        // A key without a value ends its line: the next word would be parsed as its value.
        let short = given.iter().all(|one| !one.ends_with(':') && !one.contains('\n'));
        let all = [&[head.clone()], &given[..]].concat().join(" ");
        if short && all.len() <= WIDTH {
            return out.write_str(&all);
        }
        out.write_str(&head)?;
        given.iter().try_for_each(|one| write!(out, "\n{INDENT}{one}"))
    }
}

impl Display for Value {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => out.write_str(word),
            Self::Text(text) => quoted(out, text),
            Self::List(items) => {
                // A word with a bracket can only come from a list without brackets.
                let bare = items.iter().any(|item| matches!(item, Self::Word(word) if word.contains(']')));
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                let items = items.join(",");
                if bare { out.write_str(&items) } else { write!(out, "[{items}]") }
            }
        }
    }
}

/// Prints a text in quotes. Lines after the first are indented; the parser removes that.
fn quoted(out: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let text = text.replace('\'', "''");
    out.write_char('\'')?;
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.write_char('\n')?;
            if !line.is_empty() {
                out.write_str(INDENT)?;
            }
        }
        out.write_str(line)?;
    }
    out.write_char('\'')
}
