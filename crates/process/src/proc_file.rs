//! Reads files of `/proc`, which report no size before they are read.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The size that fits most of these files.
const ROOM: usize = 4096;

/// Returns the text of such a file, mostly in one read. Without a size `std::fs` needs eight reads, and these files are
/// read often.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::with_capacity(ROOM);
    File::open(path)?.take(u64::MAX).read_to_string(&mut text)?;
    Ok(text)
}
