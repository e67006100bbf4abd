use super::Id;

/// A mapping that keeps something alive: shared memory, or a file without a name.
pub(super) struct Mapped {
    /// Its addresses, as `map_files` writes them.
    pub(super) range: String,
    pub(super) id: Id,
    /// The path that the file had.
    pub(super) path: String,
    /// The offset in the mapped file at which the mapping ends.
    pub(super) end: u64,
    /// True if it maps memory and no file.
    pub(super) is_memory: bool,
}

impl Mapped {
    /// Reads a line such as `7f0d-7f0e rw-s 00000000 00:01 1031    /dev/zero (deleted)`. A private mapping keeps a file,
    /// too.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut rest = line;
        let mut field = || {
            let (field, after) = rest.split_once(' ')?;
            rest = after.trim_start_matches(' ');
            Some(field)
        };
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (from, to) = field()?.split_once('-')?;
        let (from, to) = (number(from)?, number(to)?);
        let is_shared = field()?.ends_with('s');
        let offset = number(field()?)?;
        let (major, minor) = field()?.split_once(':')?;
        let device = rustix::fs::makedev(number(major)?.try_into().ok()?, number(minor)?.try_into().ok()?);
        let inode: u64 = field()?.parse().ok()?;
        // A process may name its shared memory. No other name begins so: those of files begin with a slash.
        let is_named = rest.starts_with("[anon_shmem:") && is_shared;
        let path = if is_named { rest } else { rest.strip_suffix(" (deleted)")? };
        let is_memory =
            is_named || matches!(path, "/dev/zero" | "/anon_hugepage") || path.starts_with("/memfd:") || path.starts_with("/SYSV");
        let end = offset.saturating_add(to.checked_sub(from)?);
        Some(Self { range: format!("{from:x}-{to:x}"), id: (inode, device), path: path.to_owned(), end, is_memory })
    }
}
