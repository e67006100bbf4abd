//! Finds the line of a process's stderr that explains its failure.

use std::mem::take;

/// Finds the line while lines arrive, so that the length of a following stack trace does not matter.
///
/// Most programs print it last. Some print a stack trace after it, and some end with a paragraph of one line that names
/// the program.
#[derive(Default)]
pub(super) struct Cause {
    /// The last paragraph, and the one before.
    last: Paragraph,
    former: Paragraph,
    /// True if an empty line follows the last line.
    has_ended: bool,
    /// The last line of a former paragraph whose words name an error.
    carried: Option<String>,
    /// The last advice.
    note: Option<String>,
}

/// Lines without an empty line between them.
#[derive(Default)]
struct Paragraph {
    lines: usize,
    /// The last line.
    last: String,
    /// The last line that is not indented, and does not only announce the next one.
    flush: Option<String>,
    /// The last line that names an error by its words or by its position.
    named: Option<String>,
    by_words: bool,
    /// True if it contains a stack trace.
    is_trace: bool,
}

impl Cause {
    /// Takes the next line.
    pub(super) fn line(&mut self, line: &str) {
        // Rust and compilers print advice after an error.
        if line.starts_with("note: ") {
            line.clone_into(self.note.get_or_insert_default());
            return;
        }
        if line.trim().is_empty() {
            self.has_ended = true;
            return;
        }
        if take(&mut self.has_ended) {
            self.former = take(&mut self.last);
            if self.former.by_words {
                self.carried.clone_from(&self.former.named);
            }
        }
        // The error itself may contain empty lines.
        if self.last.flush.is_none() && begins_a_trace(line) {
            self.last.named.clone_from(&self.carried);
            self.last.by_words = self.carried.is_some();
        }
        self.last.line(line);
    }

    /// Returns the line, if there is any.
    pub(super) fn told(&self) -> Option<&str> {
        let Paragraph { lines, last, flush, named, is_trace, .. } = &self.last;
        let is_signature = *lines == 1 && named.is_none() && is_version(last);
        let line = match self.former.named.as_ref().filter(|_| is_signature) {
            Some(named) => named,
            None if is_indented(last) || *is_trace => named.as_ref().or(flush.as_ref()).unwrap_or(last),
            None => last,
        };
        [Some(line.trim()), self.note.as_deref()].into_iter().flatten().find(|line| !line.is_empty())
    }
}

impl Paragraph {
    fn line(&mut self, line: &str) {
        // Interpreters mark the place in a line of the script.
        let is_marked = !self.last.is_empty() && self.last.chars().all(|letter| matches!(letter, ' ' | '\t' | '^' | '~'));
        // If a program continues after a trace, its later output says more.
        self.is_trace = begins_a_trace(line) || self.is_trace && (is_indented(line) || belongs_to_a_trace(line));
        if is_indented(line) {
            // The first call of a stack trace in the format of JavaScript, Java and .NET.
            if line.trim_start().starts_with("at ") && !self.by_words {
                self.named.clone_from(&self.flush);
            }
        } else {
            let by_words = names_an_error(line);
            if by_words || is_marked && !self.by_words {
                (self.named, self.by_words) = (Some(line.to_owned()), by_words);
            }
            if !line.ends_with(':') {
                self.flush = Some(line.to_owned());
            }
        }
        self.lines += 1;
        line.clone_into(&mut self.last);
    }
}

/// Whether it is a call of a stack trace in the format of JavaScript, Java and .NET, or the first line of one in Go.
fn begins_a_trace(line: &str) -> bool {
    is_indented(line) && line.trim_start().starts_with("at ") || line.starts_with("goroutine ") && line.ends_with(':')
}

/// Whether a line after a stack trace is no message of the program: the end of an object, a call in Go's format, or a
/// line that `go run` adds.
fn belongs_to_a_trace(line: &str) -> bool {
    line == "}" || line.ends_with(')') && !line.contains(' ') || line.starts_with("exit status ")
}

/// Whether it is the name of a program that runs scripts, with its version.
fn is_version(line: &str) -> bool {
    ["Node.js v", "Bun v"].iter().any(|program| line.starts_with(program))
}

fn is_indented(line: &str) -> bool {
    line.starts_with(char::is_whitespace)
}

