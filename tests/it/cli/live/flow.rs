//! `hero flow`.

use std::io::{BufRead as _, BufReader, Read as _};

use rustix::process::Signal;

use super::{Server, signal};
use crate::cli::Hero;

const FLOW: &str = "\
name: answer
env_vars: { WHO: you }
jobs:
  build:
    file: build.rhai
  tell:
    depends_on: [build]
    script: |
      `${env.WHO}: ${inputs.build}`
";

#[test]
fn the_flow_of_a_file_is_run_shown_and_deleted_by_commands() {
    let server = Server::start();
    server.hero.file("build.rhai", "40 + 2");
    let file = server.hero.file("flow.yaml", FLOW);
    let ran = server.run(&["flow", "run", &file]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "you: 42\n"), "{}", ran.err);
    for line in ["build started", "build finished", "tell finished"] {
        assert!(ran.err.lines().any(|said| said == line), "{line}: {}", ran.err);
    }
    let shown = server.ok(&["flow", "show", "1"]);
    for line in ["status         finished", "env_vars       WHO", "  build finished", "  └─ tell finished", "  tell: you: 42"] {
        assert!(shown.lines().any(|said| said.starts_with(line)), "{line}: {shown}");
    }
    assert!(server.ok(&["flow", "graph", "1"]).starts_with("flowchart TD\n"));
    assert!(server.json(&["flow", "graph", "1"])["graph"].as_str().unwrap().starts_with("flowchart TD\n"));
    assert_eq!(server.ok(&["flow", "create", &file]), "2");
    assert_eq!(server.ok(&["flow", "start", "2"]), "dispatched");
    let waited = server.run(&["flow", "wait", "2"]);
    assert_eq!((waited.code, waited.out.as_str()), (0, "you: 42\n"), "{}", waited.err);
    let listed = server.ok(&["flow", "list"]);
    assert!(listed.lines().nth(1).unwrap().starts_with("2 "), "{listed}");
    assert_eq!(server.json(&["flow", "run", &file])["result"]["tell"], "you: 42");
    assert_eq!(server.ok(&["flow", "delete", "1"]), "deleted");
    let gone = server.run(&["flow", "show", "1"]);
    assert!(gone.code == 1 && gone.err.contains("flow 1 does not exist"), "{}", gone.err);
}

#[test]
fn a_flow_that_fails_says_which_job_and_how_to_go_on() {
    let server = Server::start();
    let file = server.hero.file("flow.yaml", "jobs:\n  a: { script: 'throw \"no\"' }\n  b: { script: '1', depends_on: [a] }\n");
    let failed = server.run(&["flow", "run", &file]);
    assert_eq!(failed.code, 3, "{}", failed.err);
    let told = "a:1:1: script: no\n  1 | throw \"no\"\n    | ^\nflow 1: failed; `hero flow show 1` shows it, `hero flow retry 1` runs what failed again\n";
    assert!(failed.err.ends_with(told) && failed.err.matches(": no").count() == 1, "{}", failed.err);
    let waited = server.run(&["flow", "wait", "1"]);
    assert!(waited.code == 3 && waited.err.contains("a:1:1: script: no\n") && waited.err.contains("flow 1: failed; "), "{}", waited.err);
    let shown = server.ok(&["flow", "show", "1"]);
    assert!(shown.contains("a failed") && shown.contains(": no (line 1, column 1)\n"), "{shown}");
    assert_eq!(server.ok(&["flow", "retry", "1"]), "started");
    let gone = server.run(&["flow", "run", &file, "--wait", "0"]);
    assert!([3, 6].contains(&gone.code), "{}", gone.err);
}

#[test]
fn the_advice_of_a_flow_names_its_context_and_no_timeout_that_nobody_knows() {
    let server = Server::with(Hero::new(), &["--contexts", "0,1", "--pool", "osis=2"]);
    let file = server.hero.file("flow.yaml", "jobs:\n  a: { script: 'loop { }', timeout: 0.2 }\n");
    let ran = server.run(&["flow", "run", &file, "--context", "1"]);
    let waited = server.run(&["flow", "wait", "1", "--context", "1"]);
    for (ended, timeout) in [(&ran, true), (&waited, false)] {
        let advice = "`hero flow show 1 --context 1` shows it, `hero flow retry 1 --context 1` runs what failed again";
        assert!(ended.code == 3 && ended.err.contains(advice), "{} {}", ended.code, ended.err);
        assert_eq!((ended.err.contains("0.2 s"), ended.err.contains("60 s")), (timeout, false), "{}", ended.err);
    }
}

