use super::{Action, CORE, Position, Script, SyntaxError, Value, is_name};
use crate::rhai::functions::dedent;
use crate::rhai::native::excerpt;

/// The maximum number of exclamation marks of an action.
const MAX_MARKS: usize = 4;

/// Parses a script in linear time.
pub(super) fn parse(source: &str) -> Result<Script, SyntaxError> {
    Parser { rest: source, line: 1, column: 1, comments: Vec::new() }.script()
}

struct Parser<'s> {
    rest: &'s str,
    line: u32,
    column: u32,
    /// Comments that belong to no action yet.
    comments: Vec<String>,
}

impl<'s> Parser<'s> {
    fn script(mut self) -> Result<Script, SyntaxError> {
        if self.rest.starts_with("#!") {
            self.take_line();
        }
        let mut actions = Vec::new();
        loop {
            self.skip(char::is_whitespace);
            if self.rest.is_empty() {
                return Ok(Script { actions, comments: self.comments });
            }
            if self.rest.starts_with("//") {
                self.comment();
            } else if self.column > 1 {
                return Err(self.wrong("this line is indented, but there is no action before it that it could belong to"));
            } else if self.rest.starts_with('!') {
                actions.push(self.action()?);
            } else {
                let line = self.rest.lines().next().unwrap_or_default();
                return Err(self.wrong(format!("{:?} is no action such as !!actor.action; comments begin with //", excerpt(line))));
            }
        }
    }

    fn action(&mut self) -> Result<Action, SyntaxError> {
        let position = self.position();
        let marks = self.rest.len() - self.rest.trim_start_matches('!').len();
        if marks > MAX_MARKS {
            return Err(self.wrong(format!("an action has at most {MAX_MARKS} exclamation marks, and this has {marks}")));
        }
        self.advance(marks);
        let first = self.name("the name of an actor or an action")?;
        let (actor, name) = if self.rest.starts_with('.') {
            self.advance(1);
            (first, self.name("the name of an action")?)
        } else {
            (CORE.to_owned(), first)
        };
        if !self.rest.is_empty() && !self.rest.starts_with(char::is_whitespace) {
            let after = self.rest.chars().next().unwrap_or_default();
            return Err(self.wrong(format!("{after:?} stands behind the name of the action, where white space belongs")));
        }
        if (actor == "play" || actor == CORE) && name == "include" {
            return Err(SyntaxError { position, message: "scripts cannot include others".into() });
        }
        let mut action = Action {
            marks,
            actor,
            name,
            positional: Vec::new(),
            arguments: Vec::new(),
            comments: std::mem::take(&mut self.comments),
            position,
        };
        while self.goes_on() {
            if self.rest.starts_with("//") {
                self.comment();
                action.comments.append(&mut self.comments);
            } else {
                self.given(&mut action)?;
            }
        }
        Ok(action)
    }

    /// Moves to the next part of an action: on the same line, or on an indented one. A comment that is not indented
    /// belongs to the next action.
    fn goes_on(&mut self) -> bool {
        let ahead = self.rest.trim_start();
        let between = &self.rest[..self.rest.len() - ahead.len()];
        let ends = ahead.is_empty() || between.rsplit_once('\n').is_some_and(|(_, indent)| indent.is_empty());
        if !ends {
            self.advance(between.len());
        }
        !ends
    }

    /// Parses a key with its value, or a value without a key.
    fn given(&mut self, action: &mut Action) -> Result<(), SyntaxError> {
        if self.rest.starts_with('!') {
            return Err(self.wrong("an action begins at the start of its line; a value that begins with ! stands in quotes"));
        }
        let Some(key) = key(self.rest) else {
            let value = self.value()?;
            action.positional.push(value);
            return Ok(());
        };
        let position = self.position();
        self.advance(key.len() + 1);
        let apart = self.skip(|letter| letter.is_whitespace() && letter != '\n');
        if self.rest.is_empty() || self.rest.starts_with('\n') || (apart && self.rest.starts_with("//")) {
            action.arguments.push((key.to_lowercase(), Value::Word(String::new())));
            return Ok(());
        }
        if apart && self::key(self.rest).is_some() {
            let message = format!("it is not clear what the value of {key:?} is: put it in quotes, or '' if it has none");
            return Err(SyntaxError { position, message });
        }
        let value = self.value()?;
        action.arguments.push((key.to_lowercase(), value));
        Ok(())
    }

