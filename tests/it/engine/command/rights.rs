use std::net::TcpListener;
use std::path::Path;

use hero::engine::Child;
use hero::model::ErrorKind;

use super::{Bench, bash};

/// Whether this kernel can restrict files. Where it can't, the engine says so, which is all there is to test.
fn landlocked(bench: &Bench) -> bool {
    let said = bench.child.confinement();
    assert_eq!(said.contains("landlock:"), !said.contains("no landlock"), "{said}");
    said.contains("landlock:")
}

#[tokio::test]
async fn a_job_reads_what_programs_need_and_writes_only_in_its_own_directory() {
    let mut bench = Bench::with(bash()).await;
    bench.text("cat /etc/passwd >/dev/null && ls /usr/bin >/dev/null && date && echo x > file && mkdir d && mv file d/f && cat d/f").await;
    assert_eq!(bench.log.texts().last(), Some(&"x"), "{:?}", bench.log.texts());
    if !landlocked(&bench) {
        return;
    }
    let secret = tempfile::NamedTempFile::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for forbidden in [
        "cat /etc/shadow".to_owned(),
        "ls /root".to_owned(),
        "ls /".to_owned(),
        format!("cat {}", secret.path().display()),
        format!("cat /proc/{}/environ", std::process::id()),
        "ls ..".to_owned(),
        ": > ../hero-was-here".to_owned(),
        ": > /tmp/hero-was-here".to_owned(),
        format!("exec 5<>/dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port()),
        ": > /dev/tty".to_owned(),
        "mknod disk b 1 0".to_owned(),
        format!("kill -0 {}", std::process::id()),
        "kill -0 1".to_owned(),
        format!("kill -STOP {}", bench.child.pid()),
    ] {
        let error = bench.error(&format!("{forbidden}; exit $?")).await;
        assert_eq!(error.kind, ErrorKind::Script, "{forbidden}");
        let said = error.message.to_lowercase();
        assert!(
            ["denied", "not permitted", "no such device", "no such process", "no such file", "read-only"]
                .iter()
                .any(|word| said.contains(word)),
            "{forbidden}: {said}"
        );
    }
}

#[tokio::test]
async fn the_limits_of_a_process_are_in_force() {
    let mut bench = Bench::with(bash()).await;
    bench.text("ulimit -c; ulimit -n; ulimit -f; ulimit -d; umask; read -r stat < /proc/self/stat; set -- $stat; echo $(($6 == $1))").await;
    let texts = bench.log.texts();
    let tail: Vec<&str> = texts[texts.len() - 6..].iter().map(|line| line.trim()).collect();
    // The last one: it leads a session of its own.
    assert_eq!(tail, ["0", "1024", "262144", "524288", "0077", "1"], "{texts:?}");
}

#[tokio::test]
async fn a_job_finds_nothing_of_the_one_before_it() {
    let mut bench = Bench::with(bash()).await;
    bench.text("echo secret > left; mkdir -p deep/er; chmod 0 deep; pwd").await;
    let before = bench.log.texts().last().unwrap().to_string();
    assert!(!Path::new(&before).exists());
    bench.log.0.clear();
    bench.text("ls -A; test -e ../1 && echo there; true").await;
    assert_eq!(bench.log.texts(), ["args.json", "script"]);
}

#[tokio::test]
async fn two_engines_have_directories_of_their_own_that_nobody_else_may_enter() {
    let mut bench = Bench::with(bash()).await;
    let mut other = Child::start(&bench.spawner, &bash()).await.unwrap();
    bench.text("stat -c %a .; pwd").await;
    other.run(&super::job("pwd"), &mut bench.log, &bench.stop).await.unwrap().result.unwrap();
    let texts = bench.log.texts();
    assert!(texts[0] == "700" && texts[1] != texts[2], "{texts:?}");
    let parent = |path: &str| Path::new(path).parent().unwrap().to_owned();
    assert_ne!(parent(texts[1]), parent(texts[2]));
}

#[tokio::test]
async fn what_a_job_used_is_measured() {
    let mut bench = Bench::with(bash()).await;
    let ended = bench.run("x=$(head -c 30000000 /dev/zero | tr '\\0' x); for i in {1..200000}; do :; done; sleep 0.1").await;
    let usage = ended.usage;
    assert!(usage.run_ms >= 100 && usage.cpu_us > 1000 && usage.peak_memory > 20 << 20, "{usage:?}");
}

#[tokio::test]
async fn memory_above_the_limit_is_refused_to_a_process() {
    let mut settings = bash();
    if let hero::engine::Program::Command(command) = &mut settings.program {
        command.memory = 64 << 20;
    }
    let mut bench = Bench::with(settings).await;
    let error = bench.error("x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}").await;
    assert!(error.message.contains("xrealloc") || error.message.contains("allocate"), "{error:?}");
}