#[test]
fn a_flow_that_is_stopped_did_not_fail() {
    let server = Server::start();
    let file = server.hero.file("flow.yaml", "jobs:\n  a: { script: 'loop { }' }\n  b: { script: '1', depends_on: [a] }\n");
    let mut run = server.piped(&["flow", "run", &file]);
    let mut said = BufReader::new(run.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("a started") {
        assert_ne!(said.read_line(&mut told).unwrap(), 0, "{told}");
    }
    let ran_out = server.run(&["flow", "wait", "1", "--wait", "0"]);
    assert!(ran_out.code == 6 && ran_out.err.contains("`hero flow wait` waits on"), "{}", ran_out.err);
    signal(&run, Signal::INT);
    said.read_to_string(&mut told).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(4), "{told}");
    assert!(told.contains("a stopped\n") && told.contains("flow 1: stopped; "), "{told}");
    assert_eq!(told.matches("flow 1").count(), 1, "its end is said twice: {told}");
    let (shown, listed) = (server.ok(&["flow", "show", "1"]), server.ok(&["flow", "list"]));
    assert!(shown.contains("status         stopped") && listed.contains(" stopped  0 of 2 finished "), "{shown}{listed}");
    assert!([&told, &shown, &listed].iter().all(|text| !text.contains("failed")), "{told}{shown}{listed}");
    assert_eq!(server.json(&["flow", "list"])["flows"][0]["stop_requested"], true);
    // One whose job failed by itself failed, and what waited for that never ran.
    let file = server.hero.file("flow.yaml", "jobs:\n  a: { script: 'throw 1' }\n  b: { script: '1', depends_on: [a] }\n");
    let failed = server.run(&["flow", "run", &file]);
    let shown = server.ok(&["flow", "show", "2"]);
    assert!(failed.code == 3 && shown.contains("a failed") && shown.contains("b never ran ") && shown.contains(" a "), "{shown}");
    assert!(failed.err.contains("b never ran\n") && server.ok(&["flow", "list"]).contains(" failed "), "{}", failed.err);
}

#[test]
fn a_check_says_everything_that_is_wrong_and_where_without_a_server() {
    let hero = Hero::new();
    for (text, told) in [
        (FLOW, "flow.yaml:5:11: jobs.build.file: "),
        (
            "jobs:\n  a:\n    file: gone.rhai\n    depends_on: [zz]\n    retries: -1\n    odd: 1\n  b: 5\n  c: { skript: '1' }\n  d: { script: '40 +', timeout: x }\n",
            "flow.yaml:3:11: jobs.a.file: the script gone.rhai cannot be opened: No such file or directory (os error 2)\n\
             flow.yaml:4:18: jobs.a.depends_on: the flow has no job \"zz\"\n\
             flow.yaml:5:14: jobs.a.retries: is a whole number from 0 to 4294967295\n\
             flow.yaml:6:5: jobs.a: unknown field `odd`; those that there are: script, file, ",
        ),
        ("jobs:\n  a: { retries: -1 }\n  b: 5\n  c: { script: '1' }\n  d: { script: '40 +', timeout: x }\n", "flow.yaml:3:6: jobs.b: "),
        ("jobs:\n  b: 5\n  c: { skript: '1' }\n", "flow.yaml:3:8: jobs.c: unknown field `skript`; is `script` meant?\n"),
        ("jobs:\n  b: 5\n  d: { script: '40 +', timeout: x }\n", "flow.yaml:3:16: jobs.d.script: "),
        ("jobs:\n  b: 5\n  d: { script: '40 +', timeout: x }\n", "flow.yaml:3:33: jobs.d.timeout: "),
        ("jobs:\n  a: { script: 'one(); two(1)' }\n", "flow.yaml:2:16: jobs.a.script: Function not found: one with 0 values\n"),
        ("jobs:\n  a: { script: 'one(); two(1)' }\n", "flow.yaml:2:16: jobs.a.script: Function not found: two with 1 value\n"),
        (
            "retention: x\njobs:\n  a: { script: '1' }\n  b: { script: '2' }\n  c: { depends_on: [a], script: inputs.a + inputs.b }\n",
            "flow.yaml:1:12: retention: ",
        ),
        (
            "retention: x\njobs:\n  a: { script: '1' }\n  b: { script: '2' }\n  c: { depends_on: [a], script: inputs.a + inputs.b }\n",
            "flow.yaml:5:33: jobs.c.script: inputs.b is not there, because depends_on does not name \"b\"\n",
        ),
        (
            "jobs:\n  a:\n    script: 40 +\n    depends_on:\n      - b\n      - zz\n  b: { script: '1' }\n",
            "flow.yaml:3:13: jobs.a.script: ",
        ),
        (
            "jobs:\n  a:\n    script: 40 +\n    depends_on:\n      - b\n      - zz\n  b: { script: '1' }\n",
            "flow.yaml:6:9: jobs.a.depends_on: the flow has no job \"zz\"\n",
        ),
        (
            "jobs:\n  a: { script: '1', depends_on: [b] }\n  b:\n    script: '1'\n    depends_on: [a]\n",
            "flow.yaml:5:18: jobs.b.depends_on: jobs wait for each other: a → b → a",
        ),
        ("jobs:\n  a: { script: '1' }\n  a: { script: '2' }\n", "flow.yaml:3:3: a stands there twice\n"),
        ("jobs:\n  a: { skript: '1' }\n", "flow.yaml:2:8: jobs.a: unknown field `skript`; is `script` meant?\n"),
        ("jobs:\n  a: {}\n", "flow.yaml:2:3: jobs.a: needs a script, or the file of one\n"),
        ("jobs: [1]\n", "flow.yaml:1:7: "),
        ("jobs:\n  a: { script: '1', timeout: -1 }\n", "flow.yaml:2:30: jobs.a.timeout: "),
        ("jobs: {}\n", "flow.yaml: jobs: a flow needs at least one job\n"),
        (
            "jobs:\n  a:\n    script: args\n    args: { id: 12345678901234567890 }\n",
            "flow.yaml:4:17: jobs.a.args.id is 12345678901234567890, beyond the integers of scripts",
        ),
        (
            "{\"jobs\": {\"a\": {\"script\": \"1\", \"args\": [1, -99999999999999999999]}}}",
            "flow.yaml:1:44: jobs.a.args[1] is -99999999999999999999, beyond the integers of scripts",
        ),
    ] {
        hero.file("flow.yaml", text);
        let checked = hero.run(&["flow", "check", "flow.yaml"]);
        assert!(checked.code == 1 && checked.out.contains(told), "{text}\nexpected {told}\ngot {}{}", checked.out, checked.err);
        let run = hero.run(&["flow", "create", "flow.yaml"]);
        assert_eq!(run.code, 2, "{}", run.err);
    }
    let missing = hero.run(&["flow", "check", "nope.yaml"]);
    assert_eq!(
        (missing.code, missing.out.as_str()),
        (1, "nope.yaml: the flow nope.yaml cannot be opened: No such file or directory (os error 2)\n")
    );
    hero.file("build.rhai", "1");
    hero.file("flow.yaml", FLOW);
    let checked = hero.run(&["flow", "check", "flow.yaml"]);
    assert_eq!((checked.code, checked.out.as_str()), (0, ""), "{}", checked.err);
}

