//! Commands for script authors that need no server: `hero functions`, `hero check`, `hero repl`.

use serde_json::{Value, json};

use super::Hero;

#[test]
fn functions_are_listed_found_by_a_word_and_shown_alone() {
    let hero = Hero::new();
    let all = hero.run(&["functions"]);
    assert_eq!(all.code, 0, "{}", all.err);
    for line in ["ARRAYS", "join(array: array, separator: string) -> string", "parse_time(text: string, format?: string) -> int"] {
        assert!(all.out.lines().any(|shown| shown == line), "{line}\n{}", all.out);
    }
    assert!(!all.out.contains("    gives "), "a list shows no examples");
    let found = hero.run(&["functions", "base64"]).out;
    assert!(found.contains("base64_encode(") && found.contains("base64_decode_blob(") && !found.contains("join("), "{found}");
    let alone = hero.run(&["functions", "sum"]).out;
    for part in ["sum(array: array) -> number", "error: an element is not a number", "[1, 2, 3.5].sum()", "gives 6.5"] {
        assert!(alone.contains(part), "{alone}");
    }
    for (word, needs) in [("file_read", "fs"), ("http_get", "net"), ("run_command", "process"), ("redis_ping", "redis")] {
        let alone = hero.run(&["functions", word]).out;
        let who = format!("for pools and contexts with the grant {needs}");
        assert!(alone.lines().any(|line| line == format!("    {who}")), "{alone}");
        assert!(all.out.lines().any(|line| line.ends_with(&format!(" ({who})"))), "{needs}: {}", all.out);
    }
    assert!(hero.run(&["functions", "osis::get"]).out.contains("\n    for scripts of type osis\n"));
    let none = hero.run(&["functions", "frobnicate"]);
    assert_eq!((none.code, none.out.as_str()), (1, ""));
    assert!(none.err.contains("no function is named frobnicate"), "{}", none.err);
    let near = hero.run(&["functions", "prnt"]);
    assert!(near.err.starts_with("no function is named prnt; did you mean print?"), "{}", near.err);
    let python = hero.run(&["functions", "--type", "python"]);
    assert_eq!((python.code, python.out.as_str()), (2, ""));
    assert!(python.err.contains("scripts of type python"), "{}", python.err);
}

#[test]
fn every_unknown_function_of_a_file_is_reported_in_the_order_of_lines() {
    let hero = Hero::new();
    hero.file("a.rhai", "fn later() { third() }\nlet a = 1;\nfirst(a);\nfn f() { prnt(2) }\nsecond(a) + second(a);\n");
    let checked = hero.run(&["check", "a.rhai"]);
    let places: Vec<&str> = checked.out.lines().filter(|line| line.contains("Function not found")).map(|line| &line[..12]).collect();
    assert_eq!(places, ["a.rhai:1:14:", "a.rhai:3:1: ", "a.rhai:4:10:", "a.rhai:5:1: ", "a.rhai:5:13:"], "{}", checked.out);
    let checked: Value = serde_json::from_str(&hero.run(&["check", "--json", "a.rhai"]).out).unwrap();
    assert_eq!(checked.as_array().unwrap().len(), 5);
}

#[test]
fn functions_are_listed_for_programs_and_editors() {
    let hero = Hero::new();
    let list: Value = serde_json::from_str(&hero.run(&["functions", "--json", "--type", "sal"]).out).unwrap();
    let join = list.as_array().unwrap().iter().find(|function| function["name"] == "join").unwrap();
    let parameter = |name: &str, kind: &str| json!({ "name": name, "type": kind, "optional": false });
    assert_eq!(join["parameters"], json!([parameter("array", "array"), parameter("separator", "string")]));
    assert_eq!((&join["returns"], &join["example_result"]), (&json!("string"), &json!("a, 1, true")));
    let needs = |name: &str| list.as_array().unwrap().iter().find(|function| function["name"] == name).unwrap()["capability"].clone();
    assert_eq!((needs("join"), needs("file_read")), (Value::Null, json!("fs")));
    let definitions = hero.run(&["functions", "--definitions"]).out;
    assert!(definitions.contains("\n/// For pools and contexts with the grant fs.\n"), "{definitions}");
    assert!(definitions.starts_with("module static;\n"), "{definitions}");
    for line in [
        "fn join(array: Array, separator: String) -> String;",
        "fn parse_time(text: String) -> int;",
        "fn parse_time(text: String, format: String) -> int;",
        "fn log_info(value: ?) -> ();",
    ] {
        assert!(definitions.lines().any(|shown| shown == line), "{line}\n{definitions}");
    }
}

