//! The audit log of a server or of actors, as the settings want it.

use std::path::Path;

use super::key_file::KeyFile;
use super::settings::Settings;
use crate::audit::{Audit, AuditKey, Settings as Place};

/// The name of the key's file in the data directory.
pub(super) const KEY: &str = "audit.key";

/// The file with the key.
pub(super) const fn key_file(path: &Path) -> KeyFile<'_> {
    KeyFile { path, setting: "audit_key_file", of: "an audit log" }
}

/// Opens the log, if the settings want one.
pub(super) fn open(settings: &Settings) -> anyhow::Result<Audit> {
    if !settings.audit {
        return Ok(Audit::default());
    }
    let path = settings.audit_key_file.clone().unwrap_or_else(|| settings.data.join(KEY));
    let key = key_file(&path).read_or_make(|| {
        let key = AuditKey::random();
        let text = key.to_text();
        (key, text)
    })?;
    let (file_bytes, quota) = (settings.audit_file_size, settings.audit_quota);
    Ok(Audit::open(Place { directory: settings.audit_dir.clone(), key, file_bytes, quota })?)
}
