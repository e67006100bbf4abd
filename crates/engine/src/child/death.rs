use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::Child;
use crate::command::too_much_memory;
use crate::directory::Directory;
use crate::{Died, Meter};
use hero_model::JobError;
use hero_process::cgroup::Group;
use hero_process::tree;

/// Timeout for the end of a killed engine and the rest of its error output.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for an engine that has closed its socket to end by itself, and then for its error output.
const CLOSED_SOCKET_TIMEOUT: Duration = Duration::from_millis(100);

impl Child {
    /// Its processor time, which remains after it has ended.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Kills it and waits for its end.
    pub(super) async fn kill(&mut self) -> Option<ExitStatus> {
        self.idle = false;
        let mut process = self.process.take()?;
        self.meter.end();
        let pid = process.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let is_ended = self.group.as_ref().zip(pid).is_some_and(|(group, pid)| end_group(group, pid));
        match pid.filter(|_| self.directory.is_some() && !is_ended) {
            // Without a group, or if it could not join its group, the processes of its jobs are only found below it.
            Some(pid) => drop(tokio::task::spawn_blocking(move || tree::end_with(pid, END_TIMEOUT)).await),
            None => drop(process.start_kill()),
        }
        match timeout(END_TIMEOUT, process.wait()).await {
            Ok(status) => status.ok(),
            Err(_) => {
                self.spawner.kill(process);
                None
            }
        }
    }

    /// Describes how it died, with the last line of its error output.
    pub(super) async fn died(&mut self) -> Died {
        let stderr = self.process.as_mut().and_then(|process| process.stderr.take());
        // Its end of the socket is closed, so it has ended or is ending. It is killed only if it does not end, so that
        // its exit status shows the cause.
        self.meter.end();
        let waited = match self.process.as_mut() {
            Some(process) => timeout(CLOSED_SOCKET_TIMEOUT, process.wait()).await.ok().and_then(Result::ok),
            None => None,
        };
        let status = match waited {
            Some(status) => {
                self.process = None;
                Some(status)
            }
            None => self.kill().await,
        };
        self.idle = false;
        let mut text = Vec::new();
        if let Some(stderr) = stderr {
            let _ = timeout(CLOSED_SOCKET_TIMEOUT, stderr.take(64 << 10).read_to_end(&mut text)).await;
        }
        let text = String::from_utf8_lossy(&text);
        let how = status.map_or_else(|| "engine did not end".to_owned(), describe);
        match text.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with("note: ")) {
            Some(line) => Died::new(format_args!("{how}: {}", line.trim().chars().take(300).collect::<String>())),
            None => Died::new(how),
        }
    }

    /// The error of a job that the system killed together with its engine, because the group had no memory left.
    pub(super) fn memory_exceeded(&self) -> Option<JobError> {
        self.group.as_ref().filter(|group| group.is_out_of_memory()).map(|group| too_much_memory(group.memory()))
    }

    /// Kills an engine that violates the protocol.
    pub(super) async fn broke(&mut self, what: &str) -> Died {
        self.kill().await;
        Died::new(format_args!("engine was killed: {what}"))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.meter.end();
        let group = self.group.take();
        match (self.process.take(), self.directory.take()) {
            (Some(process), None) => self.spawner.kill(process),
            // It ends when the socket is closed, which is right after this, and ends everything that it started.
            (Some(process), Some(directory)) => self.spawner.end(process, END_TIMEOUT, move || clear(group, directory)),
            (None, Some(directory)) => self.spawner.later(move || clear(group, directory)),
            (None, None) => {}
        }
    }
}

/// Kills everything in a group. Returns whether this process was in it, and so everything that it has started.
fn end_group(group: &Group, pid: Pid) -> bool {
    // A killed process is in no group any more.
    let is_in_it = group.holds(pid);
    match group.kill() {
        Ok(()) => is_in_it,
        Err(error) => {
            tracing::warn!(group = %group.path().display(), %error, "a control group cannot be ended as a whole; its processes are looked for");
            false
        }
    }
}

/// Removes everything that a supervisor left behind, first the processes in its group.
fn clear(group: Option<Group>, directory: Directory) {
    if let Some(group) = group {
        group.remove();
    }
    directory.remove();
}

fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("engine was ended by signal {signal}{}", signal_name(signal)),
        (None, Some(code)) => format!("engine exited with code {code}"),
        (None, None) => "engine ended".to_owned(),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        6 => " (abort)",
        9 => " (kill)",
        11 => " (segmentation fault)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::frame::{self, FromEngine};
    use crate::{Command, EngineSettings, Program};
    use hero_process::Spawner;
    use hero_process::cgroup::Groups;

    /// It is in no PID namespace either, whose end would end its processes.
    #[tokio::test]
    async fn what_a_supervisor_has_started_ends_with_it_though_it_could_not_join_its_group() {
        let (base, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut ready = Vec::new();
        frame::encode(&FromEngine::Ready { pid: 1, confinement: String::new() }, &mut ready).unwrap();
        fs::write(directory.path().join("ready"), ready).unwrap();
        let (at, hero) = (directory.path().display(), directory.path().join("hero"));
        fs::write(&hero, format!("#!/bin/sh\nsleep 60 &\necho $! > {at}/left\ncat {at}/ready >&0\nwait\n")).unwrap();
        fs::set_permissions(&hero, fs::Permissions::from_mode(0o755)).unwrap();
        let command = Command { command: vec!["/bin/true".into()], file: "script".into(), readable: Vec::new(), memory: 1 << 20 };
        let settings = EngineSettings { program: Program::Command(command), ..EngineSettings::new(hero) };
        let spawner = Spawner::start().unwrap().with_groups(Some(Groups::at(base.path())));
        let mut child = Child::start(&spawner, &settings).await.unwrap();
        assert!(child.group.is_some());
        let left = fs::read_to_string(directory.path().join("left")).unwrap();
        child.kill().await;
        let stat = fs::read_to_string(format!("/proc/{}/stat", left.trim())).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }
}
