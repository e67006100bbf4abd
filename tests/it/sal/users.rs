//! The owner of the files and commands of a context, and their resource usage.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use hero::model::{ContextId, ErrorKind, JobId, JobSpec, Seconds, Status, Usage};
use hero::process::confine::JobUser;
use hero::sal::Files;
use serde_json::json;

use super::{Ground, job};
use crate::support::{CONTEXT, until};

/// A command that takes processor time, and then does this.
fn work(then: &str) -> String {
    format!("perl -e '$i++ while $i < 3_000_000; {then}'")
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

async fn usage(ground: &Ground, id: &JobId) -> Usage {
    ground.house.dispatcher.jobs().job(CONTEXT, id).await.unwrap().usage.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn where_hero_is_root_commands_and_files_of_a_context_are_a_user_of_its_own() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: these tests do not run as root");
        return;
    }
    let ground = Ground::open().await;
    set_mode(ground.house.redis.directory(), 0o700);
    let own = ground.gives("file_write(\"by/script\", \"a\"); run_silent(\"id -u\").stdout.parse_int()").await.as_u64().unwrap();
    assert!(own > 0x7100_0000, "{own}");
    let of = |name: &str| u64::from(std::fs::symlink_metadata(ground.directory().join(name)).unwrap().uid());
    assert_eq!([of("."), of("by"), of("by/script")], [own; 3]);
    // Each writes what the other has made, by any name, and changes its mode.
    let script = r#"
        run("echo b >> by/script; chmod 640 by/script; echo c > by/command; mkdir made; cat by/script; ln -s script by/link").execute();
        file_write_append("by/command", "d");
        file_write("made/deep/er", "e");
        copy("by", "copied");
        run("echo f >> copied/command; echo g > made/deep/more; stat -c %a by/script; cat copied/command by/link").silent().execute().stdout
    "#;
    assert_eq!(ground.gives(script).await, json!("640\nc\ndf\nab\n"));
    assert_eq!([of("copied"), of("copied/command"), of("made/deep/er"), of("by/link")], [own; 4]);
    // The directories above stay hero's, and closed.
    let above = ground.directory().parent().unwrap().to_owned();
    for above in [above.parent().unwrap(), &above] {
        let found = above.metadata().unwrap();
        assert_eq!((found.uid(), found.permissions().mode() & 0o777), (0, 0o710), "{}", above.display());
    }
    assert_ne!(ground.gives("run(\"ls ..\").silent().ignore_error().execute().code").await, 0);
    // What the operator opens to a group stays that group's.
    let data = ground.house.redis.directory();
    chown(data, None, Some(12_345)).unwrap();
    set_mode(data, 0o750);
    assert!(ground.error("exist(\"by\")").await.message.contains("cannot be opened: the log of the server says why"));
    let found = data.metadata().unwrap();
    assert_eq!((found.gid(), found.permissions().mode() & 0o777), (12_345, 0o750));
    set_mode(data, 0o700);
    ground.gives("exist(\"by\")").await;
    // Another context has another one, at the next start the same.
    assert_eq!(Files::new(data, CONTEXT, 1).user(), &JobUser::Own(u32::try_from(own).unwrap()));
    assert_ne!(Files::new(data, ContextId(CONTEXT.0 + 1), 1).user(), Files::new(data, CONTEXT, 1).user());
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_were_made_as_another_user_are_given_to_that_of_the_context() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: these tests do not run as root");
        return;
    }
    let ground = Ground::open().await;
    ground.gives("file_write(\"a/b/c\", \"x\")").await;
    let own = ground.directory().metadata().unwrap().uid();
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(outside.path(), ground.directory().join("a/link")).unwrap();
    let elsewhere = ground.house.redis.directory().join("elsewhere");
    std::fs::write(&elsewhere, "x").unwrap();
    std::fs::hard_link(&elsewhere, ground.directory().join("a/second name")).unwrap();
    for name in ["a/b/c", "a/b", "a", "."] {
        chown(ground.directory().join(name), Some(0), Some(0)).unwrap();
    }
    assert_eq!(ground.gives("run_silent(\"echo y >> a/b/c; cat a/b/c\").stdout").await, json!("xy\n"));
    for name in ["a/b/c", "a/link", "a/b", "a", "."] {
        assert_eq!(std::fs::symlink_metadata(ground.directory().join(name)).unwrap().uid(), own, "{name}");
    }
    assert_eq!((outside.as_file().metadata().unwrap().uid(), elsewhere.metadata().unwrap().uid()), (0, 0));
    ground.close().await;
}

