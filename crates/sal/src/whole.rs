//! Searches, copies, moves and deletes whole directories.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, Permissions};
use regex::Regex;

use super::open::{FileError, open, told};
use super::unless_cancelled;
use super::view::View;
use super::walk::{Depth, visit};
use hero_engine::{Answer, LARGEST_TEXT};
use hero_model::excerpt;

/// The maximum number of entries visited in one search.
const MOST_SEARCHED: usize = 200_000;
/// The maximum number of paths in an answer, as in an array of a script.
const MOST_FOUND: usize = 9_000;
/// The size of a copied piece, in bytes.
const COPY_BYTES: usize = 256 << 10;

impl View<'_> {
    /// Returns the paths of entries with a matching name.
    pub(super) fn find(&self, directory: &str, name: &str, directories: bool, first: bool) -> Answer {
        let wanted = pattern(name)?;
        let dir = self.root.open_dir(self.resolved(directory)?).map_err(|error| told(directory, &error))?;
        let (mut found, mut bytes, mut entries): (Vec<String>, _, _) = (Vec::new(), 0, 0);
        visit(&dir, Depth::OfPaths, self.token, &mut |entry| {
            entries += 1;
            if entries > MOST_SEARCHED {
                return Err(format!("{directory}: there are more than {MOST_SEARCHED} entries; search a directory further down"));
            }
            if !(if directories { entry.is_dir } else { entry.is_file }) || !wanted.is_match(&entry.name.to_string_lossy()) {
                return Ok(());
            }
            let path = Path::new(directory).join(entry.path()).to_string_lossy().into_owned();
            if first {
                found.retain(|known| *known < path);
            }
            if !first || found.is_empty() {
                bytes += path.len();
                found.push(path);
            }
            if found.len() > MOST_FOUND || (bytes > LARGEST_TEXT && !first) {
                return Err(format!("{directory}: more is called {name:?} than an answer holds; search for less"));
            }
            Ok(())
        })?;
        found.sort_unstable();
        match (first, found.first()) {
            (false, _) => Ok(serde_json::Value::from(found).into()),
            (true, Some(path)) => Ok(path.as_str().into()),
            (true, None) => {
                let what = if directories { "directory" } else { "file" };
                Err(format!("{directory}: no {what} there is called {name:?}"))
            }
        }
    }

    /// Deletes a file, a link, or a directory with everything in it.
    pub(super) fn delete(&self, path: &str) -> Result<String, String> {
        let place = self.resolved(path)?;
        let found = match self.root.symlink_metadata(&place) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(format!("Nothing to delete at '{path}'")),
            Err(error) => return Err(told(path, &error)),
        };
        if !found.is_dir() {
            self.root.remove_file(&place).map_err(|error| told(path, &error))?;
            return Ok(format!("Successfully deleted file '{path}'"));
        }
        let top = self.root.canonicalize(&place).map_err(|error| told(path, &error))?;
        if top.file_name().is_none() {
            return Err(format!("{path}: that is the directory of the context itself"));
        }
        self.empty(&top).and_then(|()| Ok(self.root.remove_dir(&top)?)).map_err(|why| why.of(path))?;
        Ok(format!("Successfully deleted directory '{path}'"))
    }

    /// Deletes everything in a directory. It may be nested deeper than there are descriptors, so each subdirectory is
    /// moved to the top before it is emptied.
    fn empty(&self, top: &Path) -> Result<(), FileError> {
        // A command may have removed the permissions of its own user. A directory that is moved must be writable, too.
        let reopen = |dir: &Dir, name: &Path| dir.set_permissions(name, Permissions::from_std(std::fs::Permissions::from_mode(0o700)));
        reopen(&self.root, top)?;
        let top = self.root.open_dir(top)?;
        let (mut waiting, mut moved, mut emptied) = (VecDeque::from([PathBuf::from(".")]), 0_u64, Vec::new());
        while let Some(next) = waiting.pop_front() {
            let at_top = next == Path::new(".");
            if !at_top {
                reopen(&top, &next)?;
            }
            let dir = top.open_dir(&next)?;
            for entry in dir.entries()? {
                unless_cancelled(self.token).map_err(FileError::Other)?;
                let entry = entry?;
                let name = PathBuf::from(entry.file_name());
                if !entry.file_type()?.is_dir() {
                    dir.remove_file(&name)?;
                } else if at_top {
                    waiting.push_back(name);
                } else {
                    let free = loop {
                        moved += 1;
                        let name = PathBuf::from(format!("{moved}.deleted"));
                        if top.symlink_metadata(&name).is_err() {
                            break name;
                        }
                    };
                    reopen(&dir, &name)?;
                    dir.rename(&name, &top, &free)?;
                    waiting.push_back(free);
                }
            }
            if !at_top {
                emptied.push(next);
            }
        }
        emptied.iter().try_for_each(|name| top.remove_dir(name)).map_err(FileError::Io)
    }

    /// Moves a file or a directory.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<String, String> {
        let (source, target) = (self.resolved(from)?, self.resolved(to)?);
        let found = self.root.symlink_metadata(&source).map_err(|error| told(from, &error))?;
        let target = self.within(&source, target);
        let moved = self.make_above(&target).and_then(|()| Ok(self.root.rename(&source, &self.root, &target)?));
        moved.map_err(|why| why.of(to))?;
        Ok(format!("Successfully moved {} '{from}' to '{to}'", if found.is_dir() { "directory" } else { "file" }))
    }

    /// Copies a file, or a directory with everything in it.
    pub(super) fn copy(&self, from: &str, to: &str) -> Result<String, String> {
        let (source, target) = (self.resolved(from)?, self.resolved(to)?);
        let found = self.root.metadata(&source).map_err(|error| told(from, &error))?;
        if !found.is_dir() {
            let target = self.within(&source, target);
            let copied = self.make_above(&target).and_then(|()| self.copy_file(&self.root, &source, &self.root, &target));
            copied.map_err(|why| why.of(to))?;
            return Ok(format!("Successfully copied file '{from}' to '{to}'"));
        }
        self.make(&target).map_err(|why| why.of(to))?;
        // The directory of the context itself is `.`, and no path begins with that.
        let whole = |path: &Path, given: &str| match self.root.canonicalize(path) {
            Ok(whole) => Ok(whole.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>()),
            Err(error) => Err(told(given, &error)),
        };
        if whole(&target, to)?.starts_with(whole(&source, from)?) {
            return Err(format!("{to}: a directory cannot be copied into itself"));
        }
        let open = |path: &Path, given: &str| self.root.open_dir(path).map_err(|error| told(given, &error));
        let (into, source) = (open(&target, to)?, open(&source, from)?);
        visit(&source, Depth::OfPaths, self.token, &mut |entry| {
            let path = entry.path();
            let copied = if entry.is_dir {
                match self.make_one(&into, &path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    made => made.map_err(FileError::Io).and_then(|()| self.space.take(&self.root, 0, self.token).map_err(FileError::Other)),
                }
            } else if entry.is_file {
                self.copy_file(entry.dir, entry.name, &into, &path)
            } else {
                // Links and pipes are not copied.
                Ok(())
            };
            copied.map_err(|why| why.of(&path.to_string_lossy()))
        })?;
        Ok(format!("Successfully copied directory '{from}' to '{to}'"))
    }

    /// Returns the path in a directory, if the target is one.
    fn within(&self, source: &Path, target: PathBuf) -> PathBuf {
        match source.file_name() {
            Some(name) if self.root.metadata(&target).is_ok_and(|found| found.is_dir()) => target.join(name),
            _ => target,
        }
    }

    fn copy_file(&self, from: &Dir, source: &Path, to: &Dir, target: &Path) -> Result<(), FileError> {
        let mut reader = open(from, source, OpenOptions::new().read(true))?;
        let same = |found: &cap_std::fs::Metadata| (found.dev(), found.ino());
        let mut writer = self.create(to, target, OpenOptions::new().write(true))?;
        if same(&reader.metadata()?) == same(&writer.metadata()?) {
            return Err(FileError::Other("a file cannot be copied onto itself".to_owned()));
        }
        writer.set_len(0)?;
        self.space.take(&self.root, 0, self.token).map_err(FileError::Other)?;
        let mut piece = vec![0; COPY_BYTES];
        loop {
            unless_cancelled(self.token).map_err(FileError::Other)?;
            let read = reader.read(&mut piece)?;
            if read == 0 {
                return Ok(());
            }
            self.space.take_more(&self.root, read as u64, self.token).map_err(FileError::Other)?;
            writer.write_all(&piece[..read])?;
        }
    }
}

/// Returns the pattern for names in a search.
fn pattern(name: &str) -> Result<Regex, String> {
    if name.is_empty() || name.contains('/') || name.len() > 255 {
        return Err(format!("{:?}: a name is searched for, with * for any letters and ? for one", excerpt(name, 100)));
    }
    let escaped = regex::escape(name).replace(r"\*", ".*").replace(r"\?", ".");
    Regex::new(&format!("(?s)^{escaped}$")).map_err(|error| error.to_string())
}
