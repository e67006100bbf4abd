//! Systems that cannot confine engines, and the warnings about it. The systemd unit is not one of them.

use std::path::Path;
use std::process::Stdio;

use hero::model::JobSpec;
use landlock::{AccessFs, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, path_beneath_rules};
use tokio::process::Command;

use super::{CONTEXT, run, spec};
use crate::support::{PATIENCE, Process, hero};

/// The maximum number of rulesets that may restrict a process. The kernel refuses more.
const MOST_RULESETS: usize = 16;

/// Starts `hero serve` where processes can be restricted no further, so that engines run without landlock.
fn without_landlock(data: &Path, more: &[&str]) -> Process {
    let (runtime, data) = (tokio::runtime::Handle::current(), data.to_owned());
    let more: Vec<String> = more.iter().map(ToString::to_string).collect();
    let starting = std::thread::spawn(move || {
        let _here = runtime.enter();
        for _ in 0..MOST_RULESETS {
            // Restricts nothing. Where there is no landlock at all, all the better.
            let ruleset = Ruleset::default().handle_access(AccessFs::Refer).unwrap().create().unwrap();
            let ruleset = ruleset.add_rules(path_beneath_rules(["/"], AccessFs::Refer)).unwrap();
            if ruleset.restrict_self().is_err() {
                break;
            }
        }
        Process::serving(&data, &more.iter().map(String::as_str).collect::<Vec<_>>())
    });
    starting.join().unwrap()
}

/// The program as somebody who is not root; nothing if that is not possible here.
fn as_nobody_special(command: &mut Command) -> Option<()> {
    if !rustix::process::geteuid().is_root() {
        return Some(());
    }
    let become_somebody = ["--user", "--map-user=1000", "--"];
    let possible = std::process::Command::new("unshare").args(become_somebody).arg("/bin/true").status();
    if !possible.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut other = Command::new("unshare");
    other.args(become_somebody).arg(hero()).args(command.as_std().get_args()).env_clear();
    other.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/nonexistent");
    other.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    *command = other;
    Some(())
}

