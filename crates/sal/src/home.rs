//! The home of a job's commands: a directory of its own, which no other job of the context can see.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::open::PRIVATE;
use hero_engine::directory::{Directory, remove_left_in};
use hero_process::Spawner;
use hero_process::confine::JobUser;

/// The directory of all homes, below the data directory.
pub(super) const DIRECTORY: &str = "homes";
/// The home itself, in a directory that stays hero's and on which hero holds a lock.
const HOME: &str = "home";

/// The home of one attempt of a job. It is removed with its content when this is dropped.
#[derive(Debug)]
pub(super) struct Home {
    directory: Option<Directory>,
    path: PathBuf,
    spawner: Spawner,
}

impl Home {
    /// Makes a home among the homes of a context. The user can pass through `homes` and the directories `above` to it.
    pub(super) fn create(homes: &Path, above: &[PathBuf], user: &JobUser, spawner: Spawner) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(PRIVATE).create(homes)?;
        // Only a few at a time: the start has removed the others.
        let _ = remove_left_in(homes);
        let directory = Directory::create_in(homes)?;
        let path = directory.path().join(HOME);
        let home = Self { directory: Some(directory), path, spawner };
        DirBuilder::new().mode(PRIVATE).create(&home.path)?;
        user.give_open(File::open(&home.path)?)?;
        let way = above.iter().map(PathBuf::as_path).chain([homes]).chain(home.path.parent());
        way.into_iter().try_for_each(|above| user.let_pass(above))?;
        Ok(home)
    }

    /// The path of the home.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Some(directory) = self.directory.take() {
            self.spawner.later(|| directory.remove());
        }
    }
}

/// Removes homes of a context that a killed server left behind.
pub(super) fn remove_left(homes: &Path) {
    while remove_left_in(homes) {}
}
