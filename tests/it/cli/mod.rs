//! The command line program: arguments, settings, exit codes.

mod call;
mod config;
mod config_refused;
mod ended;
mod examples;
mod fake;
mod help;
mod live;
mod local;
pub mod serve;
mod terminal;
mod wrong;

use std::path::Path;
use std::process::{Command, Output};

/// The program with a clean environment, in an empty directory of its own.
struct Hero {
    home: tempfile::TempDir,
    env: Vec<(String, String)>,
}

/// The outcome of a run of the program.
struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl Hero {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), env: Vec::new() }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With the programs of the system.
    fn with_path(self) -> Self {
        let path = std::env::var("PATH").unwrap();
        self.env("PATH", &path)
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file into the directory and gives its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.home().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hero"));
        command.args(arguments).env_clear().env("HOME", self.home()).current_dir(self.home());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).output().unwrap().into()
    }
}

impl From<Output> for Ended {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        Self { code: status.code().unwrap_or(-1), out: String::from_utf8(stdout).unwrap(), err: String::from_utf8(stderr).unwrap() }
    }
}

#[test]
fn arguments_that_cannot_be_meant_end_with_2() {
    let hero = Hero::new();
    let script = hero.file("a.rhai", "1");
    for arguments in [
        &["nonsense"][..],
        &[],
        &["job", "status"],
        &["job", "status", "not-a-uuid"],
        &["job", "list", "--status", "odd"],
        &["run", "a.rhai", "--priority", "3"],
        &["run", "a.rhai", "--timeout", "-1"],
        &["run", "a.rhai", "--arg", "novalue"],
        &["run", "a.rhai", "--args", "{"],
        &["run", "a.rhai", "--arg-text", "novalue"],
        &["run", "a.rhai", "--reconnect", "soon"],
        &["run", &script, "--server", "ftp://127.0.0.1:1"],
        &["run", &script, "--server", "nowhere"],
        &["serve", "--lease", "soon"],
        &["actor"],
    ] {
        let ended = hero.run(arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {}{}", ended.out, ended.err);
        assert!(!ended.err.is_empty(), "{arguments:?} says nothing");
    }
}

#[test]
fn a_negative_number_is_refused_as_a_value_and_not_taken_for_an_option() {
    let hero = Hero::new();
    for arguments in [&["run", "a.rhai", "--retries", "-1"][..], &["job", "list", "--limit", "-1"], &["run", "a.rhai", "--timeout", "-1"]] {
        let ended = hero.run(arguments);
        assert!(ended.code == 2 && ended.err.contains("invalid value '-1'") && !ended.err.contains("-- -1"), "{}", ended.err);
    }
}

#[test]
fn an_address_that_names_no_server_is_told_with_what_is_wrong_and_without_its_secret() {
    for (address, told) in [
        ("ws://h:99999", "1 to 65535"),
        ("ws://:8700", "the host is missing"),
        ("ws://[::1", "not closed"),
        ("ws://a b:1", "not an address of a server"),
        ("ws://me:secret@127.0.0.1:1", "\"***@127.0.0.1:1"),
        ("me:secret@127.0.0.1:1", "HERO_TOKEN"),
        ("wss://secret@127.0.0.1:1", "HERO_TOKEN"),
        ("ws://me:12/secret@127.0.0.1:1", "HERO_TOKEN"),
    ] {
        for options in [&[][..], &["--json"]] {
            let hero = Hero::new().env("HERO_SERVER", address);
            for ended in [hero.run(&[options, &["job", "list"]].concat()), hero.run(&[options, &["drain", "--server", address]].concat())] {
                let said = ended.out + ended.err.as_str();
                assert!(ended.code == 2 && said.contains(told) && !said.contains("secret"), "{address}: {} {said}", ended.code);
            }
        }
    }
}

#[test]
fn a_server_that_does_not_answer_ends_with_7_and_says_what_to_do() {
    let hero = Hero::new().env("HERO_SERVER", "ws://127.0.0.1:1");
    let script = hero.file("a.rhai", "1");
    for arguments in [&["queue", "list"][..], &["actor", "list"], &["run", &script], &["job", "list"]] {
        let ended = hero.run(arguments);
        assert_eq!(ended.code, 7, "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains("ws://127.0.0.1:1") && ended.err.contains("hero serve"), "{}", ended.err);
    }
}

#[test]
fn with_json_an_error_is_a_document_on_stdout() {
    let ended = Hero::new().run(&["--json", "--server", "ws://127.0.0.1:1", "queue", "list"]);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &document["exit_code"]), (7, &serde_json::json!(7)));
    assert!(document["error"]["message"].as_str().unwrap().contains("no server answers"));
    assert_eq!(ended.err, "");
}