#[test]
fn below_a_closed_directory_commands_stay_root_and_it_is_said_why() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: these tests do not run as root");
        return;
    }
    let closed = tempfile::tempdir().unwrap();
    set_mode(closed.path(), 0o700);
    let data = closed.path().join("data");
    let said = |data: &Path| match Files::new(data, CONTEXT, 1).user() {
        JobUser::Root(why) => why.clone(),
        user => panic!("{user}"),
    };
    let why = format!("{} is closed to other users", closed.path().display());
    assert_eq!(said(&data), why);
    std::fs::create_dir(&data).unwrap();
    assert_eq!(said(&data), why);
    // So it is where a link below it leads elsewhere.
    let elsewhere = tempfile::tempdir().unwrap();
    set_mode(elsewhere.path(), 0o711);
    std::fs::create_dir(elsewhere.path().join("data")).unwrap();
    set_mode(&elsewhere.path().join("data"), 0o700);
    assert!(matches!(Files::new(&elsewhere.path().join("data"), CONTEXT, 1).user(), JobUser::Own(_)));
    std::os::unix::fs::symlink(elsewhere.path(), closed.path().join("link")).unwrap();
    assert_eq!(said(&closed.path().join("link/data")), format!("{} is closed to other users", closed.path().display()));
    let linked = elsewhere.path().join("linked");
    std::fs::create_dir(&linked).unwrap();
    std::fs::create_dir(closed.path().join("files")).unwrap();
    std::os::unix::fs::symlink(closed.path().join("files"), linked.join("files")).unwrap();
    assert_eq!(said(&linked), format!("{} is closed to other users", closed.path().display()));
    // One that a group may use stays that group's.
    set_mode(closed.path(), 0o711);
    set_mode(&data, 0o750);
    assert_eq!(said(&data), format!("{} is open to a group", data.display()));
    // As after `chown -R root:` of a backup.
    for mode in [0o710, 0o700] {
        set_mode(&data, mode);
        assert!(matches!(Files::new(&data, CONTEXT, 1).user(), JobUser::Own(_)), "{mode:o}");
    }
}

/// The resource usage of a job that runs a command.
async fn used_by(ground: &Ground, command: &str) -> Usage {
    ground.gives("delete(\"done\")").await;
    let id = ground.house.start(job(&format!("run({command:?}).execute()"))).await;
    ground.house.is(&id, Status::Finished).await;
    usage(ground, &id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_commands_used_is_used_by_their_job() {
    let ground = Ground::open().await;
    let without = ground.house.start(job("40 + 2")).await;
    ground.house.is(&without, Status::Finished).await;
    let (without, whole) = (usage(&ground, &without).await, used_by(&ground, &work("$x = q(x) x 50_000_000")).await);
    assert!(without.peak_memory < 40 << 20 && whole.peak_memory > 40 << 20, "{without:?} {whole:?}");
    let until_done = "while [ ! -e done ]; do sleep 0.01; done";
    for command in [
        // What it left running counts, too, and what has left it, and what has to be killed.
        format!("({}; touch done) > /dev/null 2>&1 & {until_done}", work("")),
        format!("({}; {}) > /dev/null 2>&1 & {until_done}", work(""), work("open F, q(>done); sleep 600")),
        format!("(setsid {} > /dev/null 2>&1 &); {until_done}", work("open F, q(>done); sleep 600")),
    ] {
        let used = used_by(&ground, &command).await;
        assert!(used.cpu_us >= without.cpu_us + whole.cpu_us / 3, "{command}: {used:?}, alone {whole:?}");
    }
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_commands_used_is_known_when_their_job_is_stopped_or_out_of_time() {
    let ground = Ground::open().await;
    let whole = used_by(&ground, &work("")).await;
    let script = format!("run({:?}).execute()", work("open F, q(>done); sleep 600"));
    let id = ground.house.start(job(&script)).await;
    until("the work is done", || async { ground.directory().join("done").exists().then_some(()) }).await;
    ground.house.dispatcher.jobs().stop(CONTEXT, &id).await.unwrap();
    ground.house.is(&id, Status::Error).await;
    assert!(usage(&ground, &id).await.cpu_us >= whole.cpu_us / 3, "{:?}, alone {whole:?}", usage(&ground, &id).await);
    let late = JobSpec { timeout: Some(Seconds::new(8.0).unwrap()), ..job(&script) };
    let id = ground.house.start(late).await;
    ground.house.is(&id, Status::Error).await;
    let error = ground.house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap().error.unwrap();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(usage(&ground, &id).await.cpu_us >= whole.cpu_us / 3, "{:?}, alone {whole:?}", usage(&ground, &id).await);
    ground.close().await;
}
