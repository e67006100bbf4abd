//! The list of a copy's files with their hashes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::copy::write;
use super::tree::{self, Found, MAX_DEPTH, may_be_link, named};
use crate::exit::Usage;
use crate::model::{Timestamp, hex};

/// The name of its file.
pub(super) const NAME: &str = "backup.json";

/// The contents of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The version of hero that made the copy.
    version: String,
    /// The time at which it was made.
    made_at: Timestamp,
    /// The files by their paths in the copy. Bytes that are not UTF-8 are written as `\xNN`.
    pub(super) files: BTreeMap<String, Entry>,
    /// Files and directories of scripts that could not be read.
    #[serde(default)]
    pub(super) left_out: Vec<String>,
}

/// A file or a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    bytes: u64,
    sha256: String,
}

impl Manifest {
    /// Lists the current contents of a directory.
    pub(super) fn of(directory: &Path) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        let opened = tree::directory(directory).with_context(|| format!("cannot open {}", directory.display()))?;
        add(&opened, Path::new(""), 0, &mut files)?;
        Ok(Self { version: env!("CARGO_PKG_VERSION").to_owned(), made_at: Timestamp::local(), files, left_out: Vec::new() })
    }

    pub(super) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        write(&directory.join(NAME), &serde_json::to_vec_pretty(self)?)
    }

    /// Reads the list in a copy.
    pub(super) fn read(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(NAME);
        let none = || format!("{} is no copy that `hero backup` made, or not a whole one: it has no {NAME}", directory.display());
        if !directory.exists() {
            bail!(Usage(format!("there is no directory {}", directory.display())));
        }
        let opened = tree::directory(directory).with_context(none)?;
        let Some((Found::File(mut file), _)) =
            tree::open(&opened, OsStr::new(NAME)).with_context(|| format!("{} cannot be read", path.display()))?
        else {
            bail!(none());
        };
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| format!("{} cannot be read", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is spoilt", path.display()))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(|entry| entry.bytes).sum()
    }

    /// Describes the first difference between the actual contents and this list.
    pub(super) fn differs(&self, there: &Self) -> Option<String> {
        let missing = self.files.keys().find(|path| !there.files.contains_key(*path)).map(|path| format!("{path} is missing"));
        let changed = || {
            let changed = self.files.iter().find(|(path, entry)| there.files.get(*path).is_some_and(|there| there != *entry));
            changed.map(|(path, _)| format!("{path} was changed"))
        };
        let added = || there.files.keys().find(|path| !self.files.contains_key(*path)).map(|path| format!("{path} was added"));
        missing.or_else(changed).or_else(added)
    }
}

fn add(directory: &File, above: &Path, depth: usize, files: &mut BTreeMap<String, Entry>) -> anyhow::Result<()> {
    if depth > MAX_DEPTH + 1 {
        bail!("{} is nested too deep", named(above));
    }
    for name in tree::names(directory).with_context(|| named(above))? {
        let below = above.join(&name);
        if below == Path::new(NAME) {
            continue;
        }
        let entry = match tree::open(directory, &name).with_context(|| format!("cannot read {}", named(&below)))? {
            Some((Found::Directory(inside), _)) => {
                add(&inside, &below, depth + 1, files)?;
                continue;
            }
            Some((Found::File(file), _)) => of_file(file).with_context(|| format!("cannot read {}", named(&below)))?,
            Some((Found::Link(target), _)) if may_be_link(&below) => of_link(target.as_bytes()),
            Some((Found::Link(_), _)) => bail!("{} is a link, and a copy has links in the directories of scripts only", named(&below)),
            Some((Found::Other, _)) | None => bail!("{} is no file, directory or link", named(&below)),
        };
        files.insert(named(&below), entry);
    }
    Ok(())
}

fn of_file(mut file: File) -> io::Result<Entry> {
    let (mut hash, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(Entry { bytes, sha256: hex(&hash.finalize()) });
        }
        bytes += read as u64;
        hash.update(&piece[..read]);
    }
}

/// A link is hashed by its target.
fn of_link(target: &[u8]) -> Entry {
    Entry { bytes: target.len() as u64, sha256: hex(&Sha256::digest([b"link:", target].concat())) }
}