#[tokio::test(flavor = "multi_thread")]
async fn where_engines_cannot_be_confined_one_loud_line_and_readyz_say_so() {
    let home = tempfile::tempdir().unwrap();
    let server = without_landlock(&home.path().join("data"), &["--pool", "osis=2,sal=1"]).until_ready().await;
    let (code, body) = server.get("/readyz").await;
    let weak = body.lines().find(|line| line.starts_with("weak confinement: ")).unwrap_or_default();
    assert!(code == 200 && body.starts_with("ready\n") && weak.contains("landlock"), "{code} {body}");
    assert_eq!(run(&server.client().await, "40 + 2").await.unwrap().output, "42");
    let log = server.stop().await;
    let loud: Vec<&str> = log.lines().filter(|line| line.contains("WEAK CONFINEMENT")).collect();
    assert!(loud.len() == 1 && loud[0].contains("WARN") && loud[0].contains("landlock"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_confinement_is_required_nothing_starts_without_it() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let (code, log) = without_landlock(&data, &["--pool", "osis=1", "--confinement", "required"]).failure().await;
    assert!(code == Some(2) && log.contains("landlock") && log.contains("--confinement preferred"), "{code:?} {log}");
    assert!(!data.exists(), "a refusal leaves nothing behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_engines_can_be_confined_required_is_met_and_nothing_is_said() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut possible = None;
    let data = data.to_str().unwrap();
    let config = home.path().join("hero.toml");
    std::fs::write(&config, "[script_types.shell]\ncommand = [\"/bin/bash\", \"{script}\"]\n").unwrap();
    let config = config.to_str().unwrap();
    let pools = ["--config", config, "--pool", "osis=1,shell=1", "--confinement", "required"];
    let arguments = [["serve", "--listen", "127.0.0.1:0"].as_slice(), &["--data", data], &pools].concat();
    let mut server = Process::start_with(&arguments, |command| possible = as_nobody_special(command));
    if possible.is_none() {
        return;
    }
    if !server.becomes_ready().await {
        // So it may only be where the kernel is too old for all steps.
        let (code, log) = server.failure().await;
        let steps = ["landlock", "TCP rules", "signal rules", "seccomp", "namespace"];
        assert!(code == Some(2) && steps.iter().any(|step| log.contains(step)), "{log}");
        return;
    }
    assert_eq!(server.get("/readyz").await, (200, "ready\n".to_owned()));
    let client = server.client().await;
    assert_eq!(run(&client, "40 + 2").await.unwrap().output, "42");
    // What is counted in a namespace is limited for who is not root, too.
    let shell = JobSpec { script_type: "shell".parse().unwrap(), ..spec("echo $(ulimit -u) $$ >&3") };
    let said = client.run_and_wait(&shell, PATIENCE).await.unwrap().output;
    let [most, number] = said.split(' ').map(|number| number.parse::<u32>().unwrap()).collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(most <= 1024 && number < 100, "{said}");
    let actors = client.list_actors(CONTEXT).await.unwrap();
    let steps: Vec<_> = actors.iter().filter_map(|actor| actor.presence.confinement.clone()).collect();
    assert!(steps.iter().all(|steps| steps.contains("seccomp") && !steps.starts_with("weak")), "{steps:?}");
    let log = server.stop().await;
    assert!(!log.contains("WEAK") && log.contains("engines are confined") && log.contains("the private Redis is confined"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_among_what_scripts_may_read_is_warned_of_and_refused_where_confinement_is_required() {
    let home = tempfile::tempdir().unwrap();
    let (programs, config) = (home.path().join("programs"), home.path().join("hero.toml"));
    std::fs::create_dir(&programs).unwrap();
    let read = programs.display();
    std::fs::write(&config, format!("[script_types.shell]\ncommand = [\"/bin/bash\", \"{{script}}\"]\nread = [\"{read}\"]\n")).unwrap();
    let data = programs.join("data");
    let pools = ["--config", config.to_str().unwrap(), "--pool", "osis=1,shell=1"];
    let (code, log) = Process::serving(&data, &[&pools[..], &["--confinement", "required"]].concat()).failure().await;
    let told = format!("scripts of type shell may read {} (data)", data.display());
    assert!(
        code == Some(2) && log.contains(&format!("confinement is required, and {told}")) && log.contains(&format!("in {read}")),
        "{log}"
    );
    assert!(!data.exists(), "a refusal leaves nothing behind");
    let log = Process::serve(&data, &pools).await.stop().await;
    let loud = log.lines().filter(|line| line.contains("WARN") && line.contains(&format!("WEAK CONFINEMENT: {told}")));
    assert_eq!(loud.count(), 1, "{log}");
    // Of scripts that read less there is nothing to say.
    let log = Process::serve(&data, &["--pool", "osis=1"]).await.stop().await;
    assert!(!log.contains("may read"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_job_reaches_the_private_redis_not_even_with_its_password() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("hero.toml");
    std::fs::write(&config, "[script_types.shell]\ncommand = [\"/bin/bash\", \"{script}\"]\n").unwrap();
    let has_python = std::process::Command::new("python3").arg("-V").output().is_ok();
    let pools = if has_python { "osis=1,shell=1,python=1" } else { "osis=1,shell=1" };
    let data = home.path().join("data");
    let server = Process::serve(&data, &["--config", config.to_str().unwrap(), "--pool", pools]).await;
    let client = server.client().await;
    let kept = run(&client, "40 + 2").await.unwrap().job_id;
    let (socket, secret) = (data.join("redis.sock"), std::fs::read_to_string(data.join("redis.secret")).unwrap());
    let (socket, secret) = (socket.display(), secret.trim());

    // Whoever is not confined gets there with these words.
    let outside = |words: &str| std::process::Command::new("/bin/bash").args(["-c", words]).output().map(|said| said.stdout).unwrap();
    let words = format!("redis-cli -s {socket} --no-auth-warning -a {secret}");
    assert_eq!(String::from_utf8_lossy(&outside(&format!("{words} PING"))).trim(), "PONG");

    let perl = format!(
        "use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) and connect(S, sockaddr_un(\"{socket}\")) \
         and syswrite(S, \"AUTH {secret}\\r\\nFLUSHALL\\r\\n\") and sysread(S, $_, 99) and print; print STDERR \"refused: $!\\n\"; exit 1"
    );
    let python = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{socket}')\ns.send(b'AUTH {secret}\\r\\nFLUSHALL\\r\\n')\nprint(s.recv(99))"
    );
    let port = "127.0.0.1";
    let attempts = [
        ("shell", format!("{words} FLUSHALL; exit 1")),
        ("shell", format!("exec /usr/bin/perl -e '{perl}'")),
        ("shell", format!("exec 3<>/dev/tcp/{port}/6379 && echo FLUSHALL >&3; exit 1")),
        ("shell", format!("cat {}/redis.secret", data.display())),
        ("shell", format!("rm -r {}", data.join("appendonlydir").display())),
        ("python", python),
    ];
    for (script_type, script) in attempts.into_iter().filter(|(script_type, _)| has_python || *script_type != "python") {
        let spec = JobSpec { script_type: script_type.parse().unwrap(), ..spec(&script) };
        let ended = client.run_and_wait(&spec, PATIENCE).await;
        let said = format!("{ended:?}").to_lowercase();
        assert!(ended.is_err() && ["denied", "not permitted", "no such file"].iter().any(|word| said.contains(word)), "{script}: {said}");
    }
    assert_eq!(client.get_result(CONTEXT, &kept).await.unwrap().output, "42");
    assert!(data.join("appendonlydir").exists());
    server.stop().await;
}

#[test]
fn the_unit_allows_what_confines_engines_in_words_that_every_systemd_knows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/hero.service");
    let unit = std::fs::read_to_string(path).unwrap();
    let filter = unit.lines().find_map(|line| line.strip_prefix("SystemCallFilter=")).unwrap();
    let words: Vec<&str> = filter.split_whitespace().collect();
    for call in ["@mount", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"] {
        assert!(words.contains(&call), "{filter}");
    }
    assert!(words.iter().all(|word| !word.starts_with('@') || ["@system-service", "@mount"].contains(word)), "{filter}");
    // These cover parts of `/proc`, and then nobody who is not root mounts another.
    for covers in ["ProtectKernelTunables=yes", "ProtectKernelLogs=yes", "RestrictNamespaces"] {
        assert!(unit.lines().all(|line| !line.starts_with(covers)), "{covers}");
    }

    // What it names beyond that is known where there is a systemd to ask.
    let home = tempfile::tempdir().unwrap();
    let copy = home.path().join("hero.service");
    std::fs::write(&copy, unit.replace("/usr/local/bin/hero", hero().to_str().unwrap())).unwrap();
    if let Ok(verified) = std::process::Command::new("systemd-analyze").arg("verify").arg(&copy).output() {
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(verified.status.success() && !said.contains("hero.service"), "{said}");
    }
}

#[test]
fn the_unit_comes_with_its_user_and_its_file() {
    let contrib = |name: &str| std::fs::read_to_string(format!("{}/contrib/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let unit = contrib("hero.service");
    let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap();
    assert!(contrib("hero.sysusers.conf").lines().any(|line| line.starts_with(&format!("u {} ", value("User")))));
    let (_, config) = value("ExecStart").split_once("--config ").unwrap();
    let file = format!("f {} 0640 root {} ", config.split(' ').next().unwrap(), value("Group"));
    assert!(contrib("hero.tmpfiles.conf").lines().any(|line| line.starts_with(&file)), "{file}");
    for name in ["hero.sysusers.conf", "hero.tmpfiles.conf"] {
        assert!(unit.contains(name), "the unit says how {name} is used");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_what_the_unit_confines_a_server_to_no_attack_gets_out_of_its_job() {
    attacked(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_a_systemd_of_its_own_the_unit_starts_and_ends_and_no_attack_gets_out_of_its_job() {
    attacked(&["systemd"]).await;
}

/// Only root can do what the unit does.
async fn attacked(arguments: &[&str]) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut script = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unit.sh"));
    let within = (PATIENCE * 3).as_secs().to_string();
    script.args(arguments).env("HERO", hero()).env("PORT", port.to_string()).env("WITHIN", within);
    let tried = script.output().await.unwrap();
    let said = String::from_utf8_lossy(&tried.stdout);
    assert!(
        tried.status.success() && (said.contains("PASSED") || said.contains("SKIPPED")),
        "{said} {}",
        String::from_utf8_lossy(&tried.stderr)
    );
}
