//! Settings that are refused, and settings that cause a warning.

use super::Hero;

#[test]
fn a_bad_value_is_refused_and_its_source_named() {
    let hero = Hero::new();
    let file = hero.file("hero.toml", "grace = \"never\"\n");
    for (arguments, said) in [
        (&["--lease", "soon"][..], "lease (flag --lease): \"soon\" is not a length of time"),
        (&["--config", &file], "hero.toml): \"never\" is not a length of time"),
        (&["--listen", "8700"], "listen (flag --listen)"),
        (&["--durability", "maybe"], "\"maybe\" is not one of everysec, always"),
        (&["--compat", "legacy,klingon"], "\"klingon\" is not one of all, none, legacy"),
        (&["--push", "twice"], "\"twice\" is not one of canonical, both, legacy"),
        (&["--script-memory", "64XB"], "\"64XB\" is not a size"),
        (&["--queue-length=-3"], "\"-3\" is not a whole number"),
        (&["--queue-length", "many"], "\"many\" is not a whole number"),
        (&["--queue-length", "0"], "0 would let nothing through"),
        (&["--mask", "*"], "mask (flag --mask): the pattern \"*\": it would mask everything"),
        (&["--log-level", "inof"], "log_level (flag --log-level): \"inof\" is not a level; did you mean info?"),
        (&["--log-level", "hero=loud"], "\"loud\" in \"hero=loud\" is not a level"),
        (&["--redis-user", "me"], "redis_user (flag --redis-user): there is no Redis to use it at; name yours with --redis"),
        (&["--redis-tls-ca", "ca.pem"], "there is no Redis to use it at"),
        (&["--lease", "0"], "lease (flag --lease): a lease below 200ms"),
        (&["--retention-finished", "0"], "retention_finished (flag --retention-finished): a job that is gone at once"),
        (&["--script-memory", "64KB"], "script_memory (flag --script-memory): no script runs in less than 1MB"),
        (&["--script-result", "65MB"], "it may not be above script_memory (default)"),
        (&["--script-result", "17MB"], "it may not be above max_response (default), which is 16MB"),
        (&["--script-source", "3MB"], "it may not be above max_request (default)"),
        (&["--redis-max-memory", "1MB"], "redis_max_memory (flag --redis-max-memory): no job fits into less than 16MB"),
        (&["--max-request", "100"], "max_request (flag --max-request): no job fits into less than 4KB"),
        (&["--max-response", "1"], "max_response (flag --max-response): no job fits into less than 4KB"),
        (&["--max-response", "4GB"], "max_response (flag --max-response): at most 4095MB"),
        (&["--confinement", "yes"], "\"yes\" is not one of preferred, required"),
        (&["--listen", "no.such.host.invalid:8700"], "the name no.such.host.invalid cannot be looked up"),
        (&["--held-per-connection", "2MB"], "held_per_connection (flag --held-per-connection): the largest request has no room in it"),
        (&["--held", "8MB", "--max-request", "8MB"], "take more than max_request (flag --max-request)"),
        (&["--pool", "osis"], "the number is missing"),
        (&["--pool", "osis=1", "--pool", "osis=2"], "pool osis:default is given twice"),
        (&["--pool", "osis=0"], "has no instances"),
        (&["--contexts", "0,x"], "contexts (flag --contexts): \"x\" is not a context or a range"),
        (&["--contexts", "0-1000"], "more than 256 contexts"),
        (&["--context-endpoint", "redis://h"], "such as 3=redis://other:6379"),
        (&["--contexts", "0-1", "--context-endpoint", "1=redis://a", "--context-endpoint", "1=redis://b"], "context 1 is given twice"),
        (&["--listen", "0.0.0.0:8700"], "--insecure"),
        (&["--redis", "http://localhost"], "begins with redis://"),
        (&["--config", "missing.toml"], "missing.toml cannot be read"),
    ] {
        let ended = hero.run(&[&["serve", "--print-config"], arguments].concat());
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.out);
        assert!(ended.err.contains(said), "{arguments:?} said {}", ended.err);
    }
    assert_eq!(hero.run(&["serve", "--print-config", "--listen", "0.0.0.0:8700", "--insecure"]).code, 0);
}

