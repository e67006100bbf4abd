use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use super::*;
use crate::proc_file;

const NEVER: Duration = Duration::from_secs(3600);

/// A shell that waits for another process, which does nothing.
fn shell() -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "exec 3<&0; cat <&3 & wait"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Checks whose looks at memory never end. They do once the sender is dropped.
fn held_up(overdue: Duration, hopeless: Duration) -> (mpsc::Sender<()>, Checks) {
    let (sender, ends) = mpsc::channel::<()>();
    let checks = Checks::with(overdue, hopeless, move |_, _| {
        let _ = ends.recv();
        MemoryAnswer { sums: Sums::default(), removed: Removed::new(), completeness: Completeness::Whole }
    });
    (sender, checks.unwrap())
}

/// What a look finds if there are no files.
fn nothing() -> FilesAnswer {
    let (removed, too_many) = (Removed::new(), TooMany::No);
    FilesAnswer { memory: 0, removed, too_many, hidden: None, completeness: Completeness::Whole }
}

/// Counts what is below a process until something is exceeded.
fn exceeded(checks: &mut Checks, root: &Child) -> Exceeded {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        if let Err(exceeded) = checks.count(Pid::from_child(root), &[]).and_then(|_| checks.found()) {
            return exceeded;
        }
        let _ = poll(&mut [checks.awaited()], Some(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 }));
    }
    panic!("nothing was found")
}

