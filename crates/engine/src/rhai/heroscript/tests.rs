use proptest::prelude::*;

use super::parse::parse;
use super::{Action, Position, Value, is_heroscript};

fn word(text: &str) -> Value {
    Value::Word(text.to_owned())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Returns the only action of a script.
fn only(source: &str) -> Action {
    let script = parse(source).unwrap_or_else(|wrong| panic!("{source}: {wrong:?}"));
    assert_eq!(script.actions.len(), 1, "{source}");
    script.actions.into_iter().next().unwrap()
}

fn parameters(source: &str) -> Vec<(String, Value)> {
    only(&format!("!!a.b {source}")).arguments
}

fn named(key: &str, value: Value) -> (String, Value) {
    (key.to_owned(), value)
}

#[test]
fn the_documented_examples_are_read() {
    let source = "!!mailclient.configure name:'main' port:587 ssl:true tags:a,b,c   // trailing comment\n\
        // a comment belongs to the next action\n\
        !!Payment.Add person:fatayera\n    //comment for name\n    Name: 'TF Wallet'\n\n    note: 'may span\n           lines, and is dedented'\n\
        !!git.list\n";
    let script = parse(source).unwrap();
    let names: Vec<_> = script.actions.iter().map(|action| format!("{}.{}", action.actor, action.name)).collect();
    assert_eq!(names, ["mailclient.configure", "payment.add", "git.list"]);
    let mail = &script.actions[0];
    let tags = Value::List(vec![word("a"), word("b"), word("c")]);
    let expected = [named("name", text("main")), named("port", word("587")), named("ssl", word("true")), named("tags", tags)];
    assert_eq!((&mail.arguments[..], &mail.comments[..]), (&expected[..], &["trailing comment".to_owned()][..]));
    let payment = &script.actions[1];
    let note = named("note", text("may span\nlines, and is dedented"));
    assert_eq!(payment.arguments, [named("person", word("fatayera")), named("name", text("TF Wallet")), note]);
    assert_eq!(payment.comments, ["a comment belongs to the next action", "comment for name"]);
    assert_eq!(payment.position, Position { line: 3, column: 1 });
}

#[test]
fn values_are_words_texts_and_lists() {
    assert_eq!(parameters("u:https://x.org/p y:2"), [named("u", word("https://x.org/p")), named("y", word("2"))]);
    assert_eq!(parameters("u: https://x.org/p"), [named("u", word("https://x.org/p"))]);
    assert_eq!(parameters("h:localhost:8080"), [named("h", word("localhost:8080"))]);
    assert_eq!(parameters("k:'it''s' d:\"a \"\"b\"\"\""), [named("k", text("it's")), named("d", text("a \"b\""))]);
    let fruits = Value::List(vec![word("Apple"), text("Dragon Fruit"), word("x")]);
    assert_eq!(parameters("l:Apple , 'Dragon Fruit',x"), [named("l", fruits.clone())]);
    assert_eq!(parameters("l:[Apple , 'Dragon Fruit', x ]"), [named("l", fruits)]);
    assert_eq!(parameters("l:[] m:[1]"), [named("l", Value::List(vec![])), named("m", Value::List(vec![word("1")]))]);
    assert_eq!(parameters("flag: // why\n  other:"), [named("flag", word("")), named("other", word(""))]);
    assert_eq!(parameters("a:'x\n\n      y\n        z'"), [named("a", text("x\n\ny\n  z"))]);
    assert_eq!(only("!!a.b force 'two words' k:v 10:20").positional, [word("force"), text("two words"), word("10:20")]);
    let core = only("#!/usr/bin/env hero\n\n!!exit");
    assert_eq!((core.actor.as_str(), core.name.as_str()), ("core", "exit"));
}

#[test]
fn syntax_errors_name_their_position() {
    for (source, line, column, message) in [
        ("!!!!!a.b", 1, 1, "at most 4 exclamation marks, and this has 5"),
        ("!!a.b\nhello", 2, 1, "\"hello\" is no action"),
        ("   x:1", 1, 4, "no action before it"),
        ("!!", 1, 3, "the name of an actor or an action is missing"),
        ("!!a.", 1, 5, "the name of an action is missing"),
        ("!!a.b.c", 1, 6, "'.' stands behind the name"),
        ("!!a.b k:'x\ny", 1, 9, "this quote (') is not closed"),
        ("!!a.b k:'x'y", 1, 12, "\"y\" stands right behind a value"),
        ("!!a.b k:x'y", 1, 10, "a quote stands within a word"),
        ("!!a.b k:a,,b", 1, 11, "an element of the list is missing"),
        ("!!a.b k:[a b", 1, 12, "ends with ] on the same line"),
        ("!!a.b\n  silent: port:5", 2, 3, "not clear what the value of \"silent\" is"),
        ("!!a.b\n  !!c.d", 2, 3, "begins at the start of its line"),
        ("!!play.include path:'x'", 1, 1, "cannot include"),
    ] {
        let wrong = parse(source).unwrap_err();
        assert_eq!(wrong.position, Position { line, column }, "{source}: {}", wrong.message);
        assert!(wrong.message.contains(message), "{source}: {}", wrong.message);
    }
}

#[test]
fn a_script_is_told_from_rhai_by_its_first_line() {
    for source in ["!!a.b", "// c\n\n!!a.b x:1", "!!a", "!!a x:1", "#!/usr/bin/env hero\n!!a.b", "!!a // why"] {
        assert!(is_heroscript(source), "{source}");
    }
    for source in [
        "!!true && x",
        "!!true",
        "!true",
        "!!(a)",
        "let x = 1;",
        "",
        "!!a;",
        "!!f(1)",
        "!!x == y",
        "!!a.b(1)",
        "!!a.b && x",
        "!!a.b;",
        "!!x in list",
        "!!a.",
    ] {
        let rhai = !is_heroscript(source);
        // A value alone is no useful script, so `!!true` is parsed as an action.
        assert!(rhai || source == "!!true", "{source}");
    }
}

/// Texts that look like scripts.
fn source() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("!!a.b".to_owned()),
        Just("\n".to_owned()),
        Just("\n  ".to_owned()),
        Just(" ".to_owned()),
        Just("// c".to_owned()),
        "[a-z]{1,3}:",
        "[a-z0-9%.:/]{1,6}",
        "'[ a-z\\n']{0,8}'",
        "\"[ a-z\\n]{0,8}\"",
        "\\[?[a-z]{1,2}( ?, ?[a-z]{1,2}){0,3}\\]?",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text: String) {
        let _ = parse(&text);
    }

    #[test]
    fn a_printed_script_parses_to_the_same_script(text in source()) {
        if let Ok(script) = parse(&text) {
            let printed = script.to_string();
            prop_assert_eq!(parse(&printed).unwrap_or_else(|wrong| panic!("{printed}\n{wrong:?}")), script, "{}", printed);
        }
    }
}
