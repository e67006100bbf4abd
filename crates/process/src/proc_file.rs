//! Reads files of `/proc`, which report no size before they are read.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The size that fits most of these files.
const USUAL_BYTES: usize = 4096;

/// Returns the text of such a file, mostly in one read. Without a size `std::fs` needs eight reads, and these files are
/// read often. Names that a process gave to itself or to its files may be no UTF-8: what is not is replaced.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    read_at_most(path, u64::MAX)
}

/// Does the same with the first `most` bytes.
pub(crate) fn read_at_most(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
