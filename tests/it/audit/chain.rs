//! Detection of records that were removed, changed or moved, and of missing files and ends.

use super::*;
use hero::audit::Error;

/// The first fault: its place and its kind.
pub(super) fn first(report: &Report) -> (u64, Option<u64>, String) {
    let fault = report.faults.first().unwrap_or_else(|| panic!("no fault: {report:?}"));
    (fault.line, fault.seq, fault.why.clone())
}

#[tokio::test]
async fn a_log_that_nobody_touched_is_whole_and_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let ground = Ground::new();
    ground.write(3).await;
    let report = ground.verify();
    assert_eq!((report.faults.len(), report.records, report.first, report.last, report.files, report.torn), (0, 5, 1, 5, 1, 0));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&ground.directory()), mode(&ground.files()[0]), mode(&ground.directory().join("head"))), (0o700, 0o600, 0o600));
}

#[tokio::test]
async fn a_record_that_was_removed_changed_or_moved_is_named() {
    type Edit = fn(&mut Vec<String>);
    let edits: [(&str, Edit, u64, u64, &str); 6] = [
        ("removed", |lines| drop(lines.remove(2)), 3, 4, "record 3 is missing"),
        ("removed, several", |lines| drop(lines.drain(2..5)), 3, 6, "records 3 to 5 are missing"),
        ("changed", |lines| lines[2] = lines[2].replace("identity:1", "identity:9"), 3, 3, "its hash does not fit"),
        ("swapped", |lines| lines.swap(2, 3), 3, 4, "record 3 is missing"),
        ("twice", |lines| lines.insert(3, lines[2].clone()), 4, 3, "stands behind record 3"),
        ("no record", |lines| lines[2] = "{}".to_owned(), 3, 0, "is no record"),
    ];
    for (name, edit, line, seq, why) in edits {
        let ground = Ground::new();
        ground.write(8).await;
        ground.edit(edit);
        let report = ground.verify();
        let found = first(&report);
        assert_eq!((found.0, found.1.unwrap_or_default()), (line, seq), "{name}: {report:?}");
        assert!(found.2.contains(why) && report.faults[0].file.ends_with("audit-000000000001.jsonl"), "{name}: {report:?}");
    }
}

#[tokio::test]
async fn whoever_has_no_key_writes_no_record_that_fits() {
    let ground = Ground::new();
    ground.write(3).await;
    let other = Ground::new();
    other.write(3).await;
    std::fs::copy(&other.files()[0], &ground.files()[0]).unwrap();
    let report = ground.verify();
    assert_eq!((report.records, report.faults.len()), (0, 5), "{report:?}");
}

#[tokio::test]
async fn an_end_that_was_cut_off_shows_and_still_does_when_the_log_went_on() {
    let ground = Ground::new();
    ground.write(8).await;
    ground.edit(|lines| lines.truncate(6));
    assert!(first(&ground.verify()).2.contains("records 7 to 10 are missing at the end"));
    ground.write(2).await;
    let report = ground.verify();
    let (line, seq, why) = first(&report);
    assert_eq!((line, seq, why.as_str()), (7, Some(11), "records 7 to 10 are missing"), "{report:?}");
    assert_eq!(ground.entries()[6].note.as_deref(), Some("records 7 to 10 are missing"));
}

#[tokio::test]
async fn a_head_that_is_gone_or_changed_shows_and_still_does_when_the_log_went_on() {
    for spoil in [|head: &Path| std::fs::remove_file(head).unwrap(), |head: &Path| std::fs::write(head, "head 1 2 3\n").unwrap()] {
        let ground = Ground::new();
        ground.write(8).await;
        spoil(&ground.directory().join("head"));
        assert!(first(&ground.verify()).2.contains("so records may be missing at the beginning and the end"));
        ground.write(1).await;
        let (_, seq, why) = first(&ground.verify());
        assert!(seq == Some(11) && why.contains("the server found when it began here: the head was"), "{why}");
    }
}

