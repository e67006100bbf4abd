//! The sources of settings.

use serde_json::{Value, json};

use super::Hero;

/// The value of a setting and where it came from.
fn setting(hero: &Hero, arguments: &[&str], name: &str) -> (Value, String) {
    let ended = hero.run(&[&["--json", "serve", "--print-config"], arguments].concat());
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let all: Value = serde_json::from_str(&ended.out).unwrap();
    (all[name]["value"].clone(), all[name]["from"].as_str().unwrap().to_owned())
}

#[test]
fn a_flag_wins_over_the_environment_over_the_file_over_the_default() {
    let hero = Hero::new();
    let from = |value: &str, place: &str| (json!(value), place.to_owned());
    assert_eq!(setting(&hero, &[], "lease"), from("30s", "default"));
    let file = hero.file("hero.toml", "lease = \"20s\"\nqueue_length = 7\n");
    let place = format!("file {file}");
    assert_eq!(setting(&hero, &["--config", &file], "lease"), from("20s", &place));
    let hero = hero.env("HERO_CONFIG", &file).env("HERO_LEASE", "10s");
    assert_eq!(setting(&hero, &[], "lease"), from("10s", "environment HERO_LEASE"));
    assert_eq!(setting(&hero, &["--lease", "5s"], "lease"), from("5s", "flag --lease"));
    assert_eq!(setting(&hero, &[], "queue_length"), (json!(7), place));
}

#[test]
fn calls_are_limited_where_callers_log_in_or_come_from_elsewhere() {
    let hero = Hero::new();
    for (arguments, most) in [
        (&[][..], 0),
        (&["--login"][..], 1000),
        (&["--listen", "192.0.2.1:8700", "--login"][..], 1000),
        (&["--listen", "192.0.2.1:8700", "--insecure"][..], 1000),
        (&["--login", "--calls-per-second", "0"][..], 0),
    ] {
        let (value, _) = setting(&hero, arguments, "calls_per_second");
        assert_eq!(value.to_string().trim_matches('"'), most.to_string(), "{arguments:?}");
    }
}

#[test]
fn pools_come_from_any_source_as_a_whole() {
    let hero = Hero::new();
    let file = hero.file("hero.toml", "[[pools]]\ntype = \"sal\"\ngroup = \"io\"\ninstances = [3, 5]\ncapabilities = [\"fs\"]\n");
    let (pools, _) = setting(&hero, &["--config", &file], "pools");
    assert_eq!(pools, json!([{ "type": "sal", "group": "io", "instances": [3, 5], "contexts": [0], "capabilities": ["fs"] }]));
    let (pools, place) = setting(&hero, &["--config", &file, "--pool", "osis=2", "--pool", "sal:net=1"], "pools");
    let kinds: Vec<&Value> = pools.as_array().unwrap().iter().map(|pool| &pool["type"]).collect();
    assert_eq!((kinds, place.as_str()), (vec![&json!("osis"), &json!("sal")], "flag --pool"));
    let hero = hero.env("HERO_POOL", "none");
    assert_eq!(setting(&hero, &[], "pools"), (json!([]), "environment HERO_POOL".to_owned()));
}

