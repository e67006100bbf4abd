//! Job input from the command line: `args`, `env`, times.

use serde_json::{Value, json};

use super::{Hero, Server};

#[test]
fn an_argument_that_was_read_as_json_is_told_where_the_script_fails_and_can_be_given_as_text() {
    let server = Server::start();
    let ended = server.run(&["run", "-e", "args", "--arg", "list=[1]", "--arg", "n=3", "--arg-text", "text=[1]", "--arg-text", "m=3"]);
    assert_eq!((ended.code, ended.out.as_str()), (0, "{\"list\":[1],\"m\":\"3\",\"n\":3,\"text\":\"[1]\"}\n"), "{}", ended.err);
    assert_eq!(ended.err, "");
    let ended = server.run(&["run", "-e", "args.list.trim()", "--arg", "list=[1]"]);
    assert_eq!(ended.err.lines().next().unwrap(), "-- --arg list is read as JSON, a list; --arg-text gives it as a text --");
    assert_eq!(ended.code, 3);
    let ended = server.run(&["--json", "run", "-e", "args.map.trim()", "--arg", "map={\"a\": 1}"]);
    let warning: Value = serde_json::from_str(&ended.err).unwrap();
    assert!(warning["warning"].as_str().unwrap().starts_with("--arg map is read as JSON, a map;"), "{warning}");
    let twice = server.run(&["run", "-e", "1", "--arg", "a=1", "--arg-text", "a=2"]);
    assert!(twice.code == 2 && twice.err.contains("--arg a is given twice"), "{}", twice.err);
}

#[test]
fn arguments_come_from_a_file_or_from_stdin() {
    let server = Server::start();
    server.hero.file("args.json", "{\"a\": [1, 2]}\n");
    assert_eq!(server.ok(&["run", "-e", "args", "--args", "@args.json", "--arg", "b=3"]), "{\"a\":[1,2],\"b\":3}");
    assert_eq!(server.feed(&["run", "-e", "args.a", "--args", "@-"], "{\"a\": 42}").out, "42\n");
    server.hero.file("bad.json", "{\"a\": }");
    for (args, told) in [("@bad.json", "--args: bad.json is not JSON: "), ("@", "the name of a file is expected")] {
        let ended = server.run(&["run", "-e", "1", "--args", args]);
        assert!(ended.code == 2 && ended.err.contains(told), "{args}: {} {}", ended.code, ended.err);
    }
    let missing = server.run(&["run", "-e", "1", "--args", "@none.json"]);
    assert!(missing.code == 2 && missing.err.contains("the file of --args none.json cannot be opened"), "{}", missing.err);
}

#[test]
fn values_of_env_need_not_stand_on_the_command_line() {
    let server = Server::with(Hero::new().env("TOKEN", "from outside"), &["--pool", "osis=1"]);
    server.hero.file("job.env", "# what the job needs\nTOKEN=from the file\nUSER=ada\nQUOTED=\"two words\"\n");
    let script = "[env.TOKEN, env.USER, env.QUOTED, env.GIVEN]";
    let given = ["run", "-e", script, "--env-file", "job.env", "--env", "TOKEN", "--env", "GIVEN=x=y"];
    assert_eq!(server.ok(&given), "[\"from outside\",\"ada\",\"two words\",\"x=y\"]");
    assert_eq!(server.feed(&["run", "-e", "env.A", "--env-file", "-"], "A=b c\n").out, "b c\n");
    for (arguments, told) in [
        (["--env", "ABSENT"], "--env ABSENT: there is no variable ABSENT in the environment"),
        (["--env", "=x"], "a name is expected"),
        (["--env-file", "bad.env"], "bad.env:2: a name is expected before the ="),
    ] {
        server.hero.file("bad.env", "A=1\n=2\n");
        let ended = server.run(&[&["run", "-e", "1"], &arguments[..]].concat());
        assert!(ended.code == 2 && ended.err.contains(told), "{arguments:?}: {} {}", ended.code, ended.err);
    }
}

