//! Commands that scripts run: their output, their rights, and that they end with their job.

use hero::model::{JobSpec, Status};
use serde_json::json;

use super::{Ground, job, logged};
use crate::support::{CONTEXT, until};

/// All processes, each with its command.
fn commands() -> Vec<(u32, String)> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let command = |number: u32| {
        let text = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
        Some((number, String::from_utf8_lossy(&text).trim_end_matches('\0').replace('\0', " ")))
    };
    numbers.filter_map(command).collect()
}

/// The number of processes with this text in their command.
fn running(mark: &str) -> usize {
    commands().iter().filter(|(_, command)| command.contains(mark)).count()
}

/// The number of zombie children of a process.
fn dead(parent: u32) -> usize {
    let stat = |number: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        Some((fields.next()? == "Z", fields.next()?.parse() == Ok(parent)))
    };
    commands().into_iter().filter(|(number, _)| stat(*number) == Some((true, true))).count()
}

/// A number of seconds to sleep that no other test sleeps.
fn mark(number: u32) -> String {
    format!("sleep 1{:05}{number:02}", std::process::id() % 100_000)
}

/// Waits until nothing with this in its command runs.
async fn gone(mark: &str) {
    until(&format!("the end of {mark}"), || async { (running(mark) == 0).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gives_what_it_wrote_and_how_it_ended() {
    let ground = Ground::open().await;
    let all = ground.gives("run(\"echo out; echo err >&2; exit 3\").silent().ignore_error().execute()").await;
    assert_eq!(all, json!({"stdout": "out\n", "stderr": "err\n", "success": false, "code": 3, "truncated": false}));
    assert_eq!(ground.gives("run(\"kill -9 $$\").ignore_error().execute().code").await, 137);
    assert_eq!(ground.gives("run(\"exit 4\", #{ die: false, silent: true }).code").await, 4);
    assert_eq!(ground.gives("!!run command:'echo $0 one' silent:true").await[0]["stdout"], "/bin/sh one\n");
    let error = ground.error("run_command(\"echo first >&2; echo why >&2; exit 2\")").await;
    assert_eq!(error.message, "the command ended with code 2: why");
    let error = ground.error("run(\"no-such-program\").execute()").await;
    assert!(error.message.starts_with("the command ended with code 127"), "{}", error.message);
    // What it writes does not stop it, however much that is.
    let result = ground.gives("let r = run_silent(\"head -c 3000000 /dev/zero | tr '\\\\0' x; head -c 200000 /dev/zero >&2\"); [r.stdout.len(), r.truncated, r.success]").await;
    assert_eq!(result, json!([100 << 10, true, true]));
    assert!(ground.error("execute(#{})").await.message.contains("that is no command"));
    assert!(ground.error("let c = \"x\"; c.pad(70000, \"x\"); run(c).execute()").await.message.contains("64 KB"));
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_writes_is_logged_unless_it_is_silent() {
    let ground = Ground::open().await;
    let script = r#"run("echo loud; echo bad >&2").execute(); run("echo quiet").silent().log().execute(); run_silent("echo silent")"#;
    let id = ground.house.start(job(script)).await;
    ground.house.is(&id, Status::Finished).await;
    assert_eq!(logged(&ground, &id).await, ["loud", "bad", "run: echo quiet"]);
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_the_variables_of_its_job_and_no_others() {
    let ground = Ground::open().await;
    let spec = JobSpec {
        env_vars: [("CUSTOMER".to_owned(), "ada".to_owned())].into(),
        ..job("run_silent(\"env | sort; echo $HERO_JOB_ID\").stdout")
    };
    let result = ground.house.dispatcher.jobs().run_and_wait(spec, crate::support::PATIENCE).await.unwrap();
    let names: Vec<&str> = result.output.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let expected = [
        "CUSTOMER",
        "HERO_ATTEMPT",
        "HERO_CALLER_ID",
        "HERO_CONFINED",
        "HERO_CONTEXT_ID",
        "HERO_JOB_ID",
        "HOME",
        "LANG",
        "PATH",
        "PWD",
        "TMPDIR",
    ];
    assert!(names.iter().all(|name| expected.contains(name)), "{names:?}");
    assert!(result.output.contains("CUSTOMER=ada\n"), "{}", result.output);
    assert_eq!(result.output.lines().next_back().unwrap(), result.job_id.as_str());
    // What no process can be given is told where one is to have it.
    let with_zero = |script: &str| JobSpec { env_vars: [("CUSTOMER".to_owned(), "a\0da".to_owned())].into(), ..job(script) };
    assert_eq!(ground.house.dispatcher.jobs().run_and_wait(with_zero("40 + 2"), crate::support::PATIENCE).await.unwrap().output, "42");
    let error =
        ground.house.dispatcher.jobs().run_and_wait(with_zero("run(\"true\").execute()"), crate::support::PATIENCE).await.unwrap_err();
    assert!(error.to_string().contains("env_vars: the value of \"CUSTOMER\" has a zero byte in it"), "{error}");
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_reaches_nothing_but_its_directory() {
    let ground = Ground::open().await;
    let socket = ground.house.redis.socket();
    let outside = tempfile::tempdir().unwrap();
    for command in [
        "cat /etc/shadow".to_owned(),
        format!("cat {}/../redis.conf", ground.directory().display()),
        format!("touch {}/x", outside.path().display()),
        format!("ls {}", outside.path().display()),
        "exec 3<>/dev/mem".to_owned(),
        format!("ln {}/redis.sock here", socket.parent().unwrap().display()),
        "mv . ../elsewhere".to_owned(),
    ] {
        assert_ne!(ground.gives(&format!("run({command:?}).silent().ignore_error().execute().code")).await, 0, "{command}");
    }
    let tcp = "exec 3<>/dev/tcp/127.0.0.1/80";
    let error = ground.gives(&format!("run(\"bash -c '{tcp}'\").silent().ignore_error().execute().stderr")).await;
    // The second is said by seccomp.
    let refused = ["Permission denied", "Operation not permitted"];
    assert!(refused.iter().any(|refused| error.as_str().unwrap().contains(refused)), "{error}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_running_is_seen_ended_and_ends_with_its_job() {
    let ground = Ground::open().await;
    let (one, other) = (mark(1), mark(2));
    let script = format!(
        r#"
        run("{one} > out 2>&1 & setsid {other} > /dev/null 2>&1 &").execute();
        // A shell that is about to become a program has the whole command in its own.
        while process_list("/bin/sh").len() > 0 {{ sleep(0.01); }}
        let found = process_get("{other}");
        while found.name != "sleep" {{ sleep(0.01); found = process_get("{other}"); }}
        let told = [process_list("{one}").len(), found.name, found.memory > 0, found.cpu >= 0.0, kill("no such"), kill("{one}")];
        while process_list("{one}").len() > 0 {{ sleep(0.01); }}
        told.push(process_list("{other}").len());
        told
        "#
    );
    let told = ground.gives(&script).await;
    assert_eq!(told, json!([1, "sleep", true, true, "No matching processes found", "Successfully killed processes", 1]));
    // That the job has ended is told when nothing of it runs any more.
    assert_eq!((running(&one), running(&other)), (0, 0));
    let many = "for n in 0..9 { run(\"sleep 600 > /dev/null 2>&1 &\").execute(); }";
    assert!(ground.error(many).await.message.contains("8 commands of this job"), "{many}");
    assert!(ground.error("kill(\"\")").await.message.contains("say which"));
    assert!(ground.error("process_get(\"sleep\")").await.message.contains("no process of this job"));
    let two = "run(\"sleep 600 > /dev/null 2>&1 & sleep 600 > /dev/null 2>&1 &\").execute(); process_get(\"sleep 600\")";
    assert!(ground.error(two).await.message.contains("2 processes of this job"));
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_outlives_a_job_that_is_stopped_or_runs_out_of_time() {
    let ground = Ground::open().await;
    let (one, other) = (mark(3), mark(4));
    let script = format!("run(\"setsid {one} & (setsid {other} &) ; trap '' TERM; {one}\").execute()");
    let begun = async |_: &hero::model::JobId| {
        until("both sleep", || async { (running(&one) >= 3 && running(&other) >= 1).then_some(()) }).await;
    };
    ground.stop(&script, begun).await;
    gone(&one).await;
    gone(&other).await;
    // One that left something running, and goes on itself.
    let script = format!("run(\"setsid {one} > /dev/null 2>&1 &\").execute(); loop {{ }}");
    ground.stop(&script, async |_| until("it sleeps", || async { (running(&one) > 0).then_some(()) }).await).await;
    gone(&one).await;
    let timeout = Some(std::time::Duration::from_millis(700).into());
    let id = ground.house.start(JobSpec { timeout, ..job(&format!("run(\"setsid {one} & {one}\").execute()")) }).await;
    ground.house.is(&id, Status::Error).await;
    let ended = ground.house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
    assert_eq!(ended.error.unwrap().kind, hero::model::ErrorKind::Timeout);
    gone(&one).await;
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_ended_with_everything_it_started() {
    let ground = Ground::open().await;
    let mark = mark(5);
    let bomb = format!("for n in $(seq 400); do (setsid {mark} &); done; {mark}");
    let error = ground.error(&format!("run({bomb:?}).execute()")).await;
    assert_eq!(error.message, "the command was ended: it had more than 256 processes");
    gone(&mark).await;
    // One that doubles, but ends by itself if nobody ends it.
    let bomb = "bomb() { if [ $1 -gt 0 ]; then bomb $(($1 - 1)) & bomb $(($1 - 1)) & fi; sleep 20; }; bomb 9";
    let error = ground.error(&format!("run({bomb:?}).silent().execute()")).await;
    assert_eq!(error.message, "the command was ended: it had more than 256 processes");
    gone("bomb() { if").await;
    assert_eq!(ground.gives("run_silent(\"echo again\").stdout").await, "again\n");
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_processes_of_a_command_have_no_more_memory_than_four_of_them_may_have() {
    let ground = Ground::with_memory(32 << 20).await;
    let mark = mark(7);
    // Each waits with a full buffer until somebody reads.
    let all = format!("for n in $(seq 10); do dd if=/dev/zero bs=24M count=1 2> /dev/null | {mark} & done; wait");
    let error = ground.error(&format!("run({all:?}).execute()")).await;
    assert_eq!(error.message, "the command was ended: it had more than 128 MB of memory in all its processes: 4 times what one may have");
    gone(&mark).await;
    // What is left running may not have more either.
    let left = format!("run({:?}).execute();", format!("({all}) > /dev/null 2>&1 &"));
    let error = ground.error(&format!("{left} loop {{ process_list({mark:?}); sleep(0.01); }}")).await;
    let told = "what commands of this job had left running was ended: it had more than 128 MB of memory in all its processes: 4 times what one may have";
    assert_eq!(error.message, told);
    // Who asks nothing more finds it in the log.
    until("the reason in the log of a job", || async {
        let id = ground.house.start(job(&format!("{left} sleep(2)"))).await;
        ground.house.is(&id, Status::Finished).await;
        let lines = logged(&ground, &id).await;
        assert!(lines.is_empty() || lines == [told], "{lines:?}");
        (!lines.is_empty()).then_some(())
    })
    .await;
    assert_eq!(ground.gives("run_silent(\"dd if=/dev/zero bs=24M count=1 | wc -c\").stdout").await, "25165824\n");
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_that_have_ended_are_not_left_among_the_processes_of_the_machine() {
    let ground = Ground::open().await;
    let mark = mark(6);
    let script = format!("run(\"for n in $(seq 500); do (true &); done; exec {mark}\").execute()");
    let no_dead = async |_: &hero::model::JobId| {
        until("500 orphans", || async { commands().iter().any(|(_, command)| *command == mark).then_some(()) }).await;
        let subreaper = commands().into_iter().find(|(_, command)| command.contains(" keep ") && command.contains(&mark));
        let (subreaper, _) = subreaper.unwrap();
        until("no dead", || async { (dead(subreaper) == 0).then_some(()) }).await;
    };
    ground.stop(&script, no_dead).await;
    gone(&mark).await;
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_are_found_where_commands_find_them() {
    let ground = Ground::open().await;
    assert_eq!(ground.gives("run_silent(`${which(\"cat\")} < /dev/null`).success").await, true);
    for name in ["no-such-program", "", "../bin/cat", "/bin/cat", "a\\x00b"] {
        assert_eq!(ground.gives(&format!("which(\"{name}\") == ()")).await, true, "{name}");
    }
    ground.close().await;
}

/// A misspelt option would silently have no effect.
#[tokio::test(flavor = "multi_thread")]
async fn options_of_a_command_that_mean_nothing_are_errors() {
    let ground = Ground::open().await;
    for (script, told) in [
        ("run(\"true\", #{ silnet: true })", "silnet is no option of run: silent, die and log are"),
        ("run(\"true\", #{ silent: \"yes\" })", "silent is true or false"),
        ("run_command(\"true\").silent()", "silent belongs before execute"),
    ] {
        let error = ground.error(script).await;
        assert!(error.message.contains(told), "{script}: {}", error.message);
    }
    assert_eq!(ground.gives("run(\"false\", #{ silent: true, die: false, log: false }).code").await, 1);
    ground.close().await;
}
