use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, File, OpenOptions};
use tokio_util::sync::CancellationToken;

use super::open::{FileError, PRIVATE, open, told};
use super::space::Space;
use hero_engine::{LARGEST_TEXT, size};
use hero_model::excerpt;
use hero_process::confine::JobUser;

/// The maximum number of components of a path.
const MAX_COMPONENTS: usize = 64;
/// The maximum length of a path, in bytes.
const MAX_PATH_BYTES: usize = 4000;

/// The files as a script sees them: relative to its working directory, until it is cancelled.
pub(super) struct View<'a> {
    pub(super) root: Dir,
    pub(super) working: PathBuf,
    /// The owner of the files.
    pub(super) user: &'a JobUser,
    pub(super) space: &'a Space,
    pub(super) token: &'a CancellationToken,
}

impl View<'_> {
    /// Resolves a path to one relative to the directory of the context. An escape from that directory is only found
    /// when the path is opened.
    pub(super) fn resolved(&self, path: &str) -> Result<PathBuf, String> {
        let wrong = |why: &str| Err(format!("{:?}: {why}", excerpt(path, 100)));
        if path.is_empty() {
            return wrong("that is no path");
        }
        if path.contains('\0') {
            return wrong("a path has no zero byte in it");
        }
        if path.starts_with('/') {
            return wrong("paths are relative to the directory of the context; leave out the first /");
        }
        let place = self.working.join(path);
        if place.components().count() > MAX_COMPONENTS || place.as_os_str().len() > MAX_PATH_BYTES {
            return wrong(&format!("a path has at most {MAX_COMPONENTS} parts and {}", size(MAX_PATH_BYTES)));
        }
        Ok(place)
    }

    pub(super) fn make_directory(&self, path: &str) -> Result<String, String> {
        let place = self.resolved(path)?;
        match self.root.metadata(&place) {
            Ok(found) if found.is_dir() => return Ok(format!("Directory '{path}' already exists")),
            Ok(_) => return Err(format!("{path}: that is no directory, but it is there")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(told(path, &error)),
        }
        self.make(&place).map_err(|why| why.of(path))?;
        Ok(format!("Successfully created directory '{path}'"))
    }

    /// Makes a directory and those above it.
    pub(super) fn make(&self, place: &Path) -> Result<(), FileError> {
        let mut made = PathBuf::new();
        for component in place.components() {
            made.push(component);
            match self.root.metadata(&made) {
                _ if component == Component::CurDir => continue,
                Ok(found) if found.is_dir() => continue,
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                // Making the directory reports an existing file.
                Ok(_) | Err(_) => {}
            }
            self.space.take(&self.root, 0, self.token).map_err(FileError::Other)?;
            self.make_one(&self.root, &made)?;
        }
        Ok(())
    }

    /// Makes a directory below one.
    pub(super) fn make_one(&self, dir: &Dir, place: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.mode(PRIVATE);
        dir.create_dir_with(place, &builder)?;
        if self.user.owner().is_some() {
            self.user.give_open(dir.open_dir(place)?)?;
        }
        Ok(())
    }

    /// Makes the directories above a file.
    pub(super) fn make_above(&self, place: &Path) -> Result<(), FileError> {
        place.parent().filter(|above| !above.as_os_str().is_empty()).map_or(Ok(()), |above| self.make(above))
    }

    pub(super) fn read(&self, path: &str) -> Result<String, String> {
        let file = open(&self.root, &self.resolved(path)?, OpenOptions::new().read(true)).map_err(|why| why.of(path))?;
        let length = file.metadata().map_err(|error| told(path, &error))?.len();
        let too_large =
            |length: u64| format!("{path}: the file has {length} bytes, more than the {} that an answer holds", size(LARGEST_TEXT));
        if length > LARGEST_TEXT as u64 {
            return Err(too_large(length));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(|error| told(path, &error))?;
        if bytes.len() > LARGEST_TEXT {
            return Err(too_large(bytes.len() as u64));
        }
        String::from_utf8(bytes).map_err(|_| format!("{path}: the file is no text (UTF-8)"))
    }

    pub(super) fn write(&self, path: &str, text: &str, append: bool) -> Result<(), String> {
        let place = self.resolved(path)?;
        self.make_above(&place).map_err(|why| why.of(path))?;
        self.space.take(&self.root, text.len() as u64, self.token)?;
        let mut options = OpenOptions::new();
        if append {
            options.append(true)
        } else {
            options.write(true)
        };
        let mut file = self.create(&self.root, &place, &mut options).map_err(|why| why.of(path))?;
        // Some file systems write a file to disk at once after it was truncated to zero bytes, which takes a thousand
        // times longer. So one byte is kept.
        let kept = |file: &File| Ok(file.metadata()?.len().min(text.len() as u64).min(1));
        let cut = if append { Ok(()) } else { kept(&file).and_then(|kept| file.set_len(kept)) };
        cut.and_then(|()| file.write_all(text.as_bytes())).map_err(|error| told(path, &error))
    }

    /// Opens a file below a directory, and makes it if it does not exist.
    pub(super) fn create(&self, dir: &Dir, place: &Path, options: &mut OpenOptions) -> Result<File, FileError> {
        let file = open(dir, place, options.create(true))?;
        self.user.give_open(&file)?;
        Ok(file)
    }
}
