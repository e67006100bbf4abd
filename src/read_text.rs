//! Reads texts from files and stdin.

use std::io::Read as _;
use std::path::Path;

use crate::exit::Usage;

/// The maximum number of bytes read of a script. The limit of the server is lower.
const MAX_SCRIPT: u64 = 16 << 20;

/// Reads a text from a file, or from stdin for `-`. A file that is missing or malformed is a wrong argument. `what` names the text in a word or two.
pub(crate) fn read_text(what: &str, path: &Path) -> anyhow::Result<String> {
    read_at_most(MAX_SCRIPT, what, path)
}

/// Reads a text of at most `most` bytes.
pub(crate) fn read_at_most(most: u64, what: &str, path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let said = if path == Path::new("-") { format!("the {what} from stdin") } else { format!("the {what} {}", path.display()) };
    let wrong = |what: String| Usage(format!("{said} {what}"));
    let unreadable = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
    if path == Path::new("-") {
        std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(path).map_err(|error| wrong(format!("cannot be opened: {error}")))?;
        file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > most {
        return Err(wrong(format!("has more than {} MB", most >> 20)).into());
    }
    let text = String::from_utf8(bytes).map_err(|error| wrong(format!("is not UTF-8 text: {}", error.utf8_error())))?;
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(rest.to_owned()),
        None => Ok(text),
    }
}
