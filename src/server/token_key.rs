//! The key with which the secrets of tokens are hashed.

use std::path::{Path, PathBuf};

use super::key_file::KeyFile;
use super::settings::Settings;
use crate::access::TokenKey;

/// The name of the file in the data directory.
const NAME: &str = "token.key";

/// Where it is.
pub(crate) fn path(settings: &Settings) -> PathBuf {
    settings.token_key_file.clone().unwrap_or_else(|| settings.data.join(NAME))
}

/// The file with it.
pub(crate) const fn key_file(path: &Path) -> KeyFile<'_> {
    KeyFile { path, setting: "token_key_file", of: "tokens" }
}

/// Reads the key, or makes it where there is none.
pub(crate) fn read(settings: &Settings) -> anyhow::Result<TokenKey> {
    key_file(&path(settings)).read_or_make(|| {
        let key = TokenKey::random();
        let text = key.to_text();
        (key, text)
    })
}
