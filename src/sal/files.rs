use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};

use super::blocking;
use super::place::{PRIVATE, told};
use super::space::Space;
use super::view::View;
use crate::engine::{Answer, FileCall};
use crate::model::Json;

/// The files of a context: a directory that nothing leads out of, and how much it may hold.
#[derive(Debug, Clone)]
pub struct Files {
    directory: PathBuf,
    space: Arc<Space>,
}

impl Files {
    /// Those in `directory`, which is made when it is needed, and may hold `quota` bytes.
    pub fn new(directory: PathBuf, quota: u64) -> Self {
        Self { directory, space: Arc::new(Space::new(quota)) }
    }

    /// Where they are.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// How much there is.
    pub(super) fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The directory, which is made if need be.
    pub(super) fn open(&self) -> io::Result<Dir> {
        std::fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(&self.directory)?;
        let opened = Dir::open_ambient_dir(&self.directory, ambient_authority());
        // A command may have taken the rights from its user.
        let is_closed = match &opened {
            Ok(dir) => dir.dir_metadata()?.mode() & PRIVATE != PRIVATE,
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        };
        if !is_closed {
            return opened;
        }
        std::fs::set_permissions(&self.directory, Permissions::from_mode(PRIVATE))?;
        Dir::open_ambient_dir(&self.directory, ambient_authority())
    }

    /// Answers a question of a script that is in `working`.
    pub(super) async fn answer(&self, working: &Mutex<PathBuf>, call: FileCall) -> Answer {
        let (files, at) = (self.clone(), working.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let done = blocking(move |token| {
            let root = files.open().map_err(|error| format!("the directory of the context cannot be opened: {error}"))?;
            View { root, working: at, space: &files.space, token }.answer(call)
        });
        let (answer, moved) = done.await?;
        if let Some(moved) = moved {
            *working.lock().unwrap_or_else(PoisonError::into_inner) = moved;
        }
        Ok(answer)
    }
}

impl View<'_> {
    /// What is answered, and where the job goes, if it does.
    fn answer(&self, call: FileCall) -> Result<(Json, Option<PathBuf>), String> {
        let done = |text: String| Json::from(text.as_str());
        let answer = match call {
            FileCall::Exists { path } => self.root.try_exists(self.resolved(&path)?).map_err(|error| told(&path, &error))?.into(),
            FileCall::MakeDirectory { path } => done(self.make_directory(&path)?),
            FileCall::Delete { path } => done(self.delete(&path)?),
            FileCall::Copy { from, to } => done(self.copy(&from, &to)?),
            FileCall::Move { from, to } => done(self.rename(&from, &to)?),
            FileCall::Read { path } => done(self.read(&path)?),
            FileCall::Write { path, text, append } => {
                self.write(&path, &text, append)?;
                let did = if append { "appended" } else { "wrote" };
                done(format!("Successfully {did} to file '{path}'"))
            }
            FileCall::Size { path } => {
                let found = self.root.metadata(self.resolved(&path)?).map_err(|error| told(&path, &error))?;
                serde_json::Value::from(found.len()).into()
            }
            FileCall::Find { directory, name, directories, first } => self.find(&directory, &name, directories, first)?,
            FileCall::ChangeDirectory { path } => {
                let place = self.resolved(&path)?;
                let found = self.root.metadata(&place).and_then(|found| Ok((found, self.root.canonicalize(&place)?)));
                let (found, moved) = found.map_err(|error| told(&path, &error))?;
                if !found.is_dir() {
                    return Err(format!("{path}: that is no directory"));
                }
                return Ok((done(format!("Successfully changed directory to '{path}'")), Some(moved)));
            }
        };
        Ok((answer, None))
    }
}
