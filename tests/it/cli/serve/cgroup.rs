//! Control groups of supervisors, in a subtree that these tests delegate to a server. The tests need root and cgroup
//! version 2. `tests/cgroup.sh` tests the controllers, where they exist.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use hero::model::JobSpec;
use rustix::fs::{XattrFlags, setxattr};

use super::spec;
use crate::support::{PATIENCE, Process, hero, until};

/// A subtree, removed with its test.
struct Subtree(PathBuf);

impl Subtree {
    fn new() -> Option<Self> {
        let list = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let place = list.lines().find(|line| line.contains(" - cgroup2 "))?.split(' ').nth(4)?.to_owned();
        let path = Path::new(&place).join(format!("hero-test-{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir(&path).ok()?;
        path.join("cgroup.kill").exists().then_some(Self(path))
    }

    fn delegated() -> Option<Self> {
        let subtree = Self::new()?;
        setxattr(&subtree.0, "user.delegate", b"1", XattrFlags::empty()).ok()?;
        Some(subtree)
    }

    /// `hero serve` with a pool of bash, in a group.
    fn serving(&self, data: &Path) -> Process {
        let config = data.with_extension("toml");
        fs::write(&config, "[script_types.bash]\ncommand = [\"bash\", \"{script}\"]\n").unwrap();
        let mut arguments: Vec<OsString> = vec!["-c".into(), "echo 0 > \"$0/cgroup.procs\" && exec \"$@\"".into(), self.0.clone().into()];
        arguments.push(hero().into());
        arguments.extend(["serve", "--listen", "127.0.0.1:0", "--pool", "osis=1,bash=1", "--data"].iter().map(OsString::from));
        arguments.extend([data.into(), "--config".into(), config.into()]);
        Process::of(Path::new("/bin/sh"), &arguments, |_| {})
    }

    fn groups(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("hero-jobs-")).collect()
    }
}

impl Drop for Subtree {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        for inner in fs::read_dir(&self.0).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()) {
            let _ = fs::remove_dir(inner.path());
        }
        let _ = fs::remove_dir(&self.0);
    }
}

fn processes(group: &Path) -> Vec<String> {
    fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default().lines().map(ToOwned::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_delegated_subtree_each_supervisor_has_a_group_that_ends_with_it_and_what_was_left_is_removed() {
    let Some(subtree) = Subtree::delegated() else { return };
    let left = subtree.0.join("hero-jobs-left");
    fs::create_dir(&left).unwrap();
    let mut forgotten = std::process::Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    fs::write(left.join("cgroup.procs"), forgotten.id().to_string()).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut server = subtree.serving(&home.path().join("data")).until_ready().await;
    assert!(forgotten.wait().unwrap().code().is_none() && !left.exists());

    assert!(processes(&subtree.0).is_empty() && processes(&subtree.0.join("hero-server")).contains(&server.pid().to_string()));
    let groups = subtree.groups();
    assert_eq!(groups.len(), 1, "{groups:?}");
    let leaves = JobSpec { script_type: "bash".parse().unwrap(), ..spec("setsid sleep 1000 & echo $BASHPID") };
    server.client().await.run_and_wait(&leaves, PATIENCE).await.unwrap();
    let command = |pid: &String| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    until("the job has left nothing", || async { (!processes(&groups[0]).iter().any(|pid| command(pid).contains("1000"))).then_some(()) })
        .await;
    let log = server.log();
    let confined = log.lines().find(|line| line.contains("engines are confined") && line.contains("bash")).unwrap();
    // A hybrid layout has no controllers in this hierarchy.
    let limited = ["memory", "processes"].map(|what| [":cgroup", ":counted"].map(|by| confined.contains(&format!("{what}{by}"))));
    let offered = fs::read_to_string(subtree.0.join("cgroup.controllers")).unwrap();
    let expected = ["memory", "pids"].map(|name| offered.split_whitespace().any(|offered| offered == name)).map(|has| [has, !has]);
    assert!(confined.contains("end:cgroup") && limited == expected, "{confined}");

    // A supervisor that is killed takes all of its group with it, and the next one has another group.
    server.supervisors().first().unwrap().kill();
    until("another group", || async { (!groups[0].exists() && subtree.groups().len() == 1).then_some(()) }).await;
    server.kill().await;
    // Those that lose their server end, and their groups stay until somebody starts.
    let server = subtree.serving(&home.path().join("data")).until_ready().await;
    assert_eq!(subtree.groups().len(), 1);
    server.stop().await;
    assert_eq!(subtree.groups(), Vec::<PathBuf>::new());
}

#[test]
fn a_check_says_that_only_a_start_tries_groups_and_where_and_makes_none() {
    let Some(subtree) = Subtree::delegated() else { return };
    let home = tempfile::tempdir().unwrap();
    let mut check = std::process::Command::new("/bin/sh");
    check.args(["-c", "echo 0 > \"$0/cgroup.procs\" && exec \"$@\""]).arg(&subtree.0).arg(hero());
    check.args(["serve", "--check", "--listen", "127.0.0.1:0", "--pool", "osis=1", "--data"]).arg(home.path().join("data"));
    let ended = check.env("HOME", home.path()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    let says = format!("control groups: only a start tries them; one from here makes them in {}", subtree.0.display());
    assert!(ended.status.success() && out.contains(&says), "{out}{err}");
    assert!(!subtree.0.join("hero-server").exists() && subtree.groups().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_was_not_delegated_to_root_is_left_alone() {
    let Some(subtree) = Subtree::new().filter(|_| rustix::process::geteuid().is_root()) else { return };
    let home = tempfile::tempdir().unwrap();
    let server = subtree.serving(&home.path().join("data")).until_ready().await;
    assert!(processes(&subtree.0).contains(&server.pid().to_string()) && subtree.groups().is_empty());
    let log = server.stop().await;
    assert!(log.contains("was not delegated") && log.contains("memory:counted,processes:counted"), "{log}");
}