#[tokio::test]
async fn an_older_log_that_was_put_back_shows_by_what_was_noted_elsewhere() {
    let ground = Ground::new();
    ground.write(3).await;
    let kept = ground.home.path().join("kept");
    let copy = |from: &Path, to: &Path| {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    };
    copy(&ground.directory(), &kept);
    ground.write(5).await;
    let noted = {
        let report = ground.verify();
        (report.last, report.hash)
    };
    assert_eq!(verify(&ground.directory(), &ground.key, Some(&noted)).unwrap().faults, []);
    // The whole directory as it was: by itself it is whole.
    copy(&kept, &ground.directory());
    assert_eq!(ground.verify().faults, []);
    let cut = verify(&ground.directory(), &ground.key, Some(&noted)).unwrap();
    assert!(first(&cut).2.contains("are missing at the end"), "{cut:?}");
    // And with other records behind it.
    ground.write(9).await;
    assert_eq!(ground.verify().faults, []);
    let other = verify(&ground.directory(), &ground.key, Some(&noted)).unwrap();
    assert!(first(&other).2.contains("an older log was put back"), "{other:?}");
}

#[tokio::test]
async fn a_line_that_was_torn_is_kept_aside_and_the_chain_goes_on() {
    let ground = Ground::new();
    ground.write(3).await;
    let path = ground.files().remove(0);
    let mut text = std::fs::read(&path).unwrap();
    text.extend_from_slice(b"{\"seq\":6,\"time\":\"2026-");
    std::fs::write(&path, text).unwrap();
    let report = ground.verify();
    assert_eq!((report.torn, report.faults.len()), (22, 0), "{report:?}");
    ground.write(1).await;
    let report = ground.verify();
    assert_eq!((report.torn, report.faults.len(), report.last), (0, 0, 8), "{report:?}");
    let note = ground.entries()[5].note.clone().unwrap();
    assert_eq!(note, "22 bytes of a line that was not finished are kept in torn-000000000006");
    assert_eq!(std::fs::read(ground.directory().join("torn-000000000006")).unwrap(), b"{\"seq\":6,\"time\":\"2026-");
}

#[tokio::test]
async fn a_last_record_that_is_damaged_stays_and_a_new_file_goes_on() {
    let ground = Ground::new();
    ground.write(3).await;
    ground.edit(|lines| lines[4] = lines[4].replace("audit_stop", "audit_xxxx"));
    ground.write(1).await;
    assert_eq!(ground.files().len(), 2);
    let report = ground.verify();
    assert_eq!((first(&report).0, first(&report).1, report.last), (5, Some(5), 8), "{report:?}");
    assert!(report.faults[1].why.contains("the last record of audit-000000000001.jsonl is damaged"), "{report:?}");
}

#[tokio::test]
async fn another_key_and_another_process_are_refused() {
    let ground = Ground::new();
    let audit = ground.open();
    assert!(matches!(Audit::open(ground.settings(1 << 20, 0)), Err(Error::InUse(_))));
    audit.close().await;
    drop(audit);
    let other = Settings { key: AuditKey::random(), ..ground.settings(1 << 20, 0) };
    let refused = until("the lock", || async {
        match Audit::open(other.clone()) {
            Err(Error::InUse(_)) => None,
            Err(error) => Some(error.to_string()),
            Ok(_) => panic!("another key was taken"),
        }
    });
    let refused = refused.await;
    assert!(refused.contains("put the key back") && refused.contains("audit_key_file"), "{refused}");
}

/// A number of records that fills several files.
pub(super) async fn several(ground: &Ground, quota: u64) {
    let audit = ground.open_with(4096, quota);
    for number in 0..200_u32 {
        audit.note(|| grant(&format!("identity:{number}")));
        // Each by itself, so that no file is much longer than it should be.
        audit.written().await;
    }
    audit.close().await;
}

#[tokio::test]
async fn the_chain_goes_on_across_files_and_a_file_that_is_missing_is_named() {
    let ground = Ground::new();
    several(&ground, 0).await;
    let (report, files) = (ground.verify(), ground.files());
    assert_eq!((report.faults.len(), report.records, report.files), (0, 202, files.len() as u64), "{report:?}");
    assert!(files.len() > 5 && files.iter().all(|path| path.metadata().unwrap().len() < 4096 + 1024), "{files:?}");
    // The second one: the next begins with another record.
    let name = files[1].file_name().unwrap().to_str().unwrap().to_owned();
    std::fs::remove_file(&files[1]).unwrap();
    let (line, _, why) = first(&ground.verify());
    assert!(line == 1 && why.contains(&format!("the file {name} is not there")), "{why}");
}

