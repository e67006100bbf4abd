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
use super::place::{PRIVATE, told};
use super::space::Space;
use super::unless_cancelled;
use super::view::View;
use super::walk::{Depth, visit};
use hero_engine::{Answer, FileCall};
use hero_model::{ContextId, Json};
use hero_process::Spawner;
use hero_process::confine::JobUser;

/// The directory of all files, below that of the data.
const DIRECTORY: &str = "files";

/// The files of a context: a directory that nothing leads out of, and how much it may hold.
///
/// Where hero is root, everything in it belongs to a user of its own, who the commands are. If there can be none, it belongs to root.
#[derive(Debug, Clone)]
pub struct Files {
    /// That of the data, and that of all files.
    above: [PathBuf; 2],
    directory: PathBuf,
    /// Where jobs have their homes.
    homes: PathBuf,
    user: JobUser,
    /// Whether the file system would not have him be their owner.
    is_not_given: Arc<AtomicBool>,
    space: Arc<Space>,
}

impl Files {
    /// Those of a context below the directory `data`. They may hold `quota` bytes. Directories are made when they are needed.
    pub fn new(data: &Path, context: ContextId, quota: u64) -> Self {
        let above = [data.to_owned(), data.join(DIRECTORY)];
        let directory = above[1].join(context.to_string());
        let user = JobUser::of_directory(&directory, &above.each_ref().map(PathBuf::as_path));
        let homes = data.join(home::DIRECTORY).join(context.to_string());
        let space = Arc::new(Space::new(quota, homes.clone()));
        Self { above, directory, homes, user, is_not_given: Arc::default(), space }
    }

    /// Lets them have so many bytes from now on.
    pub fn limit(&self, quota: u64) {
        self.space.limit(quota);
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where jobs have their homes: what is in these counts with the files.
    pub fn homes(&self) -> &Path {
        &self.homes
    }

    /// Removes the homes of jobs that a server has left because it was killed.
    pub fn remove_left(&self) {
        home::remove_left(&self.homes);
    }

    /// Makes the home of a job.
    pub(super) fn make_home(&self, spawner: Spawner) -> io::Result<Home> {
        let above = [Some(self.above[0].as_path()), self.homes.parent()];
        let above: Vec<_> = above.into_iter().flatten().map(Path::to_owned).collect();
        Home::create(&self.homes, &above, &self.user, spawner)
    }

    /// Who the commands are that work with them.
    pub fn user(&self) -> &JobUser {
        &self.user
    }

    /// How much there is.
    pub(super) fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The directory, which is made if need be.
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
            // Where the data is kept is nothing for scripts.
            io::Error::other("the log of the server says why")
        })?;
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

    /// Gives everything to the user: it is new, or he was another when it was made. The directory itself comes last, so that this is done to
    /// its end some time.
    fn give_all(&self, dir: &Dir, token: &CancellationToken) -> Result<(), String> {
        let mut failed = None;
        let visited = visit(dir, Depth::Any, token, &mut |entry| {
            let place = openat(entry.dir, entry.name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
            match place.map_err(io::Error::from).and_then(|place| self.user.give_open(place)) {
                // What was deleted meanwhile belongs to nobody.
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

    /// Answers a host call of a script that is in `working`.
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