#[test]
fn with_json_arguments_that_are_refused_are_a_document_as_well() {
    for (arguments, told) in [
        (&["--json", "nonsense"][..], "unrecognized subcommand 'nonsense'"),
        (&["job", "lst", "--json"], "unrecognized subcommand 'lst'; tip: "),
        (&["--json"], "requires a subcommand"),
        (&["job", "--json"], "subcommand"),
        (&["job", "status", "not-a-uuid", "--json"], "\"not-a-uuid\" is not a UUID"),
        (&["--json", "job", "list", "--limit", "x"], "'x' for '--limit <N>': it is a whole number from 1 to 100000"),
        (&["--json", "run"], "arguments were not provided: <FILE|-|--script <TEXT>>"),
        (&["--json", "run", "a.rhai", "--odd\x1b[2J"], "--odd"),
        (&["--json", "serve", "--lease", "soon"], "lease"),
    ] {
        let ended = Hero::new().run(arguments);
        let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{arguments:?}: {}", ended.out));
        assert_eq!((ended.code, &document["exit_code"], ended.err.as_str()), (2, &2.into(), ""), "{arguments:?}");
        let message = document["error"]["message"].as_str().unwrap();
        assert!(message.contains(told) && !message.contains("Usage") && !message.starts_with("error"), "{arguments:?}: {message}");
        assert!(!ended.out.contains('\x1b') && document["error"]["code"].is_null());
    }
    // What is asked for is no failure, and behind -- nothing is asked for.
    assert!(Hero::new().run(&["--json", "--help"]).out.starts_with("Runs scripts"));
    assert!(Hero::new().run(&["job", "list", "--", "--json"]).err.starts_with("error: "));
}

#[test]
fn a_script_in_a_list_of_jobs_is_checked_before_anything_is_sent() {
    // Nobody answers there, so whatever is told was found here.
    let hero = Hero::new().env("HERO_SERVER", "ws://127.0.0.1:1");
    hero.file(
        "jobs.json",
        r#"[{"script": "1"}, {"script": "1 +", "script_type": "python"}, {"name": "x", "script": "let a = 1;\nlet b = ;"}]"#,
    );
    let ended = hero.run(&["job", "create-many", "jobs.json"]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{}", ended.err);
    assert!(ended.err.starts_with("jobs.json: jobs[2] (x): script:2:9: script: Syntax error: "), "{}", ended.err);
    let ended = hero.run(&["--json", "job", "create-many", "jobs.json"]);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &document["error"]["data"]["index"]), (2, &2.into()));
    assert_eq!((&document["error"]["data"]["error"]["line"], &document["error"]["data"]["error"]["column"]), (&2.into(), &9.into()));
    hero.file("lines.json", "{\"script\": \"1\"}\n{\"script\": \"1 +\"}\n");
    let ended = hero.run(&["job", "create-many", "lines.json"]);
    assert!(ended.code == 2 && ended.err.starts_with("lines.json: jobs[1]: script:1:"), "{}", ended.err);
}

#[test]
fn a_token_that_no_server_can_be_shown_is_told_as_that_and_where_it_came_from() {
    use std::os::unix::ffi::OsStrExt as _;
    for (token, told) in [
        (&b"abc\n"[..], "its character 4 of 4 is a line break"),
        (b"abc def", "its character 4 of 7 is white space"),
        (b"abc\x1b", "its character 4 of 4 is a control character"),
        (b"abc\xff", "its character 4 of 4 is a character that no token has"),
    ] {
        let hero = Hero::new();
        let mut command = hero.command(&["queue", "list", "--server", "ws://127.0.0.1:1"]);
        command.env("HERO_TOKEN", std::ffi::OsStr::from_bytes(token));
        let ended: Ended = command.output().unwrap().into();
        let said = ended.err.replace("\n       ", " ");
        assert!(ended.code == 2 && said.starts_with("error: the token cannot be used: ") && said.contains(told), "{} {said}", ended.code);
        assert!(said.contains("HERO_TOKEN") && !said.contains("abc") && !said.contains("not an address"), "{said}");
    }
}

