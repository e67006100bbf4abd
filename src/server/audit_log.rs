//! Opens the audit log of a server or of actors, according to the settings.

use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::key_file::KeyFile;
use super::private_file::ensure_writable;
use super::settings::Settings;
use crate::audit::{Audit, AuditKey, Settings as AuditSettings};

/// The name of the key file in the data directory.
pub(crate) const KEY: &str = "audit.key";

/// The name of the file in the data directory that records where a log was begun. It distinguishes a log that was
/// removed from one that never existed.
const BEGUN: &str = "audit.begun";

/// Describes the key file.
pub(crate) const fn key_file(path: &Path) -> KeyFile<'_> {
    KeyFile { path, setting: "audit_key_file", of: "an audit log" }
}

/// Returns the path of the key file.
fn key_path(settings: &Settings) -> PathBuf {
    settings.audit_key_file.clone().unwrap_or_else(|| settings.data.join(KEY))
}

/// Checks that the log can be opened, without changing anything.
pub(crate) fn look(settings: &Settings) -> anyhow::Result<()> {
    key_file(&key_path(settings)).look::<AuditKey>()?;
    ensure_writable("audit_dir", &settings.audit_dir)
}

/// Opens the log, if it is enabled.
pub(crate) fn open(settings: &Settings) -> anyhow::Result<Audit> {
    if !settings.audit {
        return Ok(Audit::default());
    }
    let key = key_file(&key_path(settings)).read_or_make(|| {
        let key = AuditKey::random();
        let text = key.to_text();
        (key, text)
    })?;
    let (file_bytes, quota, directory) = (settings.audit_file_size, settings.audit_quota, settings.audit_dir.clone());
    let mark = settings.data.join(BEGUN);
    let mut place = std::path::absolute(&directory).context("audit_dir")?.into_os_string();
    place.push("\n");
    let begun = std::fs::read(&mark).is_ok_and(|there| there == place.as_bytes());
    let audit = Audit::open(AuditSettings { directory, key, file_bytes, quota, begun })?;
    if !begun {
        let noted =
            DirBuilder::new().recursive(true).mode(0o700).create(&settings.data).and_then(|()| std::fs::write(&mark, place.as_bytes()));
        noted.with_context(|| format!("{} cannot be written", mark.display()))?;
    }
    Ok(audit)
}
