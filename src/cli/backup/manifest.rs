//! The list of what a copy has, with the hash of each file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::model::{Timestamp, hex};

/// The file with it.
pub(super) const NAME: &str = "backup.json";

/// What a copy has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The version of hero that made it.
    version: String,
    /// When.
    made_at: Timestamp,
    /// Each file by its path below the copy, in which bytes that are no UTF-8 are written as `\xNN`.
    pub(super) files: BTreeMap<String, Entry>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    bytes: u64,
    sha256: String,
}

impl Manifest {
    /// What is in a directory now.
    pub(super) fn of(directory: &Path) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        add(directory, directory, &mut files)?;
        Ok(Self { version: env!("CARGO_PKG_VERSION").to_owned(), made_at: Timestamp::local(), files })
    }

    pub(super) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        Ok(std::fs::write(directory.join(NAME), serde_json::to_vec_pretty(self)?)?)
    }

    /// The list that is in a copy.
    pub(super) fn read(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(NAME);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("{} is no copy that `hero backup` made, or not a whole one: it has no {NAME}", directory.display())
            }
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
        };
        serde_json::from_str(&text).with_context(|| format!("{} is spoilt", path.display()))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(|entry| entry.bytes).sum()
    }

    /// How what is there differs from this, in words.
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

fn add(root: &Path, directory: &Path, files: &mut BTreeMap<String, Entry>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let below = path.strip_prefix(root).unwrap_or(&path);
        if kind.is_dir() {
            add(root, &path, files)?;
        } else if below != Path::new(NAME) {
            let read = if kind.is_symlink() { of_link(&path) } else { of_file(&path) };
            files.insert(named(below), read.with_context(|| path.display().to_string())?);
        }
    }
    Ok(())
}

fn of_file(path: &Path) -> io::Result<Entry> {
    let (mut file, mut hash, mut bytes, mut piece) = (File::open(path)?, Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(Entry { bytes, sha256: hex(&hash.finalize()) });
        }
        bytes += read as u64;
        hash.update(&piece[..read]);
    }
}

/// A link is what it says.
fn of_link(path: &Path) -> io::Result<Entry> {
    let target = std::fs::read_link(path)?;
    let target = target.as_os_str().as_bytes();
    Ok(Entry { bytes: target.len() as u64, sha256: hex(&Sha256::digest([b"link:", target].concat())) })
}

fn named(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        name.push_str(&chunk.valid().replace('\\', "\\\\"));
        name.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    name
}
