//! `hero audit …`: reads and verifies the files of the audit log. Needs no server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};

use super::global::{Global, data_directory};
use super::output::{self, Line, Style};
use crate::audit::read::{Tail, Written};
use crate::audit::{AuditKey, Entry, Report, verify};
use crate::cli::output::table::{Fit, Table, cells};
use crate::exit::{Exit, Usage};
use crate::server::audit_log::{KEY, key_file};

/// Interval at which the files are checked for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Commands of the audit log.
#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Show the last records: who did what, and the outcome
    Tail(TailCommand),
    /// Verify that no record was removed, changed or moved, and show where one was
    #[command(after_help = "Exit codes: 0 the log is unchanged, 1 it was changed, or cannot be verified.

Anybody with the key can forge a log that passes. So note the last record elsewhere from time to time, as this command prints it, and pass it with --expect later.")]
    Verify(Verify),
}

/// The location of a log.
#[derive(Debug, Args)]
struct LogLocation {
    /// The directory of the log [default: HERO_AUDIT_DIR, else audit in the data directory]
    #[arg(value_name = "DIR", conflicts_with = "data")]
    directory: Option<PathBuf>,
    /// The data directory of the server, with the log in audit
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct TailCommand {
    #[command(flatten)]
    location: LogLocation,
    /// Number of records to show
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
    count: usize,
    /// Keep running and show new records
    #[arg(long, short)]
    follow: bool,
    /// Only records of callers whose name contains this text, such as identity:4, operator or anonymous
    #[arg(long, value_name = "TEXT")]
    who: Option<String>,
    /// Only records of this method, or of execute, spawn, fire or login
    #[arg(long, value_name = "NAME")]
    what: Option<String>,
    /// Only records of this context
    #[arg(long, value_name = "N")]
    context: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    #[command(flatten)]
    location: LogLocation,
    /// The file with the key [default: HERO_AUDIT_KEY_FILE, else audit.key next to the directory, or in the data
    /// directory]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The number and hash of a record that you noted earlier
    #[arg(long, value_name = "SEQ:HASH", value_parser = noted)]
    expect: Option<(u64, String)>,
}

/// Parses the number and hash of a noted record.
fn noted(text: &str) -> Result<(u64, String), String> {
    let wrong = || "the number of a record, a colon, and its 64 hexadecimal digits, as hero audit verify prints them".to_owned();
    let (seq, hash) = text.split_once(':').ok_or_else(wrong)?;
    let hash = hash.to_ascii_lowercase();
    match seq.parse() {
        Ok(seq) if crate::model::unhex::<32>(&hash).is_some() => Ok((seq, hash)),
        _ => Err(wrong()),
    }
}

impl LogLocation {
    fn directory(&self) -> anyhow::Result<PathBuf> {
        let given = || std::env::var_os("HERO_AUDIT_DIR").filter(|given| !given.is_empty()).map(PathBuf::from);
        let named = self.directory.clone().or_else(|| Some(self.data.as_ref()?.join("audit")));
        let found = named.or_else(given).or_else(|| Some(data_directory()?.join("audit")));
        found.ok_or_else(|| anyhow!("there is no home directory to look in; name the directory of the log"))
    }
}

impl AuditCommand {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        match self {
            Self::Tail(tail) => tail.main(global.json).await,
            Self::Verify(verify) => verify.main(global.json),
        }
    }
}

impl TailCommand {
    async fn main(&self, json: bool) -> anyhow::Result<Exit> {
        let (records, mut tail) = Tail::open(&self.location.directory()?, self.count, |entry| self.wants(entry))?;
        if json {
            records.iter().try_for_each(show_json)?;
        } else if !records.is_empty() {
            table(&records)?;
        } else if !self.follow {
            output::note("no such records");
        }
        if !self.follow {
            return Ok(Exit::Ok);
        }
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            for record in tail.look()?.iter().filter(|record| self.wants(&record.entry)) {
                if json { show_json(record)? } else { output::line(line(&record.entry))? }
            }
        }
    }

    fn wants(&self, entry: &Entry) -> bool {
        self.who.as_ref().is_none_or(|who| entry.who.contains(who))
            && self.what.as_ref().is_none_or(|what| entry.what == *what)
            && self.context.is_none_or(|context| entry.context.is_some_and(|there| there.0 == context))
    }
}

/// Prints a record exactly as in the file, so that it can still be verified. Escapes terminal control characters in
/// lines that are not our records.
fn show_json(record: &Written) -> anyhow::Result<()> {
    output::document(&(output::escaped(record.line.clone()) + "\n"))
}

