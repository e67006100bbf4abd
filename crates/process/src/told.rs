//! What the system tells in files of `/proc`, which have no size before they are read.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// What most of them hold fits into this.
const ROOM: usize = 4096;

/// The text of such a file, mostly in one piece: without a size `std::fs` reads it in eight, and they are read often.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::with_capacity(ROOM);
    File::open(path)?.take(u64::MAX).read_to_string(&mut text)?;
    Ok(text)
}