#[tokio::test]
async fn all_files_together_have_a_bound_and_what_was_removed_is_a_record() {
    let ground = Ground::new();
    several(&ground, 3 * 4096).await;
    let (report, files) = (ground.verify(), ground.files());
    let bytes: u64 = files.iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(report.faults.is_empty() && report.first > 1 && report.last > 200, "{report:?}");
    assert!(bytes <= 3 * 4096 + 1024, "{bytes}");
    let removed: Vec<Entry> = ground.entries().into_iter().filter(|entry| entry.what == "audit_remove").collect();
    let last = removed.last().unwrap().note.clone().unwrap();
    assert!(last.contains(&format!("all records before {}:", report.first)), "{last}, {}", report.first);
}

#[tokio::test]
async fn hostile_texts_stay_in_one_line() {
    let ground = Ground::new();
    let audit = ground.open();
    let hostile = ["a\nb\r\nc\0\u{1b}[2J\u{2028}\"}", "\",\"hash\":\"00\"}", &"x".repeat(10 << 20), &"\u{1}".repeat(10 << 20)];
    for text in hostile {
        audit.note(|| grant(text));
    }
    audit.close().await;
    let report = ground.verify();
    assert_eq!((report.faults.len(), report.records), (0, 6), "{:?}", report.faults);
    assert_eq!(std::fs::read_to_string(&ground.files()[0]).unwrap().lines().count(), 6);
    assert!(ground.entries().iter().all(|entry| entry.object.as_ref().is_none_or(|object| object.len() < 50_000)));
}

#[tokio::test]
async fn what_nobody_ended_is_recorded_as_unknown() {
    let ground = Ground::new();
    let audit = ground.open();
    drop(audit.begin(|| Record { outcome: Outcome::Unknown, ..grant("identity:1") }).unwrap());
    let mut ended = audit.begin(|| Record { outcome: Outcome::Unknown, ..grant("identity:2") }).unwrap();
    ended.end(|record| record.outcome = Outcome::Ok);
    ended.end(|record| record.outcome = Outcome::Bad);
    audit.close().await;
    let outcomes: Vec<String> = told(&ground.entries()).into_iter().map(|(_, _, outcome)| outcome).collect();
    assert_eq!(outcomes, ["unknown", "ok"]);
}

#[tokio::test]
async fn while_it_cannot_be_written_nothing_begins_and_what_has_no_room_is_counted() {
    let ground = Ground::new();
    let audit = ground.open();
    audit.written().await;
    let away = ground.home.path().join("away");
    std::fs::rename(ground.directory(), &away).unwrap();
    std::fs::write(ground.directory(), "in the way").unwrap();
    audit.note(|| grant("identity:1"));
    until("it fails", || async { audit.failing() }).await;
    assert!(audit.begin(|| grant("identity:2")).is_err());
    let many = 20_000_u32;
    (0..many).for_each(|number| audit.note(|| grant(&format!("identity:{number}"))));
    std::fs::remove_file(ground.directory()).unwrap();
    std::fs::rename(&away, ground.directory()).unwrap();
    until("it works", || async { audit.failing().is_none().then_some(()) }).await;
    audit.close().await;
    let (report, entries) = (ground.verify(), ground.entries());
    assert_eq!(report.faults, []);
    let lost: u64 = entries.iter().filter(|entry| entry.what == "audit_lost").filter_map(|entry| entry.count).sum();
    assert_eq!(told(&entries).len() as u64 + lost, u64::from(many) + 1);
    assert!(lost > 0 && lost == report.lost, "{lost}");
}

#[tokio::test]
async fn a_file_that_is_taken_away_while_it_is_written_shows() {
    let ground = Ground::new();
    let audit = ground.open();
    audit.note(|| grant("identity:1"));
    audit.written().await;
    std::fs::remove_file(&ground.files()[0]).unwrap();
    audit.note(|| grant("identity:2"));
    audit.close().await;
    let (_, seq, why) = first(&ground.verify());
    assert!(seq == Some(3) && why.contains("audit-000000000001.jsonl or the head was taken away"), "{why}");
}