#[test]
fn an_origin_or_a_host_that_can_never_match_is_refused_at_the_start() {
    let hero = Hero::new();
    for (arguments, said) in [
        (["--allowed-origins", "app.example"], "allowed_origins (flag --allowed-origins): \"app.example\" has no scheme"),
        (["--allowed-origins", "https://a.example,https://b.example/page"], "\"https://b.example/page\" has a path"),
        (["--allowed-origins", "https://*.example"], "is a pattern, and there are none"),
        (["--allowed-origins", "https://a.example:443"], "write https://a.example"),
        (["--allowed-origins", "ftp://x"], "allowed_origins (flag --allowed-origins): \"ftp://x\" is no address of a web page"),
        (["--allowed-hosts", "https://hero.example"], "allowed_hosts (flag --allowed-hosts): \"https://hero.example\" has a scheme"),
        (["--allowed-hosts", "*.example"], "is a pattern, and there are none"),
    ] {
        let ended = hero.run(&[&["serve", "--print-config"], &arguments[..]].concat());
        assert!(ended.code == 2 && ended.err.contains(said), "{arguments:?} said {} {}", ended.code, ended.err);
    }
    for arguments in [
        ["--allowed-origins", "https://a.example/,http://b.example:81,moz-extension://0f3c"],
        ["--allowed-hosts", "a.example,b.example:8700,*"],
    ] {
        assert_eq!(hero.run(&[&["serve", "--print-config"], &arguments[..]].concat()).code, 0, "{arguments:?}");
    }
}

#[test]
fn an_unknown_setting_is_refused_and_the_nearest_named() {
    let hero = Hero::new();
    for (toml, said) in [
        ("leese = 3", "the setting leese is unknown; did you mean lease?"),
        ("xyzzy = 1", "the setting xyzzy is unknown"),
        ("[[pools]]\ntype = \"osis\"\ninstance = 3", "the pool key instance is unknown; did you mean instances?"),
        ("[[pools]]\ntype = \"osis\"\ninstances = \"three\"", "instances are a number"),
        ("[[pools]]\ntype = \"osis\"\ncapabilities = [\"root\"]", "\"root\" is not a grant"),
        (
            "[[pools]]\ntype = \"osis\"\ncontexts = [7]",
            "hero.toml): pool osis:default names context 7, which is not configured (contexts: 0)",
        ),
        ("[[pools]]\ntype = \"osis\"\ncontexts = []", "at least one context"),
        ("contexts = [1, 2]", "a server always has context 0"),
        ("contexts = [true]", "contexts are numbers"),
        ("[[pools]]\ntype = \"osis\"\n[pools.contexts.0]\nscript_memory = \"1MB\"", "contexts are numbers"),
        ("[[context_endpoints]]\ncontext = 1\nredis = \"redis://h\"", "context 1 is not configured (contexts: 0)"),
        ("contexts = \"0-1\"\n[[context_endpoints]]\ncontext = 1\nredis = \"h\"", "context 1: redis: a Redis address begins with"),
        ("contexts = \"0-1\"\n[[context_endpoints]]\ncontext = 1\nredis = \"redis://h\"\nredis_usr = \"x\"", "did you mean redis_user?"),
        ("contexts = \"0-1\"\n[[context_endpoints]]\ncontext = 1", "missing field `redis`"),
        ("config = \"x\"", "cannot be set in a configuration file"),
        ("lease = [", "is not TOML"),
    ] {
        let file = hero.file("hero.toml", toml);
        let ended = hero.run(&["serve", "--print-config", "--config", &file]);
        assert_eq!(ended.code, 2, "{toml}: {}", ended.out);
        assert!(ended.err.contains(said), "{toml} said {}", ended.err);
    }
    for (name, said) in [("HERO_LISEN", "did you mean HERO_LISTEN?"), ("HERO_POOLS", "did you mean HERO_POOL?")] {
        let ended = Hero::new().env(name, "x").run(&["serve", "--print-config"]);
        assert_eq!(ended.code, 2, "{}", ended.out);
        assert!(ended.err.contains(name) && ended.err.contains(said), "{}", ended.err);
    }
}