#[test]
fn words_that_older_yaml_takes_for_truth_are_texts_in_the_file_of_a_flow() {
    let server = Server::start();
    let text = "jobs:\n  a:\n    args: { y: n, on: off, yes: no, N: Y, list: [y, No, ON], t: true, f: false, \"true\": \"yes\" }\n    script: to_json(args)\n";
    let file = server.hero.file("flow.yaml", text);
    let ran = server.ok(&["flow", "run", &file]);
    let given: serde_json::Value = serde_json::from_str(&ran).unwrap();
    let expected = serde_json::json!({
        "y": "n", "on": "off", "yes": "no", "N": "Y", "list": ["y", "No", "ON"], "t": true, "f": false, "true": "yes"
    });
    assert_eq!(given, expected);
}

#[test]
fn the_schema_of_the_file_describes_what_is_read() {
    let hero = Hero::new();
    let schema: serde_json::Value = serde_json::from_str(&hero.run(&["flow", "schema"]).out).unwrap();
    assert_eq!(schema["properties"]["jobs"]["additionalProperties"]["$ref"], "#/definitions/FileJob");
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let valid = serde_json::json!({"jobs": {"a": {"script": "1", "depends_on": [], "timeout": 1.5, "args": {"x": [1]}}}});
    assert!(validator.is_valid(&valid), "{:?}", validator.iter_errors(&valid).map(|error| error.to_string()).collect::<Vec<_>>());
    for wrong in
        [serde_json::json!({}), serde_json::json!({"jobs": {"a": {"skript": "1"}}}), serde_json::json!({"jobs": {"a": {"retries": "x"}}})]
    {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn the_example_runs_and_the_schema_beside_it_is_fresh() {
    let server = Server::start();
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/flows");
    let ran = server.run(&["flow", "run", examples.join("report.yaml").to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Ada: the sum is 6, the largest 3\n"), "{}", ran.err);
    let fresh = server.run(&["flow", "schema"]).out;
    let written = std::fs::read_to_string(examples.join("flow.schema.json")).unwrap();
    assert_eq!(written, fresh, "hero flow schema > examples/flows/flow.schema.json writes it");
}

#[test]
fn a_flow_that_is_run_again_with_its_key_is_the_same() {
    let server = Server::start();
    let file = server.hero.file("flow.yaml", "jobs:\n  a: { script: '40 + 2' }\n");
    assert_eq!(server.ok(&["flow", "create", &file, "--idempotency-key", "once"]), "1");
    for _ in 0..2 {
        let ran = server.run(&["flow", "run", &file, "-k", "once"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "42\n"), "{}", ran.err);
    }
    assert_eq!(server.json(&["flow", "list"])["flows"].as_array().unwrap().len(), 1);
    let other = server.hero.file("other.yaml", "jobs:\n  a: { script: '43' }\n");
    let refused = server.run(&["flow", "run", &other, "-k", "once"]);
    assert!(refused.code == 1 && refused.err.contains("was used with other parameters for flow 1"), "{} {}", refused.code, refused.err);
}
