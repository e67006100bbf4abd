use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};
use rustix::fs::{Mode, OFlags, openat};
use tokio_util::sync::CancellationToken;

use super::blocking;
use super::home::{self, Home};
use super::open::{PRIVATE, told};
use super::space::Space;
use super::unless_cancelled;
use super::view::View;
use super::walk::{Depth, visit};
use hero_engine::{Answer, FileCall};
use hero_model::{ContextId, Json};
use hero_process::Spawner;
use hero_process::confine::JobUser;

/// The directory of all files, below the data directory.
const DIRECTORY: &str = "files";

/// The files of a context: a directory that no path leads out of, with a quota.
///
/// If hero is root, everything in it belongs to a user of its own, with which commands run. If no such user is
/// possible, it belongs to root.
#[derive(Debug, Clone)]
pub struct Files {
    /// The data directory, and the directory of all files.
    above: [PathBuf; 2],
    directory: PathBuf,
    /// The directory of the jobs' homes.
    homes: PathBuf,
    user: JobUser,
    /// True if the file system does not let this user own the files.
    is_not_given: Arc<AtomicBool>,
    space: Arc<Space>,
}

impl Files {
    /// The files of a context below the directory `data`, with a quota in bytes. Directories are made when they are
    /// needed.
    pub fn new(data: &Path, context: ContextId, quota: u64) -> Self {
        let above = [data.to_owned(), data.join(DIRECTORY)];
        let directory = above[1].join(context.to_string());
        let user = JobUser::of_directory(&directory, &above.each_ref().map(PathBuf::as_path));
        let homes = data.join(home::DIRECTORY).join(context.to_string());
        let space = Arc::new(Space::new(quota, homes.clone()));
        Self { above, directory, homes, user, is_not_given: Arc::default(), space }
    }

    /// Sets the quota, in bytes.
    pub fn limit(&self, quota: u64) {
        self.space.limit(quota);
    }

    /// The directory of the files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory of the jobs' homes. Their content counts against the same quota.
    pub fn homes(&self) -> &Path {
        &self.homes
    }

    /// Removes homes of jobs that a killed server left behind.
    pub fn remove_left(&self) {
        home::remove_left(&self.homes);
    }

    /// Makes the home of a job.
    pub(super) fn make_home(&self, spawner: Spawner) -> io::Result<Home> {
        let above = [Some(self.above[0].as_path()), self.homes.parent()];
        let above: Vec<_> = above.into_iter().flatten().map(Path::to_owned).collect();
        Home::create(&self.homes, &above, &self.user, spawner)
    }

    /// The user with which commands run.
    pub fn user(&self) -> &JobUser {
        &self.user
    }

    /// The space that the files use and may use.
    pub(super) fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// Opens the directory, and makes it first if needed.
    pub(super) fn open(&self, token: &CancellationToken) -> Result<Dir, String> {
        let opened = self.opened().and_then(|dir| Ok((dir.dir_metadata()?.uid(), dir)));
        let (owner, dir) = opened.map_err(|error| format!("the directory of the context cannot be opened: {error}"))?;
        if self.user.owner().is_some_and(|number| number != owner) && !self.is_not_given.load(Ordering::Relaxed) {
            self.give_all(&dir, token)?;
        }
        Ok(dir)
    }

    fn opened(&self) -> io::Result<Dir> {
        std::fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(&self.directory)?;
        self.above.iter().try_for_each(|above| self.user.let_pass(above)).map_err(|error| {
            tracing::warn!("the files of a context cannot be used: {error}");
            // Scripts must not learn where the data is.
            io::Error::other("the log of the server says why")
        })?;
        let opened = Dir::open_ambient_dir(&self.directory, ambient_authority());
        // A command may have removed the permissions of its own user.
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

    /// Gives everything to the user: the directory is new, or was made for another user. The directory itself comes
    /// last, so that an interrupted run is repeated.
    fn give_all(&self, dir: &Dir, token: &CancellationToken) -> Result<(), String> {
        let mut failed = None;
        let visited = visit(dir, Depth::Any, token, &mut |entry| {
            let place = openat(entry.dir, entry.name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
            match place.map_err(io::Error::from).and_then(|place| self.user.give_open(place)) {
                // Files deleted meanwhile are skipped.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    failed.get_or_insert_with(|| told(&entry.path().to_string_lossy(), &error));
                }
                Ok(()) | Err(_) => {}
            }
            Ok(())
        });
        unless_cancelled(token)?;
        if let Some(why) = visited.err().or(failed) {
            tracing::warn!(directory = %self.directory.display(), why, "not all files of a context could be given to its user; its commands cannot use the others");
        }
        let given = self.user.give_open(dir).and_then(|()| Ok(dir.dir_metadata()?.uid()));
        let owner = given.map_err(|error| format!("the directory of the context cannot be given to its user: {error}"))?;
        if self.user.owner() != Some(owner) && !self.is_not_given.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                directory = %self.directory.display(),
                "the file system does not let files have another owner; commands of scripts cannot use those of their context"
            );
        }
        Ok(())
    }

    /// Answers a host call of a script whose working directory is `working`.
    pub(super) async fn answer(&self, working: &Mutex<PathBuf>, call: FileCall) -> Answer {
        let (files, at) = (self.clone(), working.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let done = blocking(move |token| {
            View { root: files.open(token)?, working: at, user: &files.user, space: &files.space, token }.answer(call)
        });
        let (answer, moved) = done.await?;
        if let Some(moved) = moved {
            *working.lock().unwrap_or_else(PoisonError::into_inner) = moved;
        }
        Ok(answer)
    }
}

impl View<'_> {
    /// Returns the answer, and the new working directory of the job if it changes.
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
