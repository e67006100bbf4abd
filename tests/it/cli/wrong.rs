//! Arguments that a newcomer gives wrongly, and what is said of them before a server is asked.

use super::Hero;

/// Nobody answers there, so whatever is told was found here.
fn alone() -> Hero {
    Hero::new().env("HERO_SERVER", "ws://127.0.0.1:1")
}

fn refused(hero: &Hero, arguments: &[&str], told: &str) {
    let ended = hero.run(arguments);
    let said = ended.err.replace("\n       ", " ");
    assert!(ended.code == 2 && said.contains(told), "{arguments:?}: {} {}{said}", ended.code, ended.out);
}

#[test]
fn a_script_or_an_object_in_the_place_of_a_file_is_told_where_it_goes() {
    let hero = alone();
    refused(&hero, &["run", "40 + 2"], "40 + 2: no such file; a script itself goes after -e: `hero run -e '40 + 2'`");
    refused(&hero, &["job", "create", "it's()"], r"`hero job create -e 'it'\''s()'`");
    let told = r#"{"id":"x"}: no such file; - reads stdin: `echo '{"id":"x"}' | hero object set fruit -`"#;
    refused(&hero, &["object", "set", "fruit", r#"{"id":"x"}"#], told);
    // A file of that name is one, and a name that nobody takes for a script is not called one.
    hero.file("40 + 2", "1");
    assert_eq!(hero.run(&["run", "40 + 2"]).code, 7);
    refused(&hero, &["run", "total.rhai"], "the script total.rhai cannot be opened: No such file");
}

#[test]
fn a_file_that_is_missing_or_malformed_is_a_wrong_argument_and_for_a_check_a_finding() {
    let hero = alone();
    hero.file("args.json", "{");
    std::fs::write(hero.home().join("latin.rhai"), b"\"\xe9\"").unwrap();
    for arguments in [
        &["run", "none.rhai"][..],
        &["run", "latin.rhai"],
        &["run", "--watch", "none.rhai"],
        &["job", "create", "none.rhai"],
        &["job", "create-many", "none.json"],
        &["schedule", "create", "none.rhai", "--every", "1h"],
        &["flow", "run", "none.yaml"],
        &["flow", "create", "none.yaml"],
        &["object", "set", "fruit", "none.json"],
        &["run", "-e", "1", "--args", "@none.json"],
        &["run", "-e", "1", "--args", "@args.json"],
        &["run", "-e", "1", "--env-file", "none.env"],
        &["serve", "--config", "none.toml"],
    ] {
        let ended = hero.run(arguments);
        assert!(ended.code == 2 && ended.err.contains("error: "), "{arguments:?}: {} {}", ended.code, ended.err);
    }
    for arguments in [&["check", "none.rhai"][..], &["flow", "check", "none.yaml"]] {
        assert_eq!(hero.run(arguments).code, 1, "{arguments:?}");
    }
}

#[test]
fn a_flow_that_is_taken_for_a_script_and_a_script_for_a_flow_are_told_with_their_commands() {
    let hero = alone();
    hero.file("report.yaml", "jobs: {a: {script: '1'}}\n");
    hero.file("total.rhai", "1");
    refused(&hero, &["run", "report.yaml"], "a .yaml file is a flow: `hero flow run report.yaml`");
    refused(&hero, &["job", "create", "report.yaml"], "a .yaml file is a flow: `hero flow create report.yaml`");
    refused(&hero, &["flow", "run", "total.rhai"], "total.rhai: this is not a flow; `hero run total.rhai` runs a script");
    let checked = hero.run(&["check", "report.yaml"]);
    assert!(checked.code == 1 && checked.err.contains("a .yaml file is a flow: `hero flow check report.yaml`"), "{}", checked.err);
    let checked = hero.run(&["flow", "check", "total.rhai"]);
    assert!(
        checked.code == 1 && checked.out.starts_with("total.rhai: this is not a flow; `hero check total.rhai` checks a script"),
        "{}",
        checked.out
    );
    // Who names the type means it.
    assert_eq!(hero.run(&["run", "report.yaml", "--type", "ansible"]).code, 7);
}

#[test]
fn priorities_have_words_and_numbers_say_what_they_are_of() {
    let hero = alone();
    for priority in ["urgent", "normal", "low", "0", "1", "2"] {
        assert_eq!(hero.run(&["run", "-e", "1", "--priority", priority]).code, 7, "{priority}");
    }
    refused(&hero, &["run", "-e", "1", "--priority", "high"], "[possible values: urgent, normal, low, 0, 1, 2]");
    refused(&hero, &["flow", "show", "abc"], "\"abc\" is not the number of a flow, such as 3; `hero flow list` shows");
    refused(&hero, &["rights", "grant", "caller", "admin"], "\"caller\" is not the number of an identity, such as 3; `hero identity list`");
    refused(&hero, &["identity", "show", "ada"], "\"ada\" is not the number of an identity");
    refused(&hero, &["queue", "list", "--context", "x"], "a whole number is expected");
    for arguments in [["flow", "show", "abc"], ["queue", "list", "--context=x"]] {
        assert!(!hero.run(&arguments).err.contains("invalid digit"), "{arguments:?}");
    }
}

#[test]
fn an_address_without_a_host_or_a_port_is_told_with_the_one_that_is_meant() {
    let hero = alone();
    refused(
        &hero,
        &["job", "list", "--server", "8731"],
        "\"8731\" is not an address of a server: a host is missing, such as 127.0.0.1:8731\n",
    );
    // Nobody listens there: port 80 of an address that is only ours.
    let ended = hero.run(&["job", "list", "--server", "ws://127.99.99.99"]);
    let said = ended.err.replace("\n       ", " ");
    assert!(ended.code == 7 && said.contains("at ws://127.99.99.99:80: "), "{} {said}", ended.code);
    assert!(said.contains("without a port, 80 is meant, and a server listens on 8700"), "{said}");
}

#[test]
fn a_command_of_a_job_that_is_given_alone_is_told_in_full() {
    let hero = alone();
    for (word, meant) in [
        ("logs", "hero job logs"),
        ("stop", "hero job stop"),
        ("status", "hero job status"),
        ("start", "hero job start"),
        ("ps", "hero job list"),
        ("list", "hero job list"),
        ("cancel", "hero job stop"),
        ("rnu", "hero run"),
    ] {
        refused(&hero, &[word], &format!("\n  tip: did you mean `{meant}`?\n"));
        assert_eq!(hero.run(&[word]).err.matches("tip:").count(), 1);
    }
    let ended = hero.run(&["--json", "ps"]);
    assert!(ended.out.contains("did you mean `hero job list`?"), "{}", ended.out);
    assert!(!hero.run(&["queue", "stop"]).err.contains("hero job stop"));
}

#[test]
fn words_and_options_of_other_programs_are_told_with_those_that_are_meant() {
    let hero = alone();
    for (arguments, meant) in [
        (&["submit", "a.rhai"][..], "`hero job create` or `hero run`"),
        (&["worker"], "`hero serve --pool TYPE=N`"),
        (&["lint", "a.rhai"], "`hero check` or `hero flow check`"),
        (&["test"], "`hero check` or `hero flow check`"),
        (&["validate", "a.yaml"], "`hero check` or `hero flow check`"),
        (&["job", "cancel", "x"], "`hero job stop`"),
        (&["job", "result", "x"], "`hero job wait`"),
        (&["job", "rm", "x"], "`hero job delete`"),
        (&["queue", "pasue"], "`hero queue pause`"),
        (&["serve", "--port", "8080"], "`--listen HOST:PORT`"),
        (&["serve", "-p", "8080"], "`--listen HOST:PORT`"),
        (&["serve", "--host=localhost"], "`--listen HOST:PORT`"),
        (&["run", "-e", "1", "--retry", "3"], "`--retries N`"),
        (&["job", "create", "-e", "1", "--retry=3"], "`--retries N`"),
    ] {
        refused(&hero, arguments, &format!("\n  tip: did you mean {meant}?\n"));
        assert_eq!(hero.run(arguments).err.matches("tip:").count(), 1, "{arguments:?}");
    }
}

#[test]
fn a_word_that_nobody_could_mistype_for_a_command_gets_no_tip() {
    let hero = alone();
    for arguments in [&["subdmit"][..], &["job", "audit"], &["serve", "--posts", "1"]] {
        let ended = hero.run(arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.err);
        assert!(!ended.err.contains("tip:"), "{arguments:?}: {}", ended.err);
    }
    refused(&hero, &["serve", "--lisen", "127.0.0.1:1"], "a similar argument exists: '--listen'");
}
