//! The key with which the secrets of tokens are hashed.

use super::key_file::KeyFile;
use super::settings::Settings;
use crate::access::TokenKey;

/// The name of the file in the data directory.
const NAME: &str = "token.key";

/// Reads the key, or makes it where there is none.
pub(super) fn read(settings: &Settings) -> anyhow::Result<TokenKey> {
    let path = settings.token_key_file.clone().unwrap_or_else(|| settings.data.join(NAME));
    KeyFile { path: &path, setting: "token_key_file", of: "tokens" }.read_or_make(|| {
        let key = TokenKey::random();
        let text = key.to_text();
        (key, text)
    })
}