    /// Parses a value: a word, a text in quotes, or a list of these.
    fn value(&mut self) -> Result<Value, SyntaxError> {
        let brackets = self.rest.starts_with('[');
        if brackets {
            self.advance(1);
            self.blanks();
            if self.rest.starts_with(']') {
                self.advance(1);
                self.ended()?;
                return Ok(Value::List(Vec::new()));
            }
        }
        let mut items = vec![self.item(brackets)?];
        while self.comma() {
            items.push(self.item(brackets)?);
        }
        if brackets {
            self.blanks();
            if !self.rest.starts_with(']') {
                return Err(self.wrong("a list in brackets ends with ] on the same line"));
            }
            self.advance(1);
        }
        self.ended()?;
        match items.pop() {
            Some(only) if items.is_empty() && !brackets => Ok(only),
            Some(last) => {
                items.push(last);
                Ok(Value::List(items))
            }
            None => Ok(Value::List(items)),
        }
    }

    /// Parses a comma, with white space around it on the same line.
    fn comma(&mut self) -> bool {
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        if !self.rest[blanks..].starts_with(',') {
            return false;
        }
        self.advance(blanks + 1);
        self.blanks();
        true
    }

    /// Parses one value that is no list.
    fn item(&mut self, brackets: bool) -> Result<Value, SyntaxError> {
        if let Some(quote) = self.rest.chars().next().filter(|letter| matches!(letter, '\'' | '"')) {
            return self.quoted(quote).map(Value::Text);
        }
        let ends = |letter: char| letter.is_whitespace() || letter == ',' || (brackets && letter == ']');
        let word = &self.rest[..self.rest.find(ends).unwrap_or(self.rest.len())];
        if word.is_empty() {
            return Err(self.wrong("an element of the list is missing"));
        }
        if let Some(at) = word.find(['\'', '"']) {
            self.advance(at);
            return Err(self.wrong("a quote stands within a word: put the whole value in quotes, and write a quote in it twice"));
        }
        self.advance(word.len());
        Ok(Value::Word(word.to_owned()))
    }

    /// Parses a text in quotes. A doubled quote is one quote of the text. Lines after the first lose their common
    /// leading white space.
    fn quoted(&mut self, quote: char) -> Result<String, SyntaxError> {
        let began = self.position();
        self.advance(1);
        let mut text = String::new();
        loop {
            let Some(at) = self.rest.find(quote) else {
                return Err(SyntaxError { position: began, message: format!("this quote ({quote}) is not closed") });
            };
            text.push_str(&self.rest[..at]);
            self.advance(at + 1);
            if !self.rest.starts_with(quote) {
                break;
            }
            text.push(quote);
            self.advance(1);
        }
        let Some((first, rest)) = text.split_once('\n') else { return Ok(text) };
        let rest: Vec<&str> = rest.split('\n').map(|line| line.trim_end_matches('\r')).collect();
        Ok(format!("{}\n{}", first.trim_end(), dedent(&rest.join("\n"))))
    }

    /// Checks that a value ends where it may.
    fn ended(&self) -> Result<(), SyntaxError> {
        if self.rest.is_empty() || self.rest.starts_with(char::is_whitespace) {
            return Ok(());
        }
        let word = self.rest.split(char::is_whitespace).next().unwrap_or_default();
        Err(self.wrong(format!("{:?} stands right behind a value, where white space belongs", excerpt(word))))
    }

    fn name(&mut self, what: &str) -> Result<String, SyntaxError> {
        let end = self.rest.find(|letter: char| !is_name(letter)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.wrong(format!("{what} is missing: it has letters, digits and _")));
        }
        let name = self.rest[..end].to_lowercase();
        self.advance(end);
        Ok(name)
    }

    /// Parses a comment up to the end of its line.
    fn comment(&mut self) {
        let line = self.rest.lines().next().unwrap_or_default();
        self.comments.push(line.trim_start_matches('/').trim().to_owned());
        self.advance(line.len());
    }

    fn take_line(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        self.advance(end);
    }

    fn blanks(&mut self) {
        self.skip(|letter| letter == ' ' || letter == '\t');
    }

    /// Skips characters that match, and returns whether there were any.
    fn skip(&mut self, such: impl Fn(char) -> bool) -> bool {
        let end = self.rest.find(|letter| !such(letter)).unwrap_or(self.rest.len());
        self.advance(end);
        end > 0
    }

    /// Advances by this number of bytes.
    fn advance(&mut self, bytes: usize) {
        let (gone, rest) = self.rest.split_at(bytes);
        for letter in gone.chars() {
            (self.line, self.column) =
                if letter == '\n' { (self.line.saturating_add(1), 1) } else { (self.line, self.column.saturating_add(1)) };
        }
        self.rest = rest;
    }

    fn position(&self) -> Position {
        Position { line: self.line, column: self.column }
    }

    fn wrong(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError { position: self.position(), message: message.into() }
    }
}

/// Returns the key at the beginning of a text: a name with a colon, but not the beginning of an address such as
/// `https://`.
fn key(text: &str) -> Option<&str> {
    let end = text.find(|letter: char| !is_name(letter) && !matches!(letter, '.' | '-'))?;
    let (key, behind) = text.split_at(end);
    let begins = key.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    (begins && behind.starts_with(':') && !behind.starts_with("://")).then_some(key)
}
