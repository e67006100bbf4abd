use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use hero::client::Client;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::{PATIENCE, hero, until};

/// The number of last lines that are kept.
const KEPT_LINES: usize = 2000;

/// A `hero` that runs as a separate process and is killed with its test.
pub struct Process {
    child: Child,
    pid: u32,
    out: Lines,
    err: Lines,
}

/// The library that shows a process another time than that of the machine.
pub fn faketime() -> PathBuf {
    let found = std::fs::read_dir("/usr/lib").unwrap().filter_map(|entry| Some(entry.ok()?.path().join("faketime/libfaketimeMT.so.1")));
    found.into_iter().find(|path| path.exists()).expect("faketime is installed (make setup)")
}

/// The output of a process, line by line.
type Lines = Arc<Mutex<VecDeque<String>>>;

impl Process {
    /// Starts `hero serve` on a free port, and waits until it is ready.
    pub async fn serve(data: &Path, arguments: &[&str]) -> Self {
        Self::serving(data, arguments).until_ready().await
    }

    /// Starts `hero serve` on a free port, without waiting.
    pub fn serving(data: &Path, arguments: &[&str]) -> Self {
        let mut all: Vec<&OsStr> = vec!["serve".as_ref(), "--listen".as_ref(), "127.0.0.1:0".as_ref(), "--data".as_ref(), data.as_os_str()];
        all.extend(arguments.iter().map(OsStr::new));
        Self::start(&all)
    }

    /// Starts the program with these arguments and no settings in its environment.
    pub fn start(arguments: &[impl AsRef<OsStr>]) -> Self {
        Self::start_with(arguments, |_| {})
    }

    /// Starts the same program, after a change to its command.
    pub fn start_with(arguments: &[impl AsRef<OsStr>], change: impl FnOnce(&mut Command)) -> Self {
        Self::of(&hero(), arguments, change)
    }

    /// Starts a program that replaces itself with `hero`.
    pub fn of(program: &Path, arguments: &[impl AsRef<OsStr>], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/nonexistent");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let (out, err) = (read(child.stdout.take().unwrap()), read(child.stderr.take().unwrap()));
        Self { pid: child.id().unwrap(), child, out, err }
    }

    /// Waits for the line that says that it serves.
    pub async fn until_ready(mut self) -> Self {
        assert!(self.becomes_ready().await, "the process ended instead: {}", self.log());
        self
    }

    /// Waits until it is ready. Returns false if it ended instead.
    pub async fn becomes_ready(&mut self) -> bool {
        let (out, child) = (&self.out, &mut self.child);
        let ready = until("the ready line", || async { said(out).iter().any(|line| line.contains(" ready ")).then_some(()) });
        tokio::select! {
            () = ready => true,
            _ = child.wait() => false,
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its output on stdout.
    pub fn out(&self) -> Vec<String> {
        said(&self.out)
    }

    /// Its log.
    pub fn log(&self) -> String {
        said(&self.err).join("\n")
    }

    /// The address in its ready line.
    pub fn url(&self) -> String {
        let line = self.out().into_iter().next().expect("a ready line");
        line.split_once(" ready on ").and_then(|(_, rest)| rest.split_whitespace().next()).expect("an address").to_owned()
    }

    pub async fn client(&self) -> Client {
        Client::connect(&self.url(), None).await.unwrap()
    }

    /// GETs a path. Returns the status and body.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let address = self.url().strip_prefix("ws://").unwrap().to_owned();
        let asking = async {
            let mut tcp = TcpStream::connect(&address).await.unwrap();
            tcp.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
            let mut answer = String::new();
            tcp.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let answer = tokio::time::timeout(PATIENCE, asking).await.expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no HTTP: {answer}"));
        (head[9..12].parse().unwrap(), body.to_owned())
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid.cast_signed()).unwrap(), signal).unwrap();
    }

    /// Kills it with SIGKILL, and waits for its end.
    pub async fn kill(&mut self) {
        self.child.start_kill().unwrap();
        assert_eq!(self.ended().await.signal(), Some(9));
    }

