//! Runs each guide from its first line to its last: writes the files, runs the commands, and compares their output with
//! the guide. A block whose first line is a comment with a file name is that file. A block of the language `console` is
//! typed: `$` starts a command, and its output follows, where `…` matches anything. A block marked `before` belongs to
//! another system; only its syntax is checked.

use std::os::unix::fs::symlink;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::*;
use crate::support::{Process, Redis, free_ports, hero};

/// The marker that the shell prints when a command has ended, with its exit code.
const END: &str = "-- ended with";

/// A code block: the text after the fence, and its lines.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let (mut found, mut open) = (Vec::new(), None::<(&str, Vec<&str>)>);
    for line in text.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => found.push(block),
            (Some(language), None) => open = Some((language, Vec::new())),
            (None, Some((language, mut lines))) => {
                lines.push(line);
                open = Some((language, lines));
            }
            (None, None) => {}
        }
    }
    found
}

/// Everything that a shell has started, which ends with it.
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

/// Somebody who follows a guide in a directory of their own, with a Redis of their own.
struct Reader {
    directory: tempfile::TempDir,
    redis: Redis,
    port: u16,
    server: Option<Process>,
    _shell: Child,
    group: Group,
    keyboard: ChildStdin,
    screen: Lines<BufReader<ChildStdout>>,
}

impl Reader {
    async fn sits_down() -> Self {
        let directory = tempfile::tempdir().unwrap();
        super::typescript::install(directory.path()).await;
        symlink(modules().join("ioredis"), directory.path().join("node_modules/ioredis")).unwrap();
        let [port, ..] = free_ports();
        let redis = Redis::with(&["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--port", &port.to_string()]).await;
        let python = super::python::program("python").as_std().get_program().to_owned();
        let bins = [hero().parent().unwrap().to_owned(), Path::new(&python).parent().unwrap().to_owned()];
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(bins.into_iter().chain(std::env::split_paths(&usual))).unwrap();
        let errors = std::fs::File::create(directory.path().join("stderr")).unwrap();
        let mut command = bare("bash");
        command.env("PATH", path).env("HOME", directory.path()).current_dir(directory.path()).process_group(0);
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let group = Group(Pid::from_raw(shell.id().unwrap().cast_signed()).unwrap());
        let (keyboard, screen) = (shell.stdin.take().unwrap(), BufReader::new(shell.stdout.take().unwrap()).lines());
        let mut reader = Self { directory, redis, port, server: None, _shell: shell, group, keyboard, screen };
        let everywhere = format!("redis-cli() {{ command redis-cli -p {port} \"$@\"; }}; export -f redis-cli");
        reader.types(&everywhere).await;
        reader
    }

    /// A text with the addresses that are here in place of the usual ones.
    fn here(&self, text: &str) -> String {
        let text = text.replace("redis://127.0.0.1:6379", &format!("redis://127.0.0.1:{}", self.port));
        self.server.as_ref().map_or(text.clone(), |server| text.replace("ws://127.0.0.1:8700", &server.url()))
    }

    /// Types a command and returns its output.
    async fn types(&mut self, command: &str) -> String {
        // Commands that stay in the background print nothing here.
        let command = command.strip_suffix('&').map_or(command.to_owned(), |command| format!("{command}> background 2>&1 &"));
        let typed = format!("{{ {command}\n}} < /dev/null\nprintf '\\n{END} %s\\n' \"$?\"\n");
        self.keyboard.write_all(typed.as_bytes()).await.unwrap();
        let mut printed = Vec::new();
        loop {
            let line = tokio::time::timeout(PROGRAM_TIMEOUT, self.screen.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("{command} does not end; {}", self.errors())).unwrap();
            let line = line.unwrap_or_else(|| panic!("{command} ended the shell; {}", self.errors()));
            if let Some(code) = line.strip_prefix(END) {
                assert_eq!(code.trim(), "0", "{command} printed {printed:?}; {}", self.errors());
                return printed.join("\n").trim().to_owned();
            }
            printed.push(line);
        }
    }

    fn errors(&self) -> String {
        ["stderr", "background"].map(|file| std::fs::read_to_string(self.directory.path().join(file)).unwrap_or_default()).join("\n")
    }

    /// Starts the server of a guide, whose data and address are its own here.
    async fn serves(&mut self, arguments: &str) {
        let arguments = self.here(arguments);
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let server = Process::serve(&self.directory.path().join("data"), &arguments).await;
        self.server = Some(server);
        let export = format!("export HERO_SERVER={}", self.server.as_ref().unwrap().url());
        self.types(&export).await;
    }

    async fn reads(&mut self, guide: &str) {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides").join(guide)).unwrap();
        let mut typed = 0;
        for (language, lines) in blocks(&text) {
            match language {
                "console" => typed += self.follows(&lines).await,
                "js before" => self.parses("node --check before.mjs", "before.mjs", &lines).await,
                "python before" => self.parses("python -m py_compile before.py", "before.py", &lines).await,
                _ => self.writes(language, &lines),
            }
        }
        assert!(typed >= 5, "{guide} has {typed} commands");
    }

    async fn parses(&mut self, check: &str, file: &str, lines: &[&str]) {
        std::fs::write(self.directory.path().join(file), lines.join("\n")).unwrap();
        self.types(check).await;
    }

    fn writes(&self, language: &str, lines: &[&str]) {
        let name = lines[0].trim_start_matches(['#', '/', ' ']);
        assert!(name.contains('.') && !name.contains([' ', '/']), "a block of {language} names no file: {lines:?}");
        std::fs::write(self.directory.path().join(name), self.here(&lines.join("\n"))).unwrap();
    }

    /// Types the text after each `$`, and compares the output. Returns the number of commands.
    async fn follows(&mut self, lines: &[&str]) -> usize {
        let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in lines {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command, Vec::new())),
                (None, Some((_, printed))) => printed.push(line),
                (None, None) => panic!("{line} stands before a command"),
            }
        }
        for (command, expected) in &commands {
            if let Some(arguments) = command.strip_prefix("hero serve") {
                self.serves(arguments).await;
                continue;
            }
            let command = self.here(command);
            let printed = self.types(&command).await;
            if expected[..] != ["…"] {
                assert_eq!(printed, expected.join("\n"), "what `{command}` prints; {}", self.errors());
            }
        }
        commands.len()
    }

    async fn gets_up(self) {
        drop(self.group);
        self.server.unwrap().stop().await;
        drop(self.redis);
    }
}

async fn works(guide: &str) {
    let mut reader = Reader::sits_down().await;
    reader.reads(guide).await;
    reader.gets_up().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_from_zero_to_a_flow_works_as_printed() {
    works("zero-to-a-flow.md").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_to_an_actor_in_another_language_works_as_printed() {
    works("an-actor-in-another-language.md").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_from_bullmq_works_as_printed() {
    works("moving-from-bullmq.md").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_from_celery_works_as_printed() {
    works("moving-from-celery.md").await;
}

#[test]
fn every_guide_is_followed() {
    let here = include_str!("guides.rs");
    for guide in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides")).unwrap() {
        let name = guide.unwrap().file_name().into_string().unwrap();
        assert!(here.contains(&format!("works(\"{name}\")")), "{name} is run by no test");
    }
}
