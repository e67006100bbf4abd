use rhai::{Dynamic, INT, ImmutableString, Map, NativeCallContext};

use super::definition::{Definition, Functions};
use crate::rhai::native::{Bounded, Native, excerpt, failed};
use crate::rhai::run::Run;

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "pad_start(value: any, length: int, fill?: string) -> string",
        description: "Adds spaces, or other characters, before the text of a value until it has `length` characters. A longer text stays unchanged.",
        errors: "",
        example: r#"7.pad_start(3, "0")"#,
        result: r#""007""#,
    },
    Definition {
        signature: "pad_end(value: any, length: int, fill?: string) -> string",
        description: "Adds spaces, or other characters, after the text of a value until it has `length` characters. A longer text stays unchanged.",
        errors: "",
        example: r#""total".pad_end(8, ".")"#,
        result: r#""total...""#,
    },
    Definition {
        signature: "dedent(text: string) -> string",
        description: "Removes the common leading white space of all lines. Lines with only white space become empty.",
        errors: "",
        example: "dedent(`\n    a:\n      b\n`)",
        result: r#""a:\n  b\n""#,
    },
    Definition {
        signature: "prefix(text: string, prefix: string) -> string",
        description: "Adds a string before each line of another string.",
        errors: "",
        example: r#"prefix("one\ntwo", "> ")"#,
        result: r#""> one\n> two""#,
    },
    Definition {
        signature: "template(text: string, values: map) -> string",
        description: "Replaces each `{{name}}` with the text of that value, and `{{customer.name}}` with the text of a value in a map.",
        errors: "a name has no value, or a `{{` is not closed; the message says which.",
        example: r#"template("Dear {{ customer.name }}, you owe {{sum}}.", #{ customer: #{ name: "Ada" }, sum: 12 })"#,
        result: r#""Dear Ada, you owe 12.""#,
    },
    Definition {
        signature: "name_fix(text: string) -> string",
        description: "Makes a name for files and keys: in lower case, with `_` for white space and for `,-\"'#!()[]=+<>@$%^&*`, never two `_` in a row, and without characters beyond ASCII.",
        errors: "",
        example: r#"name_fix("Überblick - 2026 (final).PDF")"#,
        result: r#""berblick_2026_final_.pdf""#,
    },
    Definition {
        signature: "path_fix(path: string) -> string",
        description: "Applies `name_fix` to the last part of a path. A path that ends with `/` stays unchanged.",
        errors: "",
        example: r#"path_fix("/data/My Files/Annual Report.txt")"#,
        result: r#""/data/My Files/annual_report.txt""#,
    },
];

/// Characters that `name_fix` replaces by `_`, besides white space.
const REPLACED: &str = ",-\"'#!()[]=+<>@$%^&*";

pub(super) fn add(functions: &mut Functions<'_>) {
    functions
        .add("pad_start", |context: NativeCallContext, value: Dynamic, length: INT| padded(&context, &value, length, " ", Side::Start));
    functions.add("pad_start", |context: NativeCallContext, value: Dynamic, length: INT, fill: &str| {
        padded(&context, &value, length, fill, Side::Start)
    });
    functions.add("pad_end", |context: NativeCallContext, value: Dynamic, length: INT| padded(&context, &value, length, " ", Side::End));
    functions.add("pad_end", |context: NativeCallContext, value: Dynamic, length: INT, fill: &str| {
        padded(&context, &value, length, fill, Side::End)
    });
    functions.add("dedent", |text: &str| ImmutableString::from(dedent(text)));
    functions.add("prefix", |context: NativeCallContext, text: &str, prefix: &str| -> Native<ImmutableString> {
        let mut out = Bounded::new(&context);
        for line in text.split_inclusive('\n') {
            out.push(prefix)?;
            out.push(line)?;
        }
        Ok(out.done())
    });
    let run = functions.run();
    functions.add("template", move |context: NativeCallContext, text: &str, values: Map| filled(&context, &run, text, &values));
    functions.add("name_fix", |text: &str| ImmutableString::from(name_fix(text)));
    functions.add("path_fix", |path: &str| {
        let (folder, name) = path.split_at(path.rfind('/').map_or(0, |at| at + 1));
        ImmutableString::from(format!("{folder}{}", name_fix(name)))
    });
}

#[derive(PartialEq)]
enum Side {
    Start,
    End,
}

fn padded(context: &NativeCallContext<'_>, value: &Dynamic, length: INT, fill: &str, side: Side) -> Native<ImmutableString> {
    let mut text = Bounded::new(context);
    text.show(value)?;
    let missing = usize::try_from(length).unwrap_or(0).saturating_sub(text.chars());
    if side == Side::End {
        text.fill(fill, missing)?;
        return Ok(text.done());
    }
    let mut out = Bounded::new(context);
    out.fill(fill, missing)?;
    out.push(&text.done())?;
    Ok(out.done())
}

/// Removes the common leading white space of all lines. Lines of white space become empty.
pub(in super::super) fn dedent(text: &str) -> String {
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let mut indents = text.lines().filter(|line| !line.trim().is_empty()).map(indent);
    let common = indents.next().map_or_else(String::new, |first| {
        indents.fold(first, |common, next| {
            let same = common.chars().zip(next.chars()).take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum();
            common[..same].to_owned()
        })
    });
    let line = |line: &str| {
        if !line.trim().is_empty() {
            return line[common.len()..].to_owned();
        }
        if line.ends_with('\n') { "\n".to_owned() } else { String::new() }
    };
    text.split_inclusive('\n').map(line).collect()
}

fn filled(context: &NativeCallContext<'_>, run: &Run, template: &str, values: &Map) -> Native<ImmutableString> {
    let mut out = Bounded::new(context);
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        run.go_on()?;
        out.push(before)?;
        let line = || template[..template.len() - behind.len()].matches('\n').count() + 1;
        let Some((name, after)) = behind.split_once("}}") else {
            return Err(failed(context, format!("the template has a {{{{ without }}}} in line {}", line())));
        };
        let name = name.trim();
        if !show_at(&mut out, values, name)? {
            let name = excerpt(name);
            return Err(failed(context, format!("the template has {{{{{name}}}}} in line {}, and there is no such value", line())));
        }
        rest = after;
    }
    out.push(rest)?;
    Ok(out.done())
}

/// Adds the value of a name, or of a name in a map: `customer.name`. Returns false if there is none.
fn show_at(out: &mut Bounded<'_, '_>, values: &Map, name: &str) -> Native<bool> {
    let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
    match (values.get(first), rest) {
        (Some(value), None) => out.show(value).map(|()| true),
        (Some(value), Some(rest)) => value.read_lock::<Map>().map_or(Ok(false), |inner| show_at(out, &inner, rest)),
        (None, _) => Ok(false),
    }
}

fn name_fix(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for letter in text.chars().filter(char::is_ascii) {
        if !letter.is_whitespace() && !REPLACED.contains(letter) {
            name.push(letter.to_ascii_lowercase());
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    name
}