const HEAD: [(&str, Fit); 8] = [
    ("SEQ", Fit::Spare(3)),
    ("TIME", Fit::Keep),
    ("WHO", Fit::Cut),
    ("FROM", Fit::Spare(5)),
    ("WHAT", Fit::Keep),
    ("CONTEXT", Fit::Spare(4)),
    ("OUTCOME", Fit::Keep),
    ("OBJECT", Fit::Cut),
];

fn table(records: &[Written]) -> anyhow::Result<()> {
    let style = Style::stdout();
    let mut table = Table::new(style, &HEAD);
    for Written { entry, .. } in records {
        let dash = || "-".to_owned();
        table.row(cells![
            entry.seq.to_string(),
            entry.time.to_string(),
            entry.who.clone(),
            entry.peer.clone().unwrap_or_else(dash),
            entry.what.clone(),
            entry.context.map_or_else(dash, |context| context.to_string()),
            ending(style, entry),
            about(entry),
        ]);
    }
    table.print()
}

/// Formats a record on one line. A table is not possible because later column widths are unknown.
fn line(entry: &Entry) -> Line {
    let style = Style::stdout();
    style.dim(format!("{} ", entry.time))
        + &format!("{:<24} {:<16} ", entry.who, entry.what)
        + ending(style, entry)
        + &format!("  {}", about(entry))
}

fn about(entry: &Entry) -> String {
    let text = entry.object.clone().or_else(|| entry.note.clone()).unwrap_or_else(|| "-".to_owned());
    entry.caller.as_ref().map_or(text.clone(), |caller| format!("{text} of {caller}"))
}

fn ending(style: Style, entry: &Entry) -> Line {
    if entry.outcome == "ok" { Line::from(entry.ending()) } else { style.red(entry.ending()) }
}

impl Verify {
    fn main(&self, json: bool) -> anyhow::Result<Exit> {
        let directory = self.location.directory()?;
        let key = self.key(&directory)?;
        let report = verify(&directory, &key, self.expect.as_ref()).map_err(|error| match error {
            error @ crate::audit::Error::NoLog(_) => {
                anyhow!("{error}; the key of one is there, so if there was one, all its records are missing")
            }
            error => error.into(),
        })?;
        if json {
            output::json(&report)?
        } else {
            tell(&directory, &report)?
        }
        Ok(if report.faults.is_empty() { Exit::Ok } else { Exit::Other })
    }

    /// Reads the key: the named one, or the first that exists.
    fn key(&self, directory: &Path) -> anyhow::Result<AuditKey> {
        let named =
            self.key.clone().or_else(|| std::env::var_os("HERO_AUDIT_KEY_FILE").filter(|given| !given.is_empty()).map(PathBuf::from));
        let beside = std::path::absolute(directory).ok().and_then(|directory| Some(directory.parent()?.join(KEY)));
        let mut places: Vec<PathBuf> = match named {
            Some(named) => vec![named],
            None => beside.into_iter().chain(data_directory().map(|data| data.join(KEY))).collect(),
        };
        // By default the log is in the data directory.
        places.dedup();
        for path in &places {
            if let Some(key) = key_file(path).read()? {
                return Ok(key);
            }
        }
        let looked = places.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and ");
        let looked = format!("looked for it at {looked}; name it with --key");
        let is_named = self.key.is_some();
        Err(if is_named { anyhow!(Usage(looked)) } else { anyhow!(looked) })
            .context("the key of the audit log is not there, and nothing can be said without it")
    }
}

fn tell(directory: &Path, report: &Report) -> anyhow::Result<()> {
    let style = Style::stdout();
    for fault in &report.faults {
        let place = if fault.line > 0 { format!("{}:{}", fault.file, fault.line) } else { fault.file.clone() };
        let seq = fault.seq.map_or_else(String::new, |seq| format!(" (record {seq})"));
        output::line(style.red(format!("{place}{seq}: ")) + &fault.why)?;
    }
    if report.torn > 0 {
        output::note(format!(
            "{} bytes behind the last record are a line that is not finished: it is being written, or its server was killed",
            report.torn
        ));
    }
    if report.lost > 0 {
        output::note(format!(
            "{} records had no room while the log could not be written; see: hero audit tail --what audit_lost",
            report.lost
        ));
    }
    if report.first > 1 {
        output::note(format!("the log begins with record {}: older files were removed", report.first));
    }
    if report.faults.is_empty() {
        let all = format!("all {} records in {} are as they were written (files: {})", report.records, directory.display(), report.files);
        output::line(style.green(all))?;
    }
    output::line(format!("last {}:{}", report.last, report.hash))
}
