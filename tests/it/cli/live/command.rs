//! Scripts in other languages, on a whole server.

use serde_json::json;

use super::super::Hero;
use super::{Server, read};

/// An example of the repository, by its path there.
fn example(name: &str) -> String {
    format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_configured_command_runs_jobs_as_the_example_says() {
    let hero = Hero::new();
    let config = "pools = [\"osis=1\", \"bash=1\"]\n[script_types.bash]\ncommand = [\"bash\", \"{script}\"]\n";
    let file = hero.file("hero.toml", config);
    let server = Server::with(hero, &["--config", &file]);
    let ended = server.run(&["run", "--type", "bash", "--env", "WORDS=one two three", &example("commands/count.sh")]);
    assert_eq!((ended.code, ended.out.trim()), (0, r#"{"words": 3}"#.replace(' ', "").as_str()), "{}", ended.err);
    assert!(ended.err.contains("word 3: three"), "{}", ended.err);
    let continuation = server.ok(&["run", "--type", "bash", &example("commands/children.sh")]);
    let given: serde_json::Value = serde_json::from_str(&server.ok(&["job", "wait", &continuation])).unwrap();
    assert_eq!(
        given.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("part")).map(|(_, n)| n.as_u64().unwrap()).sum::<u64>(),
        14
    );
    // The first line of a script is its own.
    let first = server.hero.file("first.sh", "#!/bin/bash\necho $BASH_VERSION >&3");
    assert!(!server.ok(&["run", "--type", "bash", &first]).is_empty());
    let failed = server.run(&["run", "--type", "bash", "-e", "echo no tea >&2; exit 3"]);
    assert!(failed.code == 3 && failed.err.contains("exit code 3: no tea"), "{} {}", failed.code, failed.err);
    let secret = server.run(&["run", "--type", "bash", "--env", "TOKEN=hunter-two", "-e", "echo $TOKEN; echo $TOKEN >&2; exit 1"]);
    assert!(!secret.err.contains("hunter"), "{}", secret.err);
    let late = server.run(&["run", "--type", "bash", "--timeout", "0.3", "-e", "sleep 1000"]);
    assert_eq!(late.code, 5, "{}", late.err);
    let id = server.ok(&["job", "create", "--type", "bash", "-e", "echo ready; sleep 1000", "--start"]);
    server.is(&id, "started");
    server.ok(&["job", "stop", &id]);
    assert_eq!(server.run(&["job", "wait", &id]).code, 4);
    let usage = server.json(&["job", "show", &server.ok(&["job", "create", "--type", "bash", "-e", ":"])]);
    assert_eq!(usage["script_type"], "bash");
}

#[test]
fn without_a_type_the_name_of_the_file_says_it() {
    let hero = Hero::new();
    let file = hero.file(
        "hero.toml",
        "pools = [\"osis=1\", \"bash=1\", \"python=1\", \"v=1\"]\n[script_types.bash]\ncommand = [\"bash\", \"{script}\"]\n",
    );
    let server = Server::with(hero, &["--config", &file]);
    let words = ["--env", "WORDS=one two"];
    assert_eq!(server.ok(&[&["run", &example("commands/count.sh")][..], &words].concat()), r#"{"words":2}"#);
    assert_eq!(server.ok(&["run", &example("order.hero")]), r#"[null,42,"Dear Ada"]"#);
    let id = server.ok(&["job", "create", &example("python/mean.py")]);
    assert_eq!(server.json(&["job", "show", &id])["script_type"], "python");
    let schedule = server.json(&["schedule", "create", &example("v/words.v"), "--every", "1h", "--start-at", "1h"]);
    assert_eq!(schedule["job"]["script_type"], "v", "{schedule}");
    // Who says it himself knows better, and what no name says is Rhai.
    let script = server.hero.file("odd.py", "6 * 7");
    assert_eq!(server.ok(&["run", "--type", "osis", &script]), "42");
    let script = server.hero.file("answer", "6 * 7");
    assert_eq!(server.ok(&["run", &script]), "42");
    let unknown = server.run(&["run", &example("commands/report.js")]);
    assert!(unknown.code == 1 && unknown.err.contains("script type node is not built in, not configured"), "{}", unknown.err);
}

#[test]
fn python_runs_without_any_configuration() {
    if std::process::Command::new("python3").arg("-V").output().is_err() {
        println!("skipped: there is no python3");
        return;
    }
    let server = Server::with(Hero::new(), &["--pool", "python=2"]);
    let ended = server.run(&["run", "--type", "python", "--args", r#"{"numbers": [1, 2, 3]}"#, &example("python/mean.py")]);
    assert_eq!((ended.code, ended.out.trim()), (0, r#"{"mean":2.0}"#), "{}", ended.err);
    let continuation = server.ok(&["run", "--type", "python", &example("python/children.py")]);
    assert_eq!(server.ok(&["job", "wait", &continuation]), "14");
    let failed = server.run(&["--json", "run", "--type", "python", "-e", "def f():\n    1 / 0\nf()"]);
    let document: serde_json::Value = serde_json::from_str(&failed.out).unwrap_or_else(|_| panic!("{}{}", failed.out, failed.err));
    let error = &document["error"]["data"]["error"];
    assert_eq!((failed.code, &error["line"], &error["stack"]), (3, &json!(2), &json!(["f (line 2)"])), "{document}");
    // How its engine is confined an actor says with its next heartbeat.
    let patience = std::time::Instant::now() + crate::support::PATIENCE;
    let actors = loop {
        let actors = server.json(&["actor", "list"]);
        if actors[0]["confinement"].is_string() || std::time::Instant::now() > patience {
            break actors;
        }
    };
    let confinement = actors[0]["confinement"].as_str().unwrap();
    assert!(actors.as_array().unwrap().len() == 2 && confinement.contains("no_new_privs"), "{actors}");
    assert!(!read(&server.hero, "serve.log").contains("ERROR"), "{}", read(&server.hero, "serve.log"));
}

#[test]
fn what_runs_no_scripts_is_refused_at_the_start_with_its_place() {
    let hero = Hero::new();
    let home = hero.home().to_owned();
    let directory = |name: &str, files: &[(&str, &str)]| {
        let path = home.join(name);
        for (file, text) in files {
            let file = path.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        path.display().to_string()
    };
    let empty = directory("empty", &[("file", "")]);
    let gone = directory("gone", &[("pyvenv.cfg", ""), ("bin/other", "")]);
    std::os::unix::fs::symlink("/nonexistent/python3", home.join("gone/bin/python")).unwrap();
    let failing = directory("failing", &[("pyvenv.cfg", ""), ("bin/python", "#!/bin/sh\necho no library >&2\nexit 1\n")]);
    let of = |name: &str, table: &str| format!("pools = [\"{name}=1\"]\n[script_types.{name}]\n{table}\n");
    let place = "script_types (file ";
    for (config, said) in [
        (
            of("x", "command = [\"no-such-program\", \"{script}\"]"),
            "script_types.x.command: there is no program \"no-such-program\" in PATH",
        ),
        (of("x", "command = [\"/no/such\", \"{script}\"]"), "script_types.x.command: there is no program /no/such"),
        (of("x", "command = [\"/etc/passwd\", \"{script}\"]"), "/etc/passwd is not a program that may be run"),
        (of("x", "command = [\"bash\", \"{script}\"]\nread = [\"/no/such\"]"), "script_types.x.read: there is no /no/such"),
        (of("x", "command = [\"bash\"]"), "x: command does not say where the script goes"),
        (of("x", "command = []"), "x: command names no program"),
        (of("x", "command = [\"{script}\"]"), "x: command names the script as its program; [\"env\", \"{script}\"] runs it"),
        (of("x", "command = \"bash {script}\""), place),
        (of("x", "comand = []"), "x: the key comand is unknown; did you mean command?"),
        (of("x", "file = \"../x\""), "x: file is \"../x\", which the script's file cannot be called"),
        (of("x", "memory = \"1MB\""), "x: memory: no interpreter starts with less than 16MB"),
        (of("osis", ""), "osis: this type is built in"),
        (of("x", ""), "pool x: there is no engine for this script type"),
        (of("python", "venv = \"venv\""), "python: venv: \"venv\" is not a whole path"),
        (of("python", "venv = \"/no/such\""), "script_types.python.venv: there is no directory /no/such"),
        (of("python", &format!("venv = {empty:?}")), "is no virtual environment: it has no pyvenv.cfg"),
        (
            of("python", &format!("venv = {gone:?}")),
            "its bin/python leads to /nonexistent/python3, which is gone; make it anew: python3 -m venv --clear",
        ),
        (of("python", &format!("venv = {failing:?}")), "does not work: no library; make it anew"),
        (of("python", "interpreter = \"/bin/true\""), "script_types.python.interpreter: /bin/true is no Python of version 3"),
        (of("python", "interpreter = \"pythonx\""), "script_types.python.interpreter: there is no program \"pythonx\" in PATH"),
        ("[[pools]]\ntype = \"osis\"\nvenv = \"/x\"\n".to_owned(), "pool osis: venv is for pools whose scripts are Python"),
        ("[[pools]]\ntype = \"python\"\nvenv = \"/no/such\"\n".to_owned(), "pool python: venv: there is no directory /no/such"),
    ] {
        let file = hero.file("hero.toml", &config);
        let ended = hero
            .command(&["serve", "--listen", "127.0.0.1:0", "--data", "data", "--config", &file])
            .env("PATH", super::path())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(2) && err.contains(said), "{config}: {:?} {err}", ended.status);
        assert!(err.contains("hero.toml") || !said.starts_with("x:"), "{err}");
    }
}

#[test]
fn a_virtual_environment_of_a_pool_is_that_of_its_scripts() {
    let hero = Hero::new();
    let venv = hero.home().join("venv");
    let made = std::process::Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("skipped: there is no python3 that makes virtual environments");
        return;
    }
    let lib = std::fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(lib.join("site-packages/tea.py"), "KIND = 'green'\n").unwrap();
    let config =
        format!("[[pools]]\ntype = \"python\"\n[[pools]]\ntype = \"python\"\ngroup = \"tea\"\nvenv = {:?}\n", venv.display().to_string());
    let file = hero.file("hero.toml", &config);
    let server = Server::with(hero, &["--config", &file]);
    let script = "import hero, sys, tea; hero.result([tea.KIND, sys.prefix])";
    let given: serde_json::Value = serde_json::from_str(&server.ok(&["run", "--type", "python", "--group", "tea", "-e", script])).unwrap();
    assert_eq!(given, json!(["green", venv.canonicalize().unwrap()]));
    let other = server.run(&["run", "--type", "python", "--group", "default", "-e", script]);
    assert!(other.err.contains("ModuleNotFoundError: No module named 'tea'"), "{}", other.err);
}

#[test]
fn where_python_is_missing_everybody_is_told() {
    let hero = Hero::new();
    let programs = hero.home().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let found = std::env::split_paths(&super::path()).map(|directory| directory.join("redis-server")).find(|path| path.exists()).unwrap();
    std::os::unix::fs::symlink(found, programs.join("redis-server")).unwrap();
    let server = Server::with_path(hero, &["--pool", "osis=1", "--pool", "python=1"], programs.as_os_str());
    let why = "there is no program \"python3\" in PATH";
    assert!(read(&server.hero, "serve.log").contains(why), "{}", read(&server.hero, "serve.log"));
    let actors = server.json(&["actor", "list"]);
    let last = actors.as_array().unwrap().last().unwrap();
    assert!(last["script_type"] == "python" && last["unavailable"].as_str().unwrap().contains(why), "{actors}");
    let id = server.ok(&["job", "create", "--type", "python", "-e", "pass", "--start"]);
    assert!(server.ok(&["job", "explain", &id]).contains(why));
    let waited = server.run(&["job", "wait", &id, "--wait", "100ms"]);
    assert!(waited.code == 6 && waited.err.contains(why), "{} {}", waited.code, waited.err);
    // It waits until there is one.
    assert_eq!(server.ok(&["job", "status", &id]), "dispatched");
}

#[test]
fn where_the_compiler_of_v_is_missing_everybody_is_told() {
    let server = Server::with(Hero::new().env("V_BIN", "/no/such/v"), &["--pool", "osis=1", "--pool", "v=1"]);
    let why = "V_BIN: there is no program /no/such/v";
    assert!(read(&server.hero, "serve.log").contains(why), "{}", read(&server.hero, "serve.log"));
    let actors = server.json(&["actor", "list"]);
    let last = actors.as_array().unwrap().last().unwrap();
    assert_eq!((&last["script_type"], &last["unavailable"]), (&json!("v"), &json!(why)), "{actors}");
    let listed = server.run(&["actor", "list"]);
    assert!(listed.err.contains(&format!("no v: {why}")) && !listed.out.contains("\nv "), "{}{}", listed.out, listed.err);
    let id = server.ok(&["job", "create", "--type", "v", "-e", "fn main() {}", "--start"]);
    let explained = server.ok(&["job", "explain", &id]);
    assert!(
        explained
            .contains(&format!("no live actor takes jobs of v; it waits in its queue until one starts; this server offers none: {why}")),
        "{explained}"
    );
    let waited = server.run(&["job", "wait", &id, "--wait", "100ms"]);
    assert!(waited.code == 6 && waited.err.contains(why), "{} {}", waited.code, waited.err);
}

#[test]
fn a_stand_in_for_the_compiler_of_v_runs_scripts() {
    let hero = Hero::new();
    let stand_in = "#!/bin/bash\n[ \"$1\" = version ] && echo 'V 0.0.0 stand-in' && exit\n{ echo '#!/bin/bash'; tail -n +2 \"$4\"; } > \"$3\"; chmod 700 \"$3\"\n";
    let compiler = hero.file("stand-in", stand_in);
    std::fs::set_permissions(&compiler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let server = Server::with(hero.env("V_BIN", &compiler), &["--pool", "v=1"]);
    assert_eq!(server.ok(&["run", "--type", "v", "-e", "// first\necho 42 >&3"]), "42");
}
