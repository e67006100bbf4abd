//! Files of a context: operations of scripts, and that no path leads outside.

use std::os::unix::fs::symlink;

use hero::sal::{Files, Resources};
use serde_json::json;

use super::{Ground, job, sal_settings};
use crate::support::{CONTEXT, House, PATIENCE};

/// Everything that takes a path, with the path in place of `P`.
const ALL: [&str; 14] = [
    "exist(P)",
    "mkdir(P + \"/new\")",
    "file_read(P)",
    "file_size(P)",
    "file_write(P, \"x\")",
    "file_write_append(P, \"x\")",
    "copy(P, \"copy\")",
    "copy(\"kept.txt\", P)",
    "mv(P, \"moved\")",
    "mv(\"kept.txt\", P)",
    "delete(P)",
    "find_files(P, \"*\")",
    "find_dir(P, \"*\")",
    "chdir(P)",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out_of_the_directory_of_the_context() {
    let ground = Ground::open().await;
    ground.gives("file_write(\"kept.txt\", \"kept\"); mkdir(\"box/deep\")").await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "secret").unwrap();
    let inside = ground.directory();
    // As a command of a script makes them.
    ground
        .gives(&format!(
            "run(\"ln -s {0} out; ln -s {0}/secret.txt file; ln -s .. up; ln -s ../../.. box/deep/up; ln -s /proc/self/root root\").execute().code",
            outside.path().display()
        ))
        .await;
    symlink("loop", inside.join("loop")).unwrap();
    let out = ["../x", "box/../../x", "out/secret.txt", "up/redis.sock", "box/deep/up/x", "root/etc/passwd", "box/deep/../../../x"];
    for call in ALL {
        for path in out {
            let script = call.replace('P', &format!("{path:?}"));
            let error = ground.error(&script).await;
            assert!(error.message.contains("leads out of the directory of the context"), "{script}: {}", error.message);
        }
        for (path, told) in [
            ("/etc/passwd".to_owned(), "leave out the first /"),
            ("a\\x00b".to_owned(), "no zero byte"),
            ("d/".repeat(70), "at most 64 parts"),
            ("x".repeat(5000), "at most 64 parts"),
        ] {
            let script = call.replace('P', &format!("\"{path}\""));
            let error = ground.error(&script).await;
            assert!(error.message.contains(told), "{script}: {}", error.message);
        }
        let error = ground.error(&call.replace('P', "\"\"")).await;
        assert!(error.message.contains(if call.starts_with("mkdir") { "leave out" } else { "no path" }), "{call}: {}", error.message);
        let error = ground.error(&format!("{}; throw \"none\"", call.replace('P', "\"loop/x\""))).await;
        assert_ne!(error.message, "none", "{call}");
    }
    // A link itself may be deleted, and what it leads to stays.
    assert_eq!(ground.gives("delete(\"file\"); delete(\"out\"); exist(\"kept.txt\")").await, true);
    assert_eq!(std::fs::read_to_string(outside.path().join("secret.txt")).unwrap(), "secret");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    // Within the directory `..` is a way like others.
    assert_eq!(ground.gives("chdir(\"box/deep\"); file_read(\"../../kept.txt\")").await, "kept");
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_file_is_said() {
    let ground = Ground::open().await;
    ground.gives("mkdir(\"dir/below\"); file_write(\"file\", \"x\"); file_write(\"dir/a\", \"a\")").await;
    // Only a command makes these.
    ground.gives("run(\"mkfifo pipe; printf '\\\\377' > bytes\").execute().code").await;
    for (script, told) in [
        ("file_read(\"none\")", "there is no such file or directory"),
        ("file_read(\"dir\")", "that is a directory"),
        ("file_read(\"bytes\")", "is no text (UTF-8)"),
        ("file_read(\"pipe\")", "that is no file"),
        ("file_write(\"dir\", \"x\")", "that is a directory"),
        ("file_write(\"pipe\", \"x\")", "pipe"),
        ("file_write(\"file/x\", \"x\")", "file/x"),
        ("mkdir(\"file\")", "that is no directory, but it is there"),
        ("chdir(\"file\")", "that is no directory"),
        ("copy(\"none\", \"x\")", "none: there is no such file or directory"),
        ("copy(\"pipe\", \"x\")", "that is no file"),
        ("copy(\"file\", \"file\")", "onto itself"),
        ("copy(\"dir\", \"dir/below/x\")", "into itself"),
        ("copy(\"dir\", \"dir\")", "into itself"),
        ("copy(\".\", \"backup\")", "into itself"),
        ("copy(\"dir/..\", \"a/b/backup\")", "into itself"),
        ("mv(\"dir\", \"dir/below\")", "dir/below"),
        ("delete(\".\")", "the directory of the context itself"),
        ("delete(\"dir/..\")", "the directory of the context itself"),
        ("find_file(\"dir\", \"none\")", "no file there is called \"none\""),
        ("find_dirs(\"none\", \"*\")", "none: there is no such file or directory"),
        ("find_files(\"dir\", \"a/b\")", "a name is searched for"),
    ] {
        let error = ground.error(script).await;
        assert!(error.message.contains(told), "{script}: {}", error.message);
    }
    assert_eq!(ground.gives("file_read(\"dir/a\") + file_read(\"file\")").await, "ax", "nothing was lost");
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_written_again_has_nothing_of_what_was_in_it() {
    let ground = Ground::open().await;
    for (text, size) in [("a longer text", 13), ("short", 5), ("", 0), ("it grows", 8)] {
        let script = format!("file_write(\"a\", {text:?}); [file_read(\"a\"), file_size(\"a\")]");
        assert_eq!(ground.gives(&script).await, json!([text, size]));
    }
    assert_eq!(ground.gives("file_write_append(\"a\", \", too\"); file_read(\"a\")").await, "it grows, too");
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_and_moves_go_where_they_are_expected() {
    let ground = Ground::open().await;
    let script = r#"
        file_write("from/a", "1"); file_write("from/deep/b", "2"); mkdir("from/empty"); file_write("to/old", "3");
        copy("from", "to"); copy("to/a", "box/c"); copy("to/a", "box"); mv("box/c", "to"); mv("to/deep", "else/where");
        file_write("to/a", "new");
        [find_files(".", "*"), find_dirs(".", "*"), file_read("from/a"), delete("nothing"), exist("box/a")]
    "#;
    let expected = json!([
        ["./box/a", "./else/where/b", "./from/a", "./from/deep/b", "./to/a", "./to/c", "./to/old"],
        ["./box", "./else", "./else/where", "./from", "./from/deep", "./from/empty", "./to", "./to/empty"],
        "1",
        "Nothing to delete at 'nothing'",
        true
    ]);
    assert_eq!(ground.gives(script).await, expected);
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_file_and_a_full_directory_are_refused_and_deleted() {
    let ground = Ground::open().await;
    ground.gives("mkdir(\"many\")").await;
    let directory = ground.directory();
    let large = std::fs::File::create(directory.join("large")).unwrap();
    large.set_len(1 << 30).unwrap();
    assert!(ground.error("file_read(\"large\")").await.message.contains("1073741824 bytes, more than the 240 KB"));
    assert_eq!(ground.gives("file_size(\"large\")").await, 1_u64 << 30);
    for number in 0..100_000 {
        std::fs::File::create(directory.join("many").join(format!("{number:06}.txt"))).unwrap();
    }
    assert!(ground.error("find_files(\"many\", \"*\")").await.message.contains("than an answer holds"));
    assert_eq!(ground.gives("find_file(\"many\", \"*\")").await, "many/000000.txt");
    assert_eq!(ground.gives("find_files(\"many\", \"00000?.txt\").len()").await, 10);
    // Whoever is stopped meanwhile ends at once.
    ground.stop("loop { find_dirs(\".\", \"*\"); }", async |_| {}).await;
    ground
        .stop("copy(\"many\", \"again\"); copy(\"large\", \"more\"); loop { delete(\"again\"); copy(\"many\", \"again\"); }", async |_| {})
        .await;
    ground.gives("delete(\"many\"); delete(\"again\"); delete(\"more\")").await;
    assert!(!directory.join("many").exists());
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_a_context_have_no_more_room_than_the_operator_gave() {
    let ground = Ground::with_quota(256 << 10).await;
    for script in [
        "for n in 0..1000 { file_write(`f${n}`, \"\"); }",
        "for n in 0..1000 { mkdir(`d${n}`); }",
        "let text = \"x\"; text.pad(1000, \"x\"); loop { file_write_append(\"log\", text); }",
        "file_write(\"a\", \"x\"); for n in 0..1000 { copy(\"a\", `b${n}`); }",
        "file_write(\"t/a\", \"x\"); for n in 0..1000 { copy(\"t\", `t${n}`); }",
        "run(\"for n in $(seq 200); do head -c 10000 /dev/zero > c$n; done; sleep 600\").execute()",
        // A file that has no name any more.
        "run(\"exec 3> f; rm f; head -c 600000 /dev/zero >&3; sleep 600\").execute()",
        "run(\"(exec 3> f; rm f; head -c 600000 /dev/zero >&3; sleep 600) > /dev/null 2>&1 &\").execute(); loop { file_write(\"a\", \"x\"); delete(\"a\"); }",
        // One that is handed on and on by processes that each start the next and end.
        r#"run("python3 -c 'import os; f = os.open(\"f\", os.O_CREAT | os.O_WRONLY); os.unlink(\"f\"); os.write(f, bytes(600000))\nwhile os.fork() == 0: pass'; sleep 600").execute()"#,
        // What is written when the command itself has ended.
        "run(\"(head -c 600000 /dev/zero > f; sleep 600) > /dev/null 2>&1 &\").execute(); loop { process_list(\"sleep\"); sleep(0.01); }",
    ] {
        let error = ground.error(script).await;
        assert!(error.message.contains("(files_quota); delete some"), "{script}: {}", error.message);
        // What is deleted makes room at once.
        ground.gives("for name in find_files(\".\", \"*\") + find_dirs(\".\", \"*\") { delete(name); } file_write(\"last\", \"x\")").await;
    }
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_has_closed_is_measured_found_and_deleted() {
    let ground = Ground::with_quota(256 << 10).await;
    // Where hero is root no command may close anything, and nothing would be closed to it.
    for close in ["chmod 0 d/a/b", "chmod 0 d/a", "chmod 0 d", "chmod 400 d/a", "chmod 500 d/a", "chmod 0 d/a/b d/a d .", "chmod 400 ."] {
        ground.gives(&format!("run(\"mkdir -p d/a/b; head -c 200000 /dev/zero > d/a/b/f; {close} || true\").execute()")).await;
        let error = ground.error("let text = \"\"; text.pad(100000, \"x\"); file_write(\"other\", text)").await;
        assert!(error.message.contains("(files_quota); delete some"), "{close}: {}", error.message);
        let found = ground.gives("file_write(\"kept\", \"x\"); mkdir(\"new\"); run(\"true\").execute(); find_files(\".\", \"f\")").await;
        assert_eq!(found, json!(["./d/a/b/f"]), "{close}");
        ground.gives(&format!("run(\"{close}\").ignore_error().execute(); delete(\"d\")")).await;
        assert!(!ground.directory().join("d").exists(), "{close}");
        // One that is closed itself.
        ground.gives("run(\"mkdir -p d/a/b; chmod 0 d || true\").execute(); delete(\"d\")").await;
        assert!(!ground.directory().join("d").exists(), "{close}");
    }
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_nested_deeper_than_paths_go_is_deleted() {
    let ground = Ground::open().await;
    let deep = "mkdir top && cd top && p=$(printf 'dddd/%.0s' $(seq 200)) && for n in $(seq 6); do mkdir -p $p; cd -P $p 2>/dev/null || exit 0; done";
    ground.gives(&format!("try {{ run({deep:?}).ignore_error().execute() }} catch {{ }}")).await;
    assert!(ground.error("find_dirs(\".\", \"*\")").await.message.contains("lie in each other more than 128 deep"));
    // Nobody else is kept from writing, nor from commands.
    ground.gives("file_write(\"a\", \"x\"); run(\"true\").execute()").await;
    ground.gives("delete(\"top\"); file_write(\"a\", \"x\")").await;
    assert!(!ground.directory().join("top").exists());
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_begin_in_the_directory_of_the_context_whatever_others_did() {
    let ground = Ground::open().await;
    assert_eq!(
        ground.gives("mkdir(\"box\"); chdir(\"box\"); run_silent(\"pwd\").stdout").await,
        json!(format!("{}/box\n", ground.directory().display()))
    );
    assert_eq!(ground.gives("exist(\"box\")").await, true);
    assert!(ground.error("chdir(\"box\"); delete(\"../box\"); run(\"pwd\").execute()").await.message.contains("cannot be entered"));
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_processes_there_are_files_alone() {
    let house = House::empty().await;
    let resources = Resources { files: Some(Files::new(house.redis.directory(), CONTEXT, 1 << 20)), ..Resources::default() };
    let mut house = house;
    let settings = sal_settings(&house, resources);
    house.hire(settings).await;
    let result = house.dispatcher.jobs().run_and_wait(job("file_write(\"a\", \"x\"); file_read(\"a\")"), PATIENCE).await.unwrap();
    assert_eq!(result.output, "x");
    let id = house.start(job("which(\"sh\")")).await;
    let error = house.dispatcher.jobs().wait(CONTEXT, &id, PATIENCE).await.unwrap_err();
    assert!(error.to_string().contains("which is for pools and contexts with the grant process"), "{error}");
    house.close().await;
}
