//! Jobs in V, with a fake compiler, and with the real one where it is installed.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use hero::engine::{EngineSettings, Program, V};
use hero::model::{ErrorKind, OutputFormat};

use super::command::stopped;
use super::{Bench, job, settings};

/// Makes of a script a program that is that script without its first line, and counts how often it did. What has `wrong` in it does not compile.
const STAND_IN: &str = r#"#!/bin/bash
[ "$1" = version ] && echo "V 0.0.0 stand-in" && exit
[ "$1 $2" = "-nocolor -o" ] || { echo "odd arguments: $*" >&2; exit 2; }
line=$(grep -n wrong "$4" | head -n 1 | cut -d: -f1)
[ -n "$line" ] && echo "$4:$line:7: error: undefined ident: \`wrong\`" >&2 && exit 1
grep -q odd "$4" && { echo "builder error: no linker" >&2; exit 1; }
ls -A | tr '\n' ' '; echo "compiled with ${TOKEN:-no token} ${HERO_JOB_ID:-no job}"
grep -q limits "$4" && echo "$(ulimit -d) kB to compile"
grep -q slow "$4" && for ((n = 0; n < 300000; n++)); do :; done
{ echo '#!/bin/bash'; tail -n +2 "$4"; } > "$3"
chmod 700 "$3"
"#;

fn with(compiler: PathBuf, readable: Vec<PathBuf>) -> EngineSettings {
    let mut settings = settings();
    settings.program = Program::V(V { compiler, readable, memory: 512 << 20, to_compile: V::TO_COMPILE });
    settings
}

/// An engine with the stand-in, which is in a directory of its own.
async fn bench() -> (Bench, tempfile::TempDir) {
    bench_with(u64::MAX).await
}

/// One whose processes may have so much memory at most.
async fn bench_with(most: u64) -> (Bench, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let compiler = directory.path().join("v");
    std::fs::write(&compiler, STAND_IN).unwrap();
    std::fs::set_permissions(&compiler, PermissionsExt::from_mode(0o755)).unwrap();
    let mut settings = with(compiler, vec![directory.path().canonicalize().unwrap()]);
    settings.program.limit_memory(most);
    (Bench::with(settings).await, directory)
}

#[tokio::test]
async fn a_compiler_has_more_memory_than_a_program_unless_its_context_may_have_less() {
    for (most, kilobytes) in [(u64::MAX, 4 << 20), (3 << 30, 3 << 20), (256 << 20, 256 << 10)] {
        let (mut bench, _directory) = bench_with(most).await;
        bench.text("// limits\nulimit -d").await;
        let own = kilobytes.min(512 << 10);
        let log = bench.log.texts();
        assert_eq!(log[log.len() - 2..], [format!("{kilobytes} kB to compile"), own.to_string()]);
    }
}

#[tokio::test]
async fn what_it_took_to_compile_a_script_is_used_by_its_first_job() {
    let (mut bench, _directory) = bench().await;
    let (first, next) = (bench.run("// slow\ntrue").await, bench.run("// slow\ntrue").await);
    assert!(first.usage.cpu_us > 100_000 && first.usage.cpu_us > 4 * next.usage.cpu_us, "{:?} {:?}", first.usage, next.usage);
}

#[tokio::test]
async fn a_script_is_compiled_once_and_its_program_runs_each_time() {
    let (mut bench, _directory) = bench().await;
    let mut script = job("// the first line\ncat $HERO_ARGS; echo; echo $TOKEN; echo done >&$HERO_RESULT_FD");
    script.env = [("TOKEN".to_owned(), "hunter-two".to_owned())].into();
    for number in 0..3 {
        script.args = Some(serde_json::json!({ "number": number }).into());
        let output = bench.run_job(&script).await.result.unwrap();
        assert_eq!((output.text.as_str(), output.format), ("done", OutputFormat::Text));
        let seen = [format!("{{\"number\":{number}}}"), "hunter-two".to_owned()];
        let log = bench.log.texts();
        assert_eq!(log[log.len() - 2..], seen);
    }
    // The compiler sees nothing of the job, because the next one with the same script gets the same program.
    let compiled: Vec<_> = bench.log.texts().into_iter().filter(|line| line.contains("compiled")).collect();
    assert_eq!(compiled, [".vmodules .vtmp args.json main.v compiled with no token no job"]);
    bench.text("// another\ntrue").await;
    assert_eq!(bench.log.texts().into_iter().filter(|line| line.contains("compiled")).count(), 2);
}