#[test]
fn a_time_that_is_to_come_is_said_as_the_help_says_it() {
    let server = Server::start();
    let created = server.json(&["job", "create", "-e", "1", "--run-at", "3h from now", "--start"]);
    assert_eq!(created["status"], "scheduled");
    let run = server.ok(&["run", "-e", "40 + 2", "--run-at", "1ms from now"]);
    assert_eq!(run, "42");
    assert_eq!(server.json(&["job", "list", "--since", "1h ago"])["jobs"].as_array().unwrap().len(), 2);
    let wrong = server.run(&["job", "create", "-e", "1", "--run-at", "3h ago"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}

#[test]
fn lengths_of_time_have_units_wherever_one_is_given() {
    let server = Server::start();
    let flow = "retention: 12h\njobs:\n  a: { script: '1', timeout: 5m, retry_backoff: 200ms }\n  b: { script: '1', timeout: 1.5 }\n";
    server.hero.file("flow.yaml", flow);
    server.ok(&["flow", "run", "flow.yaml"]);
    let jobs = server.json(&["flow", "show", "1"])["jobs"].clone();
    let timeout = |id: &Value| server.json(&["job", "show", id.as_str().unwrap()])["timeout"].clone();
    assert_eq!((timeout(&jobs[0]["job_id"]), timeout(&jobs[1]["job_id"])), (json!(300), json!(1.5)));
    server.hero.file("jobs.json", r#"[{"script": "1", "timeout": "5m"}]"#);
    assert_eq!(timeout(&json!(server.ok(&["job", "create-many", "jobs.json"]))), json!(300));
    let child = server.ok(&["run", "-e", "job::spawn(#{ script: `1`, timeout: `2m`, retention: `1h` })"]);
    assert_eq!(timeout(&json!(child)), json!(120));
    server.hero.file("flow.yaml", "jobs:\n  a: { script: '1', timeout: 5 parsecs }\n  b: { script: '1', timeout: '5' }\n");
    let checked = server.run(&["flow", "check", "flow.yaml"]);
    assert!(checked.out.contains("flow.yaml:2:30: jobs.a.timeout: \"5 parsecs\" is not a length of time"), "{}", checked.out);
    assert!(checked.out.contains("flow.yaml:3:30: jobs.b.timeout: \"5\" is a text without a unit"), "{}", checked.out);
}

#[test]
fn what_a_script_throws_is_shown_with_its_data() {
    let server = Server::start();
    server.hero.file("a.rhai", "throw #{ message: `no plums`, code: 7 };");
    let ended = server.run(&["run", "a.rhai"]);
    let lines: Vec<&str> = ended.err.lines().collect();
    assert!(lines[0].ends_with("script: no plums"), "{}", ended.err);
    assert_eq!(lines.last().unwrap(), &"  data: {\"code\":7,\"message\":\"no plums\"}", "{}", ended.err);
    let id = server.json(&["job", "list"])["jobs"][0]["job_id"].as_str().unwrap().to_owned();
    assert!(server.ok(&["job", "show", &id]).contains("data: {\"code\":7,\"message\":\"no plums\"}"));
    assert!(!server.run(&["run", "-e", "throw `no plums`"]).err.contains("data:"));
}

#[test]
fn jobs_are_created_of_json_lines() {
    let server = Server::start();
    server.hero.file("jobs.jsonl", "{\"script\": \"1\", \"name\": \"a\"}\n\n{\"script\": \"2\",\n \"name\": \"b\"}\n");
    let ids = server.ok(&["job", "create-many", "jobs.jsonl", "--start"]);
    let [first, second] = ids.lines().collect::<Vec<_>>()[..] else { panic!("{ids}") };
    assert_eq!((server.ok(&["job", "wait", first]), server.ok(&["job", "wait", second])), ("1".to_owned(), "2".to_owned()));
    for (text, told) in [
        ("{\"script\": \"1\"}\n{\"script\": }\n", "at line 2 column 12"),
        ("{\"script\": \"1\"}\n{\"script\": 1}\n", "`jobs[1].script`: expected a text"),
        ("{\"script\": \"1\"}\n5\n", "`jobs[1]`: expected an object"),
        ("\n", "it is empty"),
        ("{\"script\": \"1\"}\n{\"script\": \"1\", \"timout\": 9}\n", "error: bad.jsonl:2: unknown field `timout`; is `timeout` meant?\n"),
        ("[{\"script\": \"1\",\n  \"tme\": 9}]\n", "bad.jsonl:2: unknown field `tme`; those that there are: "),
    ] {
        server.hero.file("bad.jsonl", text);
        let ended = server.run(&["job", "create-many", "bad.jsonl"]);
        assert!(ended.code == 2 && ended.err.contains(told), "{text}: {} {}", ended.code, ended.err);
    }
}

#[test]
fn parameters_that_are_no_json_are_told_in_plain_words() {
    let ended = Hero::new().run(&["call", "get_job", "notjson"]);
    assert!(ended.code == 2 && ended.err.contains("not JSON: a value is expected, such as {"), "{}", ended.err);
    assert!(!ended.err.contains("ident"), "{}", ended.err);
}

#[test]
fn a_call_says_what_it_was_given_so_that_the_server_refuses_a_name_that_stands_twice() {
    let server = Server::start();
    let ended = server.run(&["call", "create_job", r#"{"script":"1","env_vars":{"K":"a","K":"b"}}"#]);
    assert!(
        ended.code == 2 && ended.err.contains(r#"parameter `env_vars`: the name "K" stands there twice"#),
        "{} {}",
        ended.code,
        ended.err
    );
    let ended = server.run(&["call", "run_and_wait", r#"{"script":"args.a","args":{"a":1,"a":2}}"#]);
    assert!(ended.code == 0 && ended.out.contains(r#""value":2"#), "{} {}", ended.code, ended.err);
}