#[test]
fn scripts_are_checked_without_being_run() {
    let hero = Hero::new();
    hero.file("good.rhai", "#!/usr/bin/env hero\nthrow \"this is not run\"");
    hero.file("bad.rhai", "let x = 1;\nlet y = = 2;\n");
    hero.file("worse.rhai", "import \"x\" as y;");
    let good = hero.run(&["check", "good.rhai"]);
    assert_eq!((good.code, good.out.as_str(), good.err.as_str()), (0, "", ""));
    let bad = hero.run(&["check", "good.rhai", "bad.rhai", "worse.rhai"]);
    assert_eq!(bad.code, 1, "{}", bad.err);
    let mut lines = bad.out.lines();
    assert!(lines.next().unwrap().starts_with("bad.rhai:2:9: script: "), "{}", bad.out);
    assert!(bad.out.contains("  2 | let y = = 2;"), "{}", bad.out);
    assert!(bad.out.contains("\nworse.rhai:1:1: script: scripts cannot import"), "{}", bad.out);
    let documents: Value = serde_json::from_str(&hero.run(&["check", "bad.rhai", "--json"]).out).unwrap();
    assert_eq!((&documents[0]["file"], &documents[0]["error"]["line"]), (&json!("bad.rhai"), &json!(2)));
    assert_eq!(hero.run(&["check", "good.rhai", "--json"]).out.trim(), "[]");
}

#[test]
fn a_check_finds_functions_that_are_not_there() {
    let hero = Hero::new();
    let nested = "fn store(person) {\n    if person.fresh { osis::set(\"people\", person); }\n    [1].map(|n| `${osis::gett(\"people\", n)}`)\n}\nstore(args)";
    for (script, place, told) in [
        ("osis::nothing(\"people\")", "1:7", "Function not found: osis::nothing with 1 value"),
        ("osis::sett(\"people\", #{})", "1:7", "there is osis::set(collection: string, object: map) -> string"),
        (
            "let x = 1;\nx = osis::get(\"people\");",
            "2:11",
            "Function not found: osis::get with 1 value; there is osis::get(collection: string, id: string)",
        ),
        ("osis::index(\"people\", [\"a\"], 1)", "1:7", "with 3 values; there is osis::index("),
        ("sall::run(\"ls\")", "1:7", "this script has no sall::"),
        (nested, "3:26", "osis::gett"),
    ] {
        hero.file("wrong.rhai", script);
        let found = hero.run(&["check", "wrong.rhai"]);
        assert_eq!(found.code, 1, "{script}: {}", found.err);
        assert!(found.out.starts_with(&format!("wrong.rhai:{place}: script: ")) && found.out.contains(told), "{script}: {}", found.out);
    }
    for right in ["osis::find(\"people\", #{})", "osis::list(\"people\")", "let x = osis::new(\"people\"); job::spawn(#{ script: \"1\" })"]
    {
        hero.file("right.rhai", right);
        let found = hero.run(&["check", "right.rhai"]);
        assert_eq!((found.code, found.out.as_str()), (0, ""), "{right}");
    }
}

#[test]
fn a_check_finds_functions_without_a_namespace_that_are_not_there() {
    let hero = Hero::new();
    for (script, place, told) in [
        ("printt(1)", "1:1", "Function not found: printt with 1 value; there is print with 0 values or 1 value"),
        ("let x = 1;\nif x > 1 { x = pase_int(\"1\") }", "2:16", "there is parse_int with 1 value or 2 values"),
        ("fn total(a, b) { a + b }\n`${totel(1, 2)}`", "2:4", "totel with 2 values; there is total with 2 values"),
        ("fn total(a, b) { a + b }\nfn f() { [1].map(|n| total(n)) }", "2:22", "total with 1 value; there is total with 2 values"),
        ("base64_encod(\"x\")", "1:1", "there is base64_encode("),
        ("try { frobnicate(1) } catch { }", "1:7", "Function not found: frobnicate with 1 value\n"),
        ("let f = 1; args(1)", "1:12", "Function not found: args with 1 value"),
    ] {
        hero.file("wrong.rhai", script);
        let found = hero.run(&["check", "wrong.rhai"]);
        assert_eq!(found.code, 1, "{script}: {}", found.err);
        assert!(found.out.starts_with(&format!("wrong.rhai:{place}: script: ")) && found.out.contains(told), "{script}: {}", found.out);
    }
}

#[test]
fn a_check_finds_no_fault_with_the_scripts_of_this_project() {
    let hero = Hero::new();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for directory in ["examples", "tests/hostile/rhai", "tests/hostile/sal"] {
        let files = std::fs::read_dir(here.join(directory)).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "rhai")) {
            let found = hero.run(&["check", file.to_str().unwrap()]);
            assert!(!found.out.contains("Function not found: "), "{}", found.out);
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} scripts");
}

