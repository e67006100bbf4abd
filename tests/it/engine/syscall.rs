//! The allowed system calls of each kind of child: calls that are on no list are refused, whatever user hero runs as.
//! Perl makes all calls by number, one after the other, and Python does so from inside a job.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use hero::engine::{EngineSettings, Program};
use hero::model::{ErrorKind, Limit};
use hero::process::Spawner;
use hero::process::confine::{self, JobRights, JobUser, Kind, Profile, calls};

use super::breakouts::{PERL, can_try, shell};
use super::confinement::ENGINE;
use super::python::python;
use super::{Bench, hero, settings};

/// Calls beyond the known ones: numbers that later kernels may use.
const NUMBERS: u32 = 1100;
/// The calls that this is about.
const NAMED: [&str; 9] = [
    "inotify_init1",
    "inotify_add_watch",
    "listmount",
    "statmount",
    "open_tree_attr",
    "memfd_secret",
    "io_uring_setup",
    "landlock_create_ruleset",
    "seccomp",
];

/// The numbers that are not on the list of a kind, and the error that each fails with.
fn refused(kind: Kind) -> BTreeMap<u32, u32> {
    let mut numbers: BTreeMap<u32, u32> = (0..NUMBERS).map(|number| (number, if number < 424 { 1 } else { 38 })).collect();
    // No filter sees these of x86_64, by which the kernel's own probes call it. Whoever else makes them gets SIGILL.
    numbers.retain(|number, _| ![335, 336].contains(number));
    // Another set of numbers, which some kernels have besides.
    numbers.insert(0x4000_0029, 38);
    for call in calls().filter(|call| call.is_for(kind)) {
        if let Some(number) = call.number() {
            numbers.remove(&number);
        }
    }
    let named = NAMED.iter().filter(|name| kind != Kind::Zygote || !name.starts_with("landlock_"));
    for name in named {
        let number = calls().find(|call| call.name == *name).and_then(|call| call.number()).unwrap();
        assert!(numbers.contains_key(&number), "{name} is for {kind:?}");
    }
    assert!(numbers.contains_key(&467) && numbers.contains_key(&999));
    numbers
}

/// Each number with its error, as the tries print them.
fn lines(numbers: &BTreeMap<u32, u32>) -> String {
    numbers.iter().fold(String::new(), |mut lines, (number, error)| {
        let _ = writeln!(lines, "{number} {error}");
        lines
    })
}

/// Whoever hero is in a try.
#[derive(Debug, Clone, Copy)]
enum Who {
    Tests,
    /// Somebody who is not root.
    NotRoot,
}