#[test]
fn a_file_of_an_authority_that_cannot_be_used_is_told_with_the_reason() {
    let hero = Hero::new();
    let file = |name: &str, text: &str| hero.file(name, text);
    let (empty, text) = (file("empty.pem", ""), file("text.pem", "no certificate"));
    let broken = file("broken.pem", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
    let (absent, folder) = (format!("{text}.none"), hero.home().to_str().unwrap().to_owned());
    for (path, told) in [
        (&empty, "it is empty"),
        (&text, "it has no certificate in PEM"),
        (&broken, "it has no certificate in PEM"),
        (&absent, "it cannot be read: No such file"),
        (&folder, "it cannot be read: Is a directory"),
    ] {
        let by_variable = Hero::new().env("HERO_CA", path).run(&["queue", "list", "--server", "wss://127.0.0.1:1"]);
        let by_option = Hero::new().run(&["queue", "list", "--server", "wss://127.0.0.1:1", "--ca", path]);
        for ended in [by_variable, by_option] {
            assert!(ended.code == 2 && ended.err.contains(path.as_str()) && ended.err.contains(told), "{} {}", ended.code, ended.err);
            assert!(ended.err.contains("--ca or HERO_CA") && !ended.err.contains("not to be trusted"), "{}", ended.err);
        }
    }
}

#[test]
fn usage_shows_no_option_that_was_not_given() {
    let hero = Hero::new().env("HERO_SERVER", "ws://127.0.0.1:1");
    let ended = hero.run(&["job", "show"]);
    assert!(
        ended.err.contains("Usage: hero job show [OPTIONS] <JOB_ID>") || ended.err.contains("Usage: hero job show <JOB_ID>"),
        "{}",
        ended.err
    );
}

#[test]
fn a_script_that_cannot_be_read_is_named() {
    let hero = Hero::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ended = hero.run(&["job", "create", "missing.rhai", "--server", &format!("ws://{}", listener.local_addr().unwrap())]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("missing.rhai"), "{}", ended.err);
}

#[test]
fn completions_know_the_subcommands() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = Hero::new().run(&["completions", shell]);
        assert_eq!(ended.code, 0);
        assert!(ended.out.contains("completions") && ended.out.contains("openrpc"), "{shell}");
        assert!(!ended.out.contains("engine_main"), "{shell}");
    }
}

#[test]
fn a_script_that_does_not_compile_is_shown_with_its_place_before_anything_is_sent() {
    // Nobody answers there, so whatever is told was found here.
    let hero = Hero::new().env("HERO_SERVER", "ws://127.0.0.1:1");
    let file = hero.file("shop.rhai", "let a = 1;\nlet b = ;\n");
    for arguments in [&["job", "create", &file][..], &["schedule", "create", &file, "--every", "5"]] {
        let ended = hero.run(arguments);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{arguments:?}: {}", ended.err);
        let lines: Vec<&str> = ended.err.lines().collect();
        assert!(lines[0].contains("shop.rhai:2:9: script: Syntax error: "), "{}", ended.err);
        assert_eq!(&lines[1..], ["  2 | let b = ;", "    |         ^"]);
    }
    let ended = hero.run(&["--json", "job", "create", "-e", "1 +"]);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &document["exit_code"], &document["error"]["data"]["error"]["line"]), (2, &2.into(), &1.into()));
    // Limits, and languages that are not spoken here, are for the server.
    for arguments in [&["-e", "1 +", "--type", "python"][..], &["-e", &"(".repeat(500)], &["-e", &" ".repeat(70_000)]] {
        assert_eq!(hero.run(&[&["job", "create"], arguments].concat()).code, 7);
    }
}

#[test]
fn what_is_no_rhai_and_has_a_name_that_says_nothing_is_told_how_to_say_what_it_is() {
    let hero = Hero::new().env("HERO_SERVER", "ws://127.0.0.1:1");
    let lua = hero.file("greet.lua", "local greeting = 'hello'\n");
    for arguments in [&["job", "create", &lua][..], &["schedule", "create", &lua, "--every", "5"]] {
        let ended = hero.run(arguments);
        assert!(ended.code == 2 && ended.err.contains("read as Rhai") && ended.err.contains("--type does"), "{}", ended.err);
        // Who names the type has it his way, and nobody answers there.
        assert_eq!(hero.run(&[arguments, &["--type", "lua"]].concat()).code, 7);
        let named = hero.run(&[arguments, &["--type", "osis"]].concat());
        assert!(named.code == 2 && !named.err.contains("--type"), "{}", named.err);
    }
    let python = hero.file("tea.py", "def f(): return 1");
    assert_eq!(hero.run(&["job", "create", &python]).code, 7, "it is not Rhai");
}

#[test]
fn a_file_that_is_not_there_is_not_watched_and_a_limit_of_nothing_is_refused() {
    // Nobody answers there, so whatever is told was found here.
    let hero = Hero::new().env("HERO_SERVER", "ws://127.0.0.1:1");
    let ended = hero.run(&["run", "--watch", "nofile.rhai"]);
    assert!(ended.code == 2 && ended.err.contains("nofile.rhai cannot be opened"), "{}", ended.err);
    for arguments in [&["login", "--key", "nofile"][..], &["audit", "verify", ".", "--key", "nofile"], &["restore", "nodir"]] {
        let ended = hero.run(arguments);
        assert!(ended.code == 2 && ended.err.contains(arguments[arguments.len() - 1]), "{arguments:?}: {}", ended.err);
    }
    let ended = hero.run(&["schedule", "create", "-e", "1", "--every", "1h", "--missed-limit", "5"]);
    assert!(ended.code == 2 && ended.err.contains("--missed all"), "{}", ended.err);
}

#[test]
fn completions_offer_the_values_of_options() {
    let script = Hero::new().run(&["completions", "bash"]).out;
    for values in [
        "created scheduled waiting_for_prerequisites dispatched started finished error failed stopped timed-out",
        "skip queue allow",
        "skip once all",
        "osis sal",
    ] {
        assert!(script.contains(&format!("compgen -W \"{values}\"")), "{values}");
    }
}