#[test]
fn a_password_file_without_a_password_is_told_as_such() {
    let hero = Hero::new();
    for text in ["", "\n"] {
        let file = hero.file("password", text);
        let ended = hero.run(&["serve", "--redis", "redis://127.0.0.1:1", "--redis-password-file", &file, "--print-config"]);
        assert!(ended.code == 2 && ended.err.contains("the file is empty"), "{} {}", ended.code, ended.err);
    }
}

#[test]
fn ineffective_settings_are_warned_of_in_one_line() {
    let hero = Hero::new();
    for (arguments, said) in [
        (
            &["--redis", "redis://h", "--durability", "always"][..],
            "durability (flag --durability) has no effect: it is for the private Redis",
        ),
        (&["--redis", "redis://h", "--redis-max-memory", "1GB"], "redis_max_memory (flag --redis-max-memory) has no effect"),
        (&["--redis", "redis://h", "--context-endpoint", "0=redis://g"], "redis (flag --redis) has no effect"),
        (&["--script-log", "2GB"], "script_log (flag --script-log) has no effect as far as it is above log_quota (default)"),
        (
            &["--max-request", "32KB"],
            "max_request (flag --max-request) has no room for scripts as large as script_source (default) lets them be",
        ),
        (&["--max-per-address", "2000"], "max_per_address (flag --max-per-address) has no effect, because it is above max_connections"),
        (&["--held-per-address", "1GB"], "held_per_address (flag --held-per-address) has no effect, because it is above held"),
        (&["--mask", "tok_.*"], "reads like a regular expression and is none: only * is special"),
    ] {
        let ended = hero.run(&[&["serve", "--print-config"], arguments].concat());
        let warned: Vec<&str> = ended.err.lines().filter(|line| line.starts_with("warning: ")).collect();
        assert!(ended.code == 0 && warned.len() == 1 && warned[0].contains(said), "{arguments:?} said {}", ended.err);
    }
    for arguments in [&[][..], &["--redis", "redis://h"], &["--held", "32MB"], &["--mask", "tok_*"], &["--durability", "always"]] {
        let ended = hero.run(&[&["serve", "--print-config"], arguments].concat());
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{arguments:?}");
    }
}

#[test]
fn a_password_for_no_redis_is_refused_wherever_it_comes_from() {
    let ended = Hero::new().env("HERO_REDIS_PASSWORD", "hunter2").run(&["serve", "--print-config"]);
    assert!(ended.code == 2 && ended.err.contains("redis_password (environment HERO_REDIS_PASSWORD): there is no Redis"), "{}", ended.err);
    assert!(!ended.err.contains("hunter"), "{}", ended.err);
}

#[test]
fn nodes_that_are_none_are_refused_with_the_setting_and_without_a_password() {
    for (variable, value, told) in [
        ("HERO_NODES", "berlin", "nodes (environment HERO_NODES): \"berlin\" is no node, such as"),
        (
            "HERO_NODE_REDIS",
            "redis://:hunter2@h",
            "node_redis (environment HERO_NODE_REDIS): an entry is no node and its Redis, such as berlin=redis://host:6379: it has no =",
        ),
        ("HERO_NODE_REDIS", "a b=redis://:hunter2@h", "what stands before the = is no name"),
        ("HERO_NODE_REDIS", "berlin=http://:hunter2@h", "what stands behind the = is no address of a Redis"),
    ] {
        let ended = Hero::new().env(variable, value).run(&["serve"]);
        assert!(ended.code == 2 && ended.err.contains(told) && !ended.err.contains("hunter"), "{} {}", ended.code, ended.err);
    }
    let ended = Hero::new().run(&["serve", "--nodes", "a=b"]);
    assert!(ended.code == 2 && ended.err.contains("nodes (flag --nodes): "), "{} {}", ended.code, ended.err);
}
