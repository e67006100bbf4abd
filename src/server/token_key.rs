//! The key that hashes the secrets of tokens.

use std::path::{Path, PathBuf};

use super::key_file::KeyFile;
use super::settings::Settings;
use crate::access::TokenKey;

/// The name of the file in the data directory.
const NAME: &str = "token.key";

/// Returns the path of the key file.
pub(crate) fn path(settings: &Settings) -> PathBuf {
    settings.token_key_file.clone().unwrap_or_else(|| settings.data.join(NAME))
}

/// Describes the key file.
pub(crate) const fn key_file(path: &Path) -> KeyFile<'_> {
    KeyFile { path, setting: "token_key_file", of: "tokens" }
}

/// Reads the key, or makes one if there is none.
pub(crate) fn read(settings: &Settings) -> anyhow::Result<TokenKey> {
    key_file(&path(settings)).read_or_make(|| {
        let key = TokenKey::random();
        let text = key.to_text();
        (key, text)
    })
}