#[test]
fn all_limits_hold_even_if_a_look_at_memory_never_ends() {
    let mut shell = shell();
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("d/".repeat(super::super::MAX_DIRECTORY_DEPTH + 1))).unwrap();
    let (_sender, mut checks) = held_up(NEVER, NEVER);
    checks.begin(u64::MAX, Some(directory.path()));
    assert_eq!(exceeded(&mut checks, &shell), Exceeded::Disk);
    // The shell's child holds a pipe of 64 KB open.
    checks.begin(8 << 10, None);
    assert_eq!(exceeded(&mut checks, &shell), Exceeded::Memory(32 << 10));
    let (_sender, mut checks) = held_up(Duration::ZERO, NEVER);
    checks.begin(18 << 10, None);
    assert_eq!(exceeded(&mut checks, &shell), Exceeded::Memory(72 << 10), "what its status shows, with the pipe");
    let (_sender, mut checks) = held_up(NEVER, Duration::ZERO);
    checks.begin(1 << 30, None);
    assert_eq!(exceeded(&mut checks, &shell), Exceeded::Memory(4 << 30));
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn memory_is_looked_at() {
    let mut shell = shell();
    let mut checks = Checks::start().unwrap();
    checks.begin(18 << 10, None);
    assert_eq!(exceeded(&mut checks, &shell), Exceeded::Memory(72 << 10));
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn only_what_processes_have_more_is_added_to_what_was_found_last() {
    let own = vec![std::process::id().cast_signed(); 3];
    let (_sender, mut checks) = held_up(NEVER, NEVER);
    let shown = Process::read(own[0]).unwrap().shown();
    checks.begin(shown / 4, None);
    assert_eq!(checks.add_up(&own), Err(Exceeded::Memory(shown / 4 * 4)));
    // They shared it.
    checks.last.memory = Sums { shown: shown * 3, together: shown / 2, is_divided: true, is_whole: true };
    assert_eq!(checks.add_up(&own), Ok(()));
    checks.last.of_open = shown;
    assert_eq!(checks.add_up(&own), Err(Exceeded::Memory(shown / 4 * 4)));
}

#[test]
fn who_is_asked_to_end_goes_on_first_and_is_not_stopped_any_more() {
    let (tell, told) = mpsc::channel();
    let checks = Checks::with(NEVER, NEVER, move |request, is_awaited| {
        let mut hold = Hold::of(&request.processes, request.stops, is_awaited);
        while request.stops.is_some() && is_awaited() && !hold.is_stopped() {
            hold = Hold::of(&request.processes, request.stops, is_awaited);
        }
        let _ = tell.send(hold.is_stopped());
        while hold.is_stopped() && is_awaited() {
            thread::yield_now();
        }
        MemoryAnswer { sums: Sums::default(), removed: Removed::new(), completeness: Completeness::Missed }
    });
    let (mut shell, mut checks) = (shell(), checks.unwrap());
    let next = |checks: &mut Checks| {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            assert_eq!(checks.count(Pid::from_child(&shell), &[]).and_then(|_| checks.found()), Ok(()));
            if let Ok(has_stopped) = told.try_recv() {
                return has_stopped;
            }
            assert!(Instant::now() < until, "no look");
            let _ = poll(&mut [checks.awaited()], Some(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 }));
        }
    };
    let is_stopped = |pid: &i32| proc_file::read(format!("/proc/{pid}/status")).unwrap().contains("State:\tT");
    checks.begin(1 << 30, None);
    assert_eq!([next(&mut checks), next(&mut checks), next(&mut checks)], [false, false, true], "after two that missed some");
    let processes = crate::tree::pids(Pid::from_child(&shell), &[]);
    assert!(!processes.is_empty() && processes.iter().all(is_stopped));
    checks.end();
    assert!(!processes.iter().any(is_stopped));
    assert!(checks.last.missed_memory.stops().is_some() && !next(&mut checks));
    checks.begin(1 << 30, None);
    assert_eq!([next(&mut checks), next(&mut checks), next(&mut checks)], [false, false, true], "those of another job");
    checks.end();
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn too_many_descriptors_are_found_before_any_is_looked_at() {
    let take = "for fd in $(seq 10 900); do eval \"exec $fd<&0\"; done; for n in $(seq 20); do cat <&10 & done; echo; wait";
    let mut shell = Command::new("bash");
    let mut shell = shell.args(["-c", take]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let (_sender, mut checks) = held_up(NEVER, NEVER);
    checks.begin(1 << 30, None);
    assert_eq!(checks.count(Pid::from_child(&shell), &[]), Err(Exceeded::Descriptors));
    assert!(!checks.files.is_running() && !checks.memory.is_running());
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn what_was_mapped_some_time_ago_and_who_hid_once_are_looked_at_again() {
    let (_sender, mut checks) = held_up(NEVER, NEVER);
    checks.begin(u64::MAX, None);
    let answer = |too_many, hidden| FilesAnswer { too_many, hidden, ..nothing() };
    assert_eq!(checks.found_files(answer(TooMany::WithMapped, None)), Ok(()));
    assert_eq!(checks.found_files(answer(TooMany::WithMapped, None)), Ok(()));
    checks.last.mapped_in = checks.memory.number() + 1;
    assert_eq!(checks.found_files(answer(TooMany::WithMapped, None)), Err(Exceeded::Disk));
    assert_eq!(checks.found_files(answer(TooMany::No, None)), Ok(()));
    assert_eq!(checks.found_files(answer(TooMany::Yes, None)), Err(Exceeded::Disk));
    for (hidden, found) in [(1, Ok(())), (2, Ok(())), (2, Err(Exceeded::Hidden))] {
        assert_eq!(checks.found_files(answer(TooMany::No, Some(hidden))), found);
    }
}

#[test]
fn processes_that_follow_each_other_cannot_hide_and_one_now_and_then_may() {
    let (_sender, mut checks) = held_up(NEVER, NEVER);
    let mut found = |hidden: &[i32]| {
        checks.begin(u64::MAX, None);
        let answers = hidden.iter().map(|pid| FilesAnswer { hidden: Some(*pid).filter(|pid| *pid != 0), ..nothing() });
        answers.map(|answer| checks.found_files(answer)).position(|found| found.is_err())
    };
    assert_eq!(found(&[1, 2, 3, 4]), Some(2));
    assert_eq!(found(&[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]), Some(8));
    assert_eq!(found(&[1, 0, 0].repeat(100)), None);
}

#[test]
fn memory_that_forks_share_is_divided_before_it_is_too_much() {
    let (go, may_end) = mpsc::channel::<()>();
    let (divided, is_divided) = mpsc::channel();
    let checks = Checks::with(NEVER, NEVER, move |request, _| {
        let mut sums = Sums { together: 4 << 20, is_whole: true, ..Sums::default() };
        if request.of_open == 0 {
            let _ = may_end.recv();
        } else {
            sums = Sums { is_divided: true, is_whole: true, ..Sums::default() };
            let _ = divided.send(());
        }
        MemoryAnswer { sums, removed: Removed::new(), completeness: Completeness::Whole }
    });
    let (mut shell, mut checks) = (shell(), checks.unwrap());
    checks.begin(1 << 20, None);
    let mut go = Some(go);
    let until = Instant::now() + Duration::from_secs(60);
    while is_divided.try_recv().is_err() {
        assert_eq!(checks.count(Pid::from_child(&shell), &[]).and_then(|_| checks.found()), Ok(()));
        assert!(Instant::now() < until, "no second look");
        // More is open when the first look ends than when it began: a pipe of 64 KB.
        if checks.last.of_open > 0 {
            go = None;
        }
        let _ = poll(&mut [checks.awaited()], Some(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 }));
    }
    assert!(go.is_none());
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn removed_files_are_told_that_processes_have_open() {
    use std::io::{Read as _, Write as _};

    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&vec![1; 1 << 20]).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 3<&0; cat <&3 & echo; wait"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
    let mut shell = shell.spawn().unwrap();
    shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let mut checks = Checks::start().unwrap();
    assert!(checks.removed(&[Pid::from_child(&shell)], Duration::from_secs(60)) >= 1 << 20);
    assert_eq!(checks.removed(&[], Duration::from_secs(60)), 0);
    drop(shell.stdin.take());
    shell.wait().unwrap();
}