/// The results of Perl for calls with these numbers under a profile.
async fn said(who: Who, profile: &Profile, numbers: &BTreeMap<u32, u32>) -> String {
    let list: Vec<String> = numbers.keys().map(ToString::to_string).collect();
    let code = format!(
        "for my $n ({}) {{ $! = 0; my $done = syscall($n, 0, 0, 0, 0, 0, 0); print $n, ' ', $done == -1 ? 0 + $! : 'done', \"\\n\" }}",
        list.join(",")
    );
    let is_engine = matches!(profile, Profile::Engine { .. });
    // An engine may open no file, so there the program is what it reads. What a job reads is empty.
    let mut program = tempfile::tempfile().unwrap();
    program.write_all(if is_engine { code.as_bytes() } else { b"" }).unwrap();
    program.rewind().unwrap();
    let of_others: [&str; 2] = ["-e", &code];
    let arguments: &[&str] = if is_engine { &[] } else { &of_others };
    let confined = confine::command(&hero(), profile, Path::new(PERL), arguments);
    let mut command = match who {
        Who::Tests => confined,
        Who::NotRoot => {
            let mut command = tokio::process::Command::new("unshare");
            command.args(["--user", "--map-user=1000", "--"]).arg(hero()).args(confined.as_std().get_args());
            command
        }
    };
    command.stdin(Stdio::from(program)).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let child = Spawner::start().unwrap();
    let output = child.spawn(command).await.unwrap().wait_with_output();
    let output = tokio::time::timeout(Duration::from_secs(60), output).await.unwrap().unwrap();
    assert!(output.status.success(), "{who:?} {profile:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Tries all numbers that are on no list in each kind of child.
async fn tries(who: Who) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let is_root = rustix::process::geteuid().is_root() && matches!(who, Who::Tests);
    let user = if is_root { JobUser::Own(0x7fff_ffe0) } else { JobUser::Same };
    let job = |confines_forks| Profile::Job(JobRights { confines_forks, ..JobRights::new(directory.path(), 1 << 30, user.clone()) });
    let kinds = [
        (Kind::Engine, ENGINE),
        (Kind::Job, job(false)),
        (Kind::Zygote, job(true)),
        (Kind::Redis, Profile::Redis { writable: Vec::new() }),
    ];
    for (kind, profile) in kinds {
        let numbers = refused(kind);
        assert_eq!(said(who, &profile, &numbers).await, lines(&numbers), "{who:?} {kind:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_on_no_list_is_refused_in_each_kind_of_child() {
    if can_try("seccomp").await {
        tries(Who::Tests).await;
    }
}

#[tokio::test]
async fn nor_does_one_of_somebody_who_is_not_root_make_it() {
    let unshare = std::process::Command::new("unshare").args(["--user", "--map-user=1000", "--", "/bin/true"]).status();
    if !unshare.is_ok_and(|status| status.success()) {
        println!("skipped: nobody can be somebody else here");
        return;
    }
    if can_try("seccomp").await {
        tries(Who::NotRoot).await;
    }
}

#[tokio::test]
async fn nor_does_a_job_in_python_make_it_which_confines_itself_no_further_either() {
    let Some(python) = python() else { return };
    if !can_try("seccomp").await {
        return;
    }
    let mut bench = Bench::with(EngineSettings { program: Program::Python(python), ..settings() }).await;
    let numbers = refused(Kind::Job);
    let script = format!(
        "import ctypes, hero\nlibc = ctypes.CDLL(None, use_errno=True)\nsaid = ''\nfor n in {:?}:\n    ctypes.set_errno(0)\n    \
         done = libc.syscall(ctypes.c_long(n), 0, 0, 0, 0, 0, 0)\n    \
         said += f\"{{n}} {{ctypes.get_errno() if done == -1 else 'done'}}\\n\"\n\
         said += f'filter {{libc.prctl(22, 2, 0, 0, 0)}} {{ctypes.get_errno()}}'\nhero.result(said)",
        numbers.keys().collect::<Vec<_>>()
    );
    let said = bench.text(&script).await;
    assert_eq!(said, format!("{}filter -1 1", lines(&numbers)));
}

#[tokio::test]
async fn no_thread_has_descriptors_or_a_working_directory_of_its_own() {
    let Some(python) = python() else { return };
    if !can_try("seccomp").await {
        return;
    }
    let mut bench = Bench::with(EngineSettings { program: Program::Python(python), ..settings() }).await;
    let number = |name: &str| calls().find(|call| call.name == name).and_then(|call| call.number()).unwrap();
    // A thread shares its memory (0x100) and handlers of signals (0x800), and is one (0x10000). Besides, it has to share its
    // working directory (0x200) and its descriptors (0x400). Each of both is what `unshare` would give back.
    let script = format!(
        "import ctypes, hero, threading\nlibc = ctypes.CDLL(None, use_errno=True)\nsaid = []\n\
         thread = threading.Thread(target=said.append, args=('thread',))\nthread.start()\nthread.join()\n\
         for n, flags in [({clone}, 0x10900 | 0x400), ({clone}, 0x10900 | 0x200), ({unshare}, 0x200), ({unshare}, 0x400)]:\n    \
         ctypes.set_errno(0)\n    \
         said.append(f'{{libc.syscall(ctypes.c_long(n), ctypes.c_long(flags), 0, 0, 0, 0)}} {{ctypes.get_errno()}}')\n\
         hero.result(', '.join(said))",
        clone = number("clone"),
        unshare = number("unshare"),
    );
    assert_eq!(bench.text(&script).await, "thread, -1 1, -1 1, -1 1, -1 1");
}

#[tokio::test]
async fn locks_on_parts_of_files_count_as_memory() {
    if !can_try("seccomp").await {
        return;
    }
    let mut bench = Bench::with(shell(64 << 20)).await;
    // As a database takes them, some are fine.
    let take = |count: u32| {
        let lock = "fcntl($h[$f], 6, pack(\"s s x4 q q i x4\", 1, 0, 2 * $i, 1, 0)) or die \"$!\"";
        format!("for $f (1..2) {{ open $h[$f], \"+>\", \"file$f\"; for $i (1..{count}) {{ {lock} }} }}")
    };
    assert_eq!(bench.text(&format!("{PERL} -e '{}' && echo fine >&3", take(100))).await, "fine");
    let error = bench.error(&format!("exec {PERL} -e '{}; sleep 30'", take(10_000))).await;
    assert_eq!((error.kind, error.limit), (ErrorKind::Limit, Some(Limit::Memory)), "{error:?}");
}

#[tokio::test]
async fn programs_that_many_use_run_as_commands() {
    let mut bench = Bench::with(shell(512 << 20)).await;
    let has = |program: &str| std::process::Command::new(program).arg("--version").output().is_ok_and(|said| said.status.success());
    let compiled = "cat > a.c <<'C'\n#include <pthread.h>\n#include <spawn.h>\n#include <stdio.h>\n#include <sys/wait.h>\nextern char **environ;\n\
                    static void *run(void *x) { return x; }\nint main(void) { pthread_t t; pid_t p; int s; char *a[] = {\"true\", 0};\n\
                    return pthread_create(&t, 0, run, 0) || pthread_join(t, 0) || posix_spawn(&p, \"/bin/true\", 0, 0, a, environ)\n\
                    || waitpid(p, &s, 0) != p || s; }\nC\ncc a.c -o a -lpthread && ./a && echo fine >&3";
    for (program, script) in [
        ("sh", "sh -c 'echo $(echo a | cat) | tr a b > f' && [ $(cat f) = b ] && echo fine >&3"),
        (
            "ls",
            "mkdir -p a/b && touch a/b/c && cp -a a d && mv d e && ln -s e f && chmod 700 e && ls -laR . > l && du -s . && rm -r a && sync && \
                dd if=l of=m bs=1 count=9 && sort l | uniq | wc -l && timeout 9 nice true && mktemp && flock l true && echo fine >&3",
        ),
        ("tar", "seq 99 > a && tar czf a.tgz a && rm a && tar xzf a.tgz && find . -name a && sha256sum a && echo fine >&3"),
        (
            "git",
            "export HOME=$PWD && git init -q g && cd g && git config user.email a@b && git config user.name n && echo 1 > f && git add f && \
                 git commit -qm x && git clone -q . ../h && git gc -q && [ -f ../h/f ] && echo fine >&3",
        ),
        ("cc", compiled),
        (
            "node",
            "node -e 'const {Worker} = require(\"worker_threads\"); require(\"fs\").writeFileSync(\"a\", \"b\"); \
                  require(\"child_process\").execSync(\"true\"); new Worker(\"1 + 1\", {eval: true}).on(\"exit\", code => process.exit(code))' \
                  && [ -f a ] && echo fine >&3",
        ),
        ("curl", "echo fine > a && curl -s file://$PWD/a >&3 && ! curl -s http://127.0.0.1:1/"),
        ("sqlite3", "sqlite3 a 'create table t(a); insert into t values (1)' && [ $(sqlite3 a 'select a from t') = 1 ] && echo fine >&3"),
    ] {
        if program == "sh" || has(program) {
            assert_eq!(bench.text(script).await, "fine", "{program}");
        }
    }
}

/// A few modules; `tests/stdlib.sh` alone takes more.
#[tokio::test]
async fn modules_of_pythons_own_tests_pass_in_a_job_as_outside_but_for_what_is_refused() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stdlib.sh");
    let mut command = tokio::process::Command::new(script);
    command.args(["test_json", "test_fcntl", "test_thread", "test_select"]).env("HERO", hero()).kill_on_drop(true);
    let said = tokio::time::timeout(Duration::from_secs(240), command.output()).await.unwrap().unwrap();
    assert!(said.status.success(), "{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    println!("{}", String::from_utf8_lossy(&said.stdout));
}