#[test]
fn pools_serve_every_context_unless_they_name_theirs() {
    let hero = Hero::new();
    let contexts = |hero: &Hero, arguments: &[&str]| {
        let (pools, _) = setting(hero, arguments, "pools");
        pools.as_array().unwrap().iter().map(|pool| pool["contexts"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(contexts(&hero, &["--pool", "osis=1", "--contexts", "0-2"]), [json!([0, 1, 2])]);
    let two = "contexts = [0, 1]\n[[pools]]\ntype = \"osis\"\ncontexts = [0]\n[[pools]]\ntype = \"osis\"\ninstances = 4\ncontexts = [1]\n";
    let file = hero.file("hero.toml", two);
    assert_eq!(contexts(&hero, &["--config", &file]), [json!([0]), json!([1])]);
    // The same actors in the same context are one pool.
    let file = hero.file("hero.toml", &two.replace("[1]", "[1, 0]"));
    let ended = hero.run(&["serve", "--print-config", "--config", &file]);
    assert!(ended.code == 2 && ended.err.contains("pool osis:default is given twice for context 0"), "{}", ended.err);
}

#[test]
fn actors_need_the_redis_of_every_context() {
    let hero = Hero::new();
    let arguments = ["actor", "--print-config", "--contexts", "3,4", "--context-endpoint", "3=redis://a"];
    let ended = hero.run(&arguments);
    assert!(ended.code == 2 && ended.err.contains("--redis"), "{}", ended.err);
    let ended = hero.run(&[&arguments[..], &["--context-endpoint", "4=redis://b"]].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
}

#[test]
fn the_printed_settings_are_a_file_that_gives_the_same_settings() {
    let hero = Hero::new();
    let arguments = ["serve", "--print-config", "--lease", "5s", "--pool", "sal:io=2", "--mask", "a,b", "--redis", "redis://localhost"];
    let arguments = [&arguments[..], &["--contexts", "0-1", "--context-endpoint", "1=redis://other"]].concat();
    let printed = hero.run(&arguments);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let file = hero.file("hero.toml", &printed.out);
    let again = hero.run(&["serve", "--print-config", "--config", &file]);
    assert_eq!(again.code, 0, "{}", again.err);
    let values = |text: &str| text.lines().filter_map(|line| line.split('#').next()).map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(values(&printed.out), values(&again.out));
}

#[test]
fn script_types_are_names_or_tables_and_are_printed_as_they_can_be_given() {
    let hero = Hero::new();
    let names = hero.file("names.toml", "script_types = [\"a\", \"b\"]\n");
    assert_eq!(setting(&hero, &["--config", &names], "script_types").0, json!(["a", "b"]));
    assert_eq!(setting(&hero, &["--script-types", "a,b"], "script_types").0, json!(["a", "b"]));
    let tables = "[script_types.bash]\ncommand = [\"bash\", \"{script}\"]\nread = [\"/opt\"]\nmemory = \"1GB\"\n[script_types.foreign]\n";
    let file = hero.file("hero.toml", tables);
    let expected = json!({ "bash": { "command": ["bash", "{script}"], "read": ["/opt"], "memory": "1GB" }, "foreign": {} });
    assert_eq!(setting(&hero, &["--config", &file], "script_types").0, expected);
    // A flag replaces the whole of it.
    assert_eq!(setting(&hero, &["--config", &file, "--script-types", "c"], "script_types").0, json!(["c"]));
    let printed = hero.run(&["serve", "--print-config", "--config", &file]);
    let again = hero.file("again.toml", &printed.out);
    assert_eq!(setting(&hero, &["--config", &again], "script_types").0, expected, "{}", printed.out);
}

#[test]
fn contexts_are_numbers_or_tables_with_limits_and_are_printed_as_they_can_be_given() {
    let hero = Hero::new();
    let tables = "[contexts.0]\n[contexts.10]\nscript_operations = 5\n[contexts.\"2-3\"]\nscript_memory = \"16MB\"\nscript_strict = true\nmax_running = 4\n";
    let file = hero.file("hero.toml", tables);
    let printed = hero.run(&["serve", "--print-config", "--config", &file]);
    assert_eq!((printed.code, printed.err.as_str()), (0, ""));
    let of = |context: u32| {
        let table = printed.out.split_once(&format!("[contexts.{context}]\n")).unwrap_or_else(|| panic!("{}", printed.out)).1;
        table.lines().take_while(|line| line.contains('=')).map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!([of(0), of(10)], [vec![], vec!["script_operations = 5".to_owned()]]);
    let limits = ["script_memory = \"16MB\"", "max_running = 4", "script_strict = true"].map(ToOwned::to_owned);
    assert_eq!([of(2), of(3)], [limits.to_vec(), limits.to_vec()]);
    // In the order of their numbers.
    assert!(printed.out.find("[contexts.3]") < printed.out.find("[contexts.10]"), "{}", printed.out);
    let again = hero.file("again.toml", &printed.out);
    let printed_again = hero.run(&["serve", "--print-config", "--config", &again]);
    let tables_of = |out: &str| out.split_once("[contexts.0]").unwrap().1.to_owned();
    assert_eq!(tables_of(&printed_again.out), tables_of(&printed.out), "{}", printed_again.err);
    // A flag says which are served. It does not take their limits away.
    let printed = hero.run(&["serve", "--print-config", "--config", &file, "--contexts", "0-2"]);
    assert!(
        printed
            .out
            .ends_with("[contexts.0]\n[contexts.1]\n[contexts.2]\nscript_memory = \"16MB\"\nmax_running = 4\nscript_strict = true\n"),
        "{}",
        printed.out
    );
}

#[test]
fn a_limit_of_a_context_that_cannot_be_is_refused_and_one_without_effect_is_told() {
    let hero = Hero::new();
    for (toml, said) in [
        ("[contexts.0]\nscript_memry = 1", "contexts (file "),
        ("[contexts.0]\nscript_memry = 1", "context 0: the key script_memry is unknown; did you mean script_memory?"),
        ("[contexts.0]\nscript_memory = \"many\"", "context 0: script_memory: \"many\" is not a size"),
        ("[contexts.0]\nscript_operations = -1", "context 0: script_operations: \"-1\" is not a whole number"),
        ("[contexts.0]\nscript_operations = 0", "context 0: script_operations: 0 is no limit; leave it out instead"),
        ("[contexts.0]\nscript_result = 0", "context 0: script_result: 0 would let nothing through"),
        ("[contexts.0]\nscript_memory = 1000", "context 0: script_memory: no script runs in less than 1MB"),
        ("[contexts.0]\nprocess_memory = \"1MB\"", "context 0: process_memory: no interpreter starts with less than 16MB"),
        ("[contexts.0]\nscript_strict = \"perhaps\"", "context 0: script_strict: \"perhaps\" is neither true nor false"),
        ("[contexts.many]", "\"many\" is not a context or a range"),
        ("[contexts.0]\n[contexts.\"0-2\"]", "context 0 is given twice"),
        ("[contexts.1]", "a server always has context 0"),
        ("[contexts]", "at least one context is needed"),
        ("contexts = { 0 = 3 }", "context 0: "),
    ] {
        let file = hero.file("hero.toml", toml);
        let ended = hero.run(&["serve", "--print-config", "--config", &file]);
        assert_eq!(ended.code, 2, "{toml}: {}", ended.out);
        assert!(ended.err.contains(said), "{toml} said {}", ended.err);
    }
    let above = "[contexts.0]\nscript_memory = \"1GB\"\nscript_operations = 5\nmax_running = 3\n";
    let file = hero.file("hero.toml", &format!("max_running = 2\n{above}"));
    let ended = hero.run(&["serve", "--print-config", "--config", &file]);
    let warned: Vec<&str> = ended.err.lines().collect();
    assert_eq!(warned.len(), 2, "{}", ended.err);
    assert!(
        warned[0].ends_with("context 0: script_memory has no effect, because it is above script_memory (default), which is 64MB"),
        "{}",
        ended.err
    );
    assert!(warned[1].contains("context 0: max_running has no effect, because it is above max_running (file "), "{}", ended.err);
}

#[test]
fn a_password_is_never_printed() {
    let hero = Hero::new().env("HERO_REDIS_PASSWORD", "hunter2").env("HERO_REDIS", "redis://me:hunter3@localhost");
    let endpoints =
        "contexts = [0, 1]\n[[context_endpoints]]\ncontext = 1\nredis = \"redis://me:hunter4@h\"\nredis_password = \"hunter5\"\n";
    let file = hero.file("hero.toml", endpoints);
    let hero = hero.env("HERO_CONFIG", &file);
    for arguments in [&["serve", "--print-config"][..], &["--json", "serve", "--print-config"], &["actor", "--print-config"]] {
        let ended = hero.run(arguments);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(!ended.out.contains("hunter") && ended.out.contains("***"), "{}", ended.out);
    }
}

#[test]
fn variables_of_others_are_left_alone() {
    let hero = Hero::new().env("HERO_SERVICE_HOST", "10.0.0.1").env("HERO_PORT", "tcp://10.0.0.1:8700").env("HERO_LEASE", "");
    let hero = hero.env("HERO_PORT_8700_TCP_ADDR", "10.0.0.1").env("HERO_REDIS_SERVICE_PORT_RESP", "6379").env("HEROIC_LISTEN", "1");
    // A job may start a hero.
    let of_jobs = ["ARGS", "ASK_FD", "ATTEMPT", "CALLER_ID", "CONTEXT_ID", "JOB_ID", "RESULT_FD", "OF_JOB_PATH", "SERVER", "TOKEN"];
    let hero = of_jobs.iter().fold(hero, |hero, name| hero.env(&format!("HERO_{name}"), "1"));
    assert_eq!(setting(&hero, &[], "lease"), (json!("30s"), "default".to_owned()));
    assert_eq!(hero.run(&["serve", "--print-config"]).err, "");
}

#[test]
fn a_variable_that_nobody_knows_is_warned_of_with_what_may_be_meant() {
    for (name, said) in [
        ("HERO_REDIS_URL", "the environment variable HERO_REDIS_URL has no effect: it is no setting; did you mean HERO_REDIS?"),
        (
            "HERO_SCRIPTMEMORYLIMIT",
            "the environment variable HERO_SCRIPTMEMORYLIMIT has no effect: it is no setting; did you mean HERO_SCRIPT_MEMORY?",
        ),
        ("HERO_TEAPOT", "the environment variable HERO_TEAPOT has no effect: it is no setting"),
    ] {
        let ended = Hero::new().env(name, "redis://h").run(&["serve", "--print-config"]);
        assert_eq!((ended.code, ended.err), (0, format!("warning: {said}\n")));
    }
    let hero = Hero::new().env("HERO_SERVR", "ws://127.0.0.1:1").env("HERO_TEAPOT", "x").env("HERO_SERVER", "ws://127.0.0.1:1");
    let said = "the environment variable HERO_SERVR has no effect; did you mean HERO_SERVER?";
    for command in [["queue", "list"], ["actor", "list"], ["job", "list"]] {
        let ended = hero.run(&command);
        assert!(ended.code == 7 && ended.err.starts_with(&format!("warning: {said}\nerror: no server")), "{command:?}: {}", ended.err);
        let ended = hero.run(&[&command[..], &["--json"]].concat());
        assert_eq!(ended.err, format!("{{\"warning\":{:?}}}\n", said));
    }
}

#[test]
fn data_goes_where_the_desktop_says() {
    let hero = Hero::new();
    let home = hero.home().join(".local/share/hero");
    assert_eq!(setting(&hero, &[], "data").0, json!(home));
    assert_eq!(setting(&hero, &[], "log_dir").0, json!(home.join("logs")));
    assert_eq!(setting(&hero, &["--data", "/srv/hero"], "log_dir").0, json!("/srv/hero/logs"));
    assert_eq!(setting(&hero.env("XDG_DATA_HOME", "/x"), &[], "data").0, json!("/x/hero"));
}