#[test]
fn scripts_that_cannot_be_checked_are_reported() {
    let hero = Hero::new();
    let missing = hero.run(&["check", "missing.rhai"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("the script missing.rhai cannot be opened"), "{}", missing.err);
    // The others are looked at all the same.
    hero.file("good.rhai", "1");
    hero.file("bad.rhai", "let x = ;");
    hero.file("other.py", "print(1)");
    let all = hero.run(&["check", "missing.rhai", "other.py", "good.rhai", "bad.rhai"]);
    assert_eq!(all.code, 1, "{}", all.err);
    assert!(all.err.contains("the script missing.rhai cannot be opened"), "{}", all.err);
    assert!(all.err.contains("other.py: scripts of type python are not compiled here"), "{}", all.err);
    assert!(all.out.starts_with("bad.rhai:1:9: script: "), "{}", all.out);
    let all: Value = serde_json::from_str(&hero.run(&["check", "missing.rhai", "other.py", "bad.rhai", "--json"]).out).unwrap();
    let kinds: Vec<_> = all.as_array().unwrap().iter().map(|one| (one["file"].as_str(), one["error"]["kind"].as_str())).collect();
    let unavailable = Some("unavailable");
    assert_eq!(kinds, [(Some("missing.rhai"), unavailable), (Some("other.py"), unavailable), (Some("bad.rhai"), Some("script"))]);
    assert!(all[0]["error"]["message"].as_str().unwrap().contains("cannot be opened"), "{all}");
    assert_eq!(hero.run(&["check", "missing.rhai", "good.rhai"]).code, 1);
    let python = hero.run(&["check", "--type", "python", "missing.py"]);
    assert_eq!(python.code, 2);
    assert!(python.err.contains("scripts of type python are not compiled here"), "{}", python.err);
    assert_eq!(hero.run(&["check"]).code, 2);
}

/// The output of a session for lines from a pipe.
fn session(hero: &Hero, lines: &str) -> (String, String) {
    use std::io::Write as _;
    let mut command = hero.command(&["repl"]);
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let ended: super::Ended = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, 0, "{}", ended.err);
    (ended.out, ended.err)
}

#[test]
fn a_session_keeps_what_its_lines_declare() {
    let hero = Hero::new();
    let lines = "let x = 40;\nfn twice(n) {\n  n * 2\n}\nx += 2;\ntwice(x)\n[x, \"a\"]\n\"text\"\nnot_there\nlet y = 1; throw `after`\ny\nprint(x)\n!!sum array:1,2\n";
    let (out, err) = session(&hero, lines);
    assert_eq!(out, "84\n[42,\"a\"]\ntext\n1\n[3]\n");
    assert!(err.contains("repl:1:1: script: Variable not found: not_there"), "{err}");
    assert!(err.contains("script: after") && err.contains("\n42\n"), "{err}");
    let (_, err) = session(&hero, "fn f() {\n  1");
    assert!(err.contains("repl:2:4: script: "), "what is not finished is told: {err}");
}

#[test]
fn a_session_helps_whoever_asks_and_ends_when_it_is_told_to() {
    let hero = Hero::new();
    let (out, err) = session(&hero, "help\n1\n");
    assert!(out.contains("help WORD") && out.contains("exit, quit") && out.ends_with("\n1\n"), "{out}{err}");
    let (out, err) = session(&hero, "help base64_encode\nhelp osis::get\n");
    assert!(out.contains("base64_encode(") && out.contains("osis::get(collection: string") && err.is_empty(), "{out}{err}");
    assert!(session(&hero, "help frobnicate").1.contains("no function is named frobnicate"));
    for word in ["exit", "quit", " exit;", "quit()"] {
        assert_eq!(session(&hero, &format!("1\n{word}\n2\n")), ("1\n".to_owned(), String::new()), "{word}");
    }
    // Only alone are they more than names.
    assert_eq!(session(&hero, "let exit = 3; exit\n`help`\n").0, "3\nhelp\n");
}

#[test]
fn a_text_in_heroscript_may_have_several_lines_in_a_session() {
    let (out, err) = session(&Hero::new(), "!!template 'Dear {{name}},\nit''s ready' name:Ada\n!!template \"it's {{a}}\" a:1\n40 + 2\n");
    assert_eq!((out.as_str(), err.as_str()), ("[\"Dear Ada,\\nit's ready\"]\n[\"it's 1\"]\n42\n", ""));
}

#[test]
fn a_session_survives_what_ends_a_script() {
    let (out, err) =
        session(&Hero::new(), "fn f() { f() } f()\nlet a = []; loop { a.push(`xxxxxxxxxxxxxxxxxxxxxxxxxxxx${a.len()}`); }\n6 * 7\n");
    assert_eq!(out, "42\n", "{err}");
    assert!(err.contains("levels deep"), "{err}");
    let (out, err) = session(&Hero::new(), &format!("{}\n6 * 7\n", "`${".repeat(20_000)));
    assert_eq!(out, "42\n", "{err}");
}