#[tokio::test]
async fn a_script_that_does_not_compile_is_told_with_its_place() {
    let (mut bench, _directory) = bench().await;
    let error = bench.error("// first\nprintln(wrong)").await;
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Script, "undefined ident: `wrong`"));
    assert_eq!((error.line, error.column), (Some(2), Some(7)));
    let error = bench.error("// odd").await;
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Script, "exit code 1: builder error: no linker"));
    let error = bench.error("// first\nexit 3").await;
    assert_eq!(error.message, "exit code 3");
    assert_eq!(bench.text("// first\necho 1 >&3").await, "1");
}

#[tokio::test]
async fn no_job_changes_a_program_that_is_kept() {
    let (mut bench, _directory) = bench().await;
    if bench.child.confinement().contains("no landlock") {
        return;
    }
    let script = "// first\necho 'echo evil >&3' > \"$0\" || echo refused >&3";
    assert_eq!(bench.text(script).await, "refused");
    assert_eq!(bench.text(script).await, "refused");
}

#[tokio::test]
async fn a_stop_ends_the_program() {
    let (mut bench, _directory) = bench().await;
    let (ended, _) = stopped(&mut bench, &job("// first\necho ready; sleep 1000")).await;
    assert_eq!(ended.result.unwrap_err().kind, ErrorKind::Stopped);
    assert_eq!(bench.text("// first\necho 1 >&3").await, "1");
}

#[tokio::test]
async fn more_scripts_than_are_kept_are_compiled_again() {
    let (mut bench, _directory) = bench().await;
    for number in (0..66).chain([0]) {
        assert_eq!(bench.text(&format!("// {number}\necho {number} >&3")).await, number.to_string());
    }
    assert_eq!(bench.log.texts().into_iter().filter(|line| line.contains("compiled")).count(), 67);
}

#[tokio::test]
async fn a_program_that_was_cleared_away_is_compiled_again() {
    let (mut bench, _directory) = bench().await;
    bench.text("// first\npwd").await;
    let engine = std::path::Path::new(bench.log.texts().last().unwrap()).ancestors().nth(2).unwrap().to_owned();
    for program in std::fs::read_dir(engine.join("programs")).unwrap() {
        std::fs::remove_file(program.unwrap().path()).unwrap();
    }
    bench.text("// first\npwd").await;
    assert_eq!(bench.log.texts().into_iter().filter(|line| line.contains("compiled")).count(), 2);
}

#[tokio::test]
async fn the_real_compiler_compiles_where_it_is_installed() {
    let named = std::env::var_os("V_BIN").map(PathBuf::from);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = named.into_iter().chain(std::env::split_paths(&paths).map(|path| path.join("v"))).find(|path| path.is_file());
    let Some(compiler) = found else {
        println!("skipped: there is no compiler of V (V_BIN, or v in PATH)");
        return;
    };
    let library = compiler.canonicalize().unwrap().parent().unwrap().to_owned();
    let mut bench = Bench::with(with(compiler, vec![library])).await;
    let script = "import os\nfn main() {\n\tprintln('hello')\n\tos.fd_write(os.getenv('HERO_RESULT_FD').int(), '42')\n}\n";
    let ended = bench.run(script).await;
    assert_eq!(ended.result.unwrap().text, "42", "{:?}", bench.log.texts());
    assert!(bench.log.texts().contains(&"hello"));
    let error = bench.error("fn main() {\n\tprintln(nothing)\n}\n").await;
    assert_eq!((error.kind, error.line), (ErrorKind::Script, Some(2)), "{error:?}");
}