    /// Waits for its end, and returns its exit status.
    pub async fn ended(&mut self) -> ExitStatus {
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(status) => status.unwrap(),
            Err(_) => panic!("the process does not end: {}", self.log()),
        }
    }

    /// Returns its exit code and its whole log.
    pub async fn failure(&mut self) -> (Option<i32>, String) {
        let code = self.ended().await.code();
        until("the end of its log", || async { (Arc::strong_count(&self.err) == 1).then_some(()) }).await;
        (code, self.log())
    }

    /// Sends SIGTERM, and waits for a successful end.
    pub async fn stop(mut self) -> String {
        self.terminate();
        let (code, log) = self.failure().await;
        assert_eq!(code, Some(0), "{log}");
        log
    }

    /// Its child processes: engines and Redis.
    pub fn children(&self) -> Vec<Kin> {
        Kin::all().into_iter().filter(|kin| kin.parent == self.pid).collect()
    }

    /// Its engines.
    pub fn engines(&self) -> Vec<Kin> {
        self.children().into_iter().filter(|kin| kin.command().ends_with("\0engine\0")).collect()
    }

    /// Its engines whose jobs are processes. An engine that is the first of a PID namespace counts twice: another
    /// process waits for it outside.
    pub fn supervisors(&self) -> Vec<Kin> {
        let is_one = |kin: &Kin| kin.command().ends_with("\0supervisor\0");
        let outside: Vec<Kin> = self.children().into_iter().filter(is_one).collect();
        let inside = below(outside.iter().map(|kin| kin.pid).collect()).into_iter().filter(is_one);
        inside.chain(outside).collect()
    }

    /// The processes below its engines whose jobs are processes, and those that these have left behind.
    pub fn below_engines(&self) -> Vec<Kin> {
        below(self.supervisors().iter().map(|kin| kin.pid).collect())
    }

    /// All its descendants.
    pub fn descendants(&self) -> Vec<Kin> {
        below(vec![self.pid])
    }

    /// Its private Redis.
    pub fn redis(&self) -> Option<Kin> {
        self.children().into_iter().find(|kin| kin.name.starts_with("redis-server") || kin.name.starts_with("valkey-server"))
    }
}

/// The descendants of these processes.
fn below(mut parents: Vec<u32>) -> Vec<Kin> {
    let (all, mut found) = (Kin::all(), Vec::new());
    while let Some(parent) = parents.pop() {
        let children: Vec<Kin> = all.iter().filter(|kin| kin.parent == parent).cloned().collect();
        parents.extend(children.iter().map(|kin| kin.pid));
        found.extend(children);
    }
    found
}

/// Collects lines until the end, then drops its handle to them.
fn read(from: impl AsyncRead + Unpin + Send + 'static) -> Lines {
    let lines = Lines::default();
    let kept = lines.clone();
    tokio::spawn(async move {
        let mut from = BufReader::new(from).lines();
        while let Ok(Some(line)) = from.next_line().await {
            let mut kept = kept.lock().unwrap();
            if kept.len() == KEPT_LINES {
                kept.pop_front();
            }
            kept.push_back(line);
        }
    });
    lines
}

fn said(lines: &Lines) -> Vec<String> {
    lines.lock().unwrap().iter().cloned().collect()
}

/// A process from /proc. Its start time distinguishes it from a later process with the same number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kin {
    pub pid: u32,
    pub name: String,
    parent: u32,
    started: u64,
}

impl Kin {
    fn all() -> Vec<Self> {
        let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter_map(Self::read).collect()
    }

    /// Returns none for a process that has ended, even if it is still a zombie.
    pub fn read(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (start, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ended = matches!(*fields.first()?, "Z" | "X");
        let name = start.split_once('(')?.1.to_owned();
        (!ended).then_some(Self { pid, name, parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
    }

    pub fn lives(&self) -> bool {
        Self::read(self.pid).is_some_and(|now| now.started == self.started)
    }

    /// Its arguments, each followed by a zero byte.
    pub fn command(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default()).into_owned()
    }

    pub fn environment(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default()).into_owned()
    }

    /// Kills it with SIGKILL, unless it has ended.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Stops it, as if the machine had no time for it.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    fn signal(&self, signal: Signal) {
        if self.lives() {
            let _ = kill_process(Pid::from_raw(self.pid.cast_signed()).unwrap(), signal);
        }
    }

    /// Waits until all have ended.
    pub async fn all_gone(kin: &[Self]) {
        for one in kin {
            until(&format!("the end of {one:?}"), || async { (!one.lives()).then_some(()) }).await;
        }
    }
}