/// Whether the text before the first colon is an error, such as in `TypeError: x` or `Exception in thread "main"
/// java.io.IOException: x`.
fn names_an_error(line: &str) -> bool {
    let before = line.split(':').next().unwrap_or_default();
    let kind = before.split(" [").next().unwrap_or_default();
    let kind = kind.split_whitespace().next_back().unwrap_or_default().to_ascii_lowercase();
    kind.ends_with("error") || kind.ends_with("exception") || matches!(before, "panic" | "fatal error")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<String> {
        let mut cause = Cause::default();
        text.lines().for_each(|line| cause.line(line));
        cause.told().map(ToOwned::to_owned)
    }

    #[test]
    fn the_line_that_names_the_error_tells_it_and_else_the_last() {
        for (text, line) in [
            ("one\ntwo\n\n", Some("two")),
            ("", None),
            (" \n", None),
            // The last message of a program wins over an error after which it continued.
            ("Error: no tea, but coffee\nno coffee", Some("no coffee")),
            ("Usage: brew [-t]\n  -t  tea\n\nno such option: -x", Some("no such option: -x")),
            ("error: bad leaf\n\n1 of 2 steps\nno coffee", Some("no coffee")),
            (
                "Traceback (most recent call last):\n  File \"x.py\", line 1\n    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero",
                Some("ZeroDivisionError: division by zero"),
            ),
            // Node.js
            (
                "x.js:1\nthrow new Error()\n^\n\nTypeError: no tea\n    at a (x.js:1:7)\n    at b (x.js:2:7) {\n  code: 1\n}\n\nNode.js v20.1.0",
                Some("TypeError: no tea"),
            ),
            (
                "x.js:1\n    ^\n\nError: Cannot find module 'a'\nRequire stack:\n- x.js\n    at a (x.js:1:7)\n\nNode.js v20.1.0",
                Some("Error: Cannot find module 'a'"),
            ),
            ("x.js:1\nthrow e\n^\n\nBroken: no tea\n    at a (x.js:1:7)\n\nNode.js v20.1.0", Some("Broken: no tea")),
            (
                "AssertionError [ERR_ASSERTION]: no tea\n    at a (x.js:1:7)\n\nNode.js v20.1.0",
                Some("AssertionError [ERR_ASSERTION]: no tea"),
            ),
            ("x.js:1\nthrow 'no tea'\n^\nno tea\n(Use `node --trace-uncaught ...` to show where)\n\nNode.js v20.1.0", Some("no tea")),
            // With empty lines in the error itself.
            (
                "node:assert:126\n  throw e;\n  ^\n\nAssertionError [X]: to be equal:\n\n2 !== 3\n\n    at a (x.js:1:7) {\n  code: 1\n}\n\nNode.js v20.1.0",
                Some("AssertionError [X]: to be equal:"),
            ),
            (
                "x.js:1\nthrow e\n^\n\nError: bad config:\n\n  port: missing\n    at a (x.js:1:7)\n\nNode.js v20.1.0",
                Some("Error: bad config:"),
            ),
            // An error after which the program continued is not the cause, even as a paragraph of its own.
            ("Error: no mirror 1; trying mirror 2\n\nno space left on /var", Some("no space left on /var")),
            ("Error: no mirror 1\n    at a (x.js:1:7)\nno space left on /var", Some("no space left on /var")),
            ("Error: no mirror 1\n    at a (x.js:1:7)\n\nno space left on /var", Some("no space left on /var")),
            // Go
            ("panic: no tea\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:3 +0x1d\nexit status 2", Some("panic: no tea")),
            // Advice alone is better than nothing.
            ("note: /var is full", Some("note: /var is full")),
            // Java
            (
                "Exception in thread \"main\" java.io.IOException: no tea\n\tat A.b(A.java:1)\nCaused by: x.Y: no leaf\n\tat A.c(A.java:2)\n\t... 1 more",
                Some("Exception in thread \"main\" java.io.IOException: no tea"),
            ),
            // Ruby, Lua
            ("x.rb:1:in `a': no tea (RuntimeError)\n\tfrom x.rb:2:in `<main>'", Some("x.rb:1:in `a': no tea (RuntimeError)")),
            ("lua: x.lua:1: no tea\nstack traceback:\n\t[C]: in function 'error'\n\t[C]: in ?", Some("lua: x.lua:1: no tea")),
            // Rust
            ("thread 'main' panicked at a.rs:1:1:\nno tea\nnote: run with `RUST_BACKTRACE=1` to see where", Some("no tea")),
            ("  only this", Some("only this")),
        ] {
            assert_eq!(told(text).as_deref(), line, "{text}");
        }
    }
}
