//! Detection of records that are missing at the beginning, and of a log that is gone entirely.

use super::chain::{first, several};
use super::*;

/// The number of the first record of a file.
fn number(path: &Path) -> u64 {
    path.file_stem().unwrap().to_str().unwrap().trim_start_matches("audit-").parse().unwrap()
}

#[tokio::test]
async fn the_oldest_files_are_missing_where_their_server_has_not_removed_them() {
    for quota in [0, 3 * 4096] {
        let ground = Ground::new();
        several(&ground, quota).await;
        let (files, report) = (ground.files(), ground.verify());
        assert_eq!(report.faults, []);
        std::fs::remove_file(&files[0]).unwrap();
        let begins = number(&files[1]);
        let why = format!("records {} to {} are missing at the beginning", report.first, begins - 1);
        let found = first(&ground.verify());
        assert_eq!(found, (1, Some(begins), why.clone()), "quota {quota}");
        // A server that goes on there says so, too, and it still shows.
        ground.write(1).await;
        assert_eq!(first(&ground.verify()), found, "quota {quota}");
        let started = ground.entries().into_iter().rfind(|entry| entry.what == "audit_start").unwrap();
        assert_eq!((&*started.outcome, started.note), ("failed", Some(why)), "quota {quota}");
    }
}

#[tokio::test]
async fn the_last_records_in_a_file_of_their_name_are_not_a_whole_log() {
    let ground = Ground::new();
    ground.write(8).await;
    ground.edit(|lines| drop(lines.drain(..6)));
    std::fs::rename(&ground.files()[0], ground.directory().join("audit-000000000007.jsonl")).unwrap();
    let (line, seq, why) = first(&ground.verify());
    assert_eq!((line, seq, why.as_str()), (1, Some(7), "records 1 to 6 are missing at the beginning"));
}

#[tokio::test]
async fn files_that_a_server_was_killed_before_it_removed_them_are_no_fault() {
    let ground = Ground::new();
    several(&ground, 0).await;
    let before: Vec<(PathBuf, Vec<u8>)> = ground.files().into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    // One or two of these have to go for what is written now.
    let audit = ground.open_with(4096, before.len() as u64 * 4096);
    for number in 0..50_u32 {
        audit.note(|| grant(&format!("identity:{number}")));
        audit.written().await;
    }
    audit.close().await;
    assert!(ground.verify().faults.is_empty() && ground.verify().first > 1);
    let removed = before.iter().filter(|(path, _)| !path.exists());
    removed.for_each(|(path, content)| std::fs::write(path, content).unwrap());
    let report = ground.verify();
    assert_eq!((report.faults, report.first), (vec![], 1));
}

#[tokio::test]
async fn a_log_of_which_nothing_is_left_is_a_fault_of_the_one_that_follows() {
    let ground = Ground::new();
    let audit = Audit::open(Settings { begun: true, ..ground.settings(1 << 20, 0) }).unwrap();
    audit.close().await;
    let report = ground.verify();
    assert!(report.first == 1 && first(&report).2.contains("all its records are missing"), "{report:?}");
}

#[test]
fn a_pipe_with_the_name_of_a_file_is_a_fault_and_nobody_waits_for_it() {
    let ground = Ground::new();
    tokio::runtime::Runtime::new().unwrap().block_on(ground.write(3));
    let made = |name: &str| {
        let path = ground.directory().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    let pipe = made("audit-000000000002.jsonl");
    let report = ground.verify();
    let found: Vec<(&str, &str)> = report.faults.iter().map(|fault| (&*fault.file, &*fault.why)).collect();
    assert_eq!(found, [("audit-000000000002.jsonl", "is no regular file")]);
    std::fs::remove_file(pipe).unwrap();
    std::fs::remove_file(ground.directory().join("head")).unwrap();
    made("head");
    let refused = verify(&ground.directory(), &ground.key, None).unwrap_err().to_string();
    assert!(refused.contains("is no regular file"), "{refused}");
    let refused = Audit::open(ground.settings(1 << 20, 0)).unwrap_err().to_string();
    assert!(refused.contains("is no regular file"), "{refused}");
}
