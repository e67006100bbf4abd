//! Checks that scripts cannot read the server's own directories because these lie next to programs.

use std::path::{Path, PathBuf};

use super::engines::Engines;
use super::settings::{Confinement, PoolSettings, Settings};
use crate::engine::{Capability, Program};
use crate::exit::Usage;
use crate::model::ContextId;
use crate::process::confine::{readable_by_engines, readable_by_jobs};

/// Refuses directories of the server that the confinement lets scripts read, or warns if confinement is only preferred.
pub(crate) fn ensure_none(settings: &Settings, engines: &Engines) -> Result<(), Usage> {
    let mut pools = settings.pools.iter().enumerate().filter_map(|(at, pool)| Some((pool, engines.of_pool(at)?)));
    let Some(why) = pools.find_map(|(pool, program)| of_pool(settings, pool, &program)) else { return Ok(()) };
    if settings.confinement == Confinement::Required {
        return Err(Usage(format!("confinement is required, and {why}\n--confinement preferred runs scripts all the same")));
    }
    tracing::warn!("WEAK CONFINEMENT: {why}");
    Ok(())
}

/// Describes a directory of the server that the scripts of a pool may read, if any.
fn of_pool(settings: &Settings, pool: &PoolSettings, program: &Program) -> Option<String> {
    let runs_commands = |context: &ContextId| settings.granted_in(*context, pool.granted()).contains(&Capability::Process);
    let readable: Vec<PathBuf> = match program.has_processes() || pool.contexts.iter().any(runs_commands) {
        true => readable_by_jobs().chain(program.paths().map(Path::to_owned)).collect(),
        false => readable_by_engines().collect(),
    };
    let own = [
        ("data", "every job and the password of its Redis", &settings.data),
        ("log_dir", "the logs of all jobs", &settings.log_dir),
        ("audit_dir", "the records of who does what", &settings.audit_dir),
    ];
    let mut own = own.into_iter().filter(|(name, ..)| settings.audit || *name != "audit_dir");
    own.find_map(|(name, what, directory)| {
        let above = among(directory, &readable)?;
        Some(format!(
            "scripts of type {} may read {} ({name}), where {what} are, because it is in {}, of which they read all; \
             give {name} a directory elsewhere",
            pool.script_type,
            directory.display(),
            above.display()
        ))
    })
}

/// Returns the readable directory that contains this one, after resolving links. The directory need not exist yet.
fn among<'r>(directory: &Path, readable: &'r [PathBuf]) -> Option<&'r PathBuf> {
    let real = real(directory);
    readable.iter().find(|above| above.canonicalize().is_ok_and(|above| real.starts_with(above)))
}

fn real(directory: &Path) -> PathBuf {
    let known = |above: &Path| Some(above.canonicalize().ok()?.join(directory.strip_prefix(above).ok()?));
    directory.ancestors().find_map(known).unwrap_or_else(|| directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_found_among_others_through_links_and_before_it_exists() {
        let home = tempfile::tempdir().unwrap();
        let (there, link) = (home.path().join("there"), home.path().join("link"));
        std::fs::create_dir(&there).unwrap();
        std::os::unix::fs::symlink(&there, &link).unwrap();
        for readable in [&there, &link] {
            let readable = [PathBuf::from("/nonexistent"), readable.clone()];
            for inside in [&there, &link, &there.join("new/data"), &link.join("new/data")] {
                assert_eq!(among(inside, &readable), Some(&readable[1]), "{inside:?}");
            }
            assert_eq!(among(home.path(), &readable), None);
            assert_eq!(among(&home.path().join("there-too"), &readable), None);
        }
        let of_system: Vec<PathBuf> = readable_by_jobs().collect();
        assert!(among(Path::new("/usr/share/hero/data"), &of_system).is_some());
        assert!(among(Path::new("/var/lib/hero"), &of_system).is_none());
    }
}
