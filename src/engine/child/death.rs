use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::{Child, OBEY};
use crate::engine::command::too_much_memory;
use crate::engine::directory::Directory;
use crate::engine::{Died, Meter};
use crate::model::JobError;
use crate::process::cgroup::Group;
use crate::process::tree;

/// How long to wait for the end of a killed engine and the rest of its error output.
const END: Duration = Duration::from_secs(5);

impl Child {
    /// Its processor time, also when it has ended.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Kills it and waits for its end.
    pub(super) async fn kill(&mut self) -> Option<ExitStatus> {
        self.idle = false;
        let mut process = self.process.take()?;
        self.meter.end();
        if let Some(group) = &self.group {
            group.kill();
        }
        match process.id().and_then(|pid| Pid::from_raw(pid.cast_signed())).filter(|_| self.directory.is_some() && self.group.is_none()) {
            // What its jobs have started is found only below it.
            Some(pid) => drop(tokio::task::spawn_blocking(move || tree::end_with(pid, END)).await),
            None => drop(process.start_kill()),
        }
        match timeout(END, process.wait()).await {
            Ok(status) => status.ok(),
            Err(_) => {
                self.spawner.kill(process);
                None
            }
        }
    }

    /// Says how it died, with the last line of its error output.
    pub(super) async fn died(&mut self) -> Died {
        let stderr = self.process.as_mut().and_then(|process| process.stderr.take());
        // Its end of the socket is closed, so it has ended or is ending. It is killed only if it does not end, so that its exit
        // status tells what happened.
        self.meter.end();
        let waited = match self.process.as_mut() {
            Some(process) => timeout(OBEY, process.wait()).await.ok().and_then(Result::ok),
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
            let _ = timeout(OBEY, stderr.take(64 << 10).read_to_end(&mut text)).await;
        }
        let text = String::from_utf8_lossy(&text);
        let how = status.map_or_else(|| "engine did not end".to_owned(), describe);
        match text.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with("note: ")) {
            Some(line) => Died::new(format_args!("{how}: {}", line.trim().chars().take(300).collect::<String>())),
            None => Died::new(how),
        }
    }

    /// The error of a job that the system has ended with its engine, because all together had no memory left.
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
            // It ends when the socket is closed, which is right after this, and with it everything that it started.
            (Some(process), Some(directory)) => self.spawner.end(process, END, move || clear(group, directory)),
            (None, Some(directory)) => self.spawner.later(move || clear(group, directory)),
            (None, None) => {}
        }
    }
}

/// Removes what a supervisor has left, first whoever is still in it.
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
