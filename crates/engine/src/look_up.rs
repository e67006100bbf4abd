use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Returns the file of a program, given as a path or as a name in PATH.
pub fn look_up(program: &str) -> Result<PathBuf, String> {
    if program.contains('/') {
        let path = std::path::absolute(program).map_err(|error| format!("{program}: {error}"))?;
        return match is_program(&path) {
            true => Ok(path),
            false if path.exists() => Err(format!("{} is not a program that may be run", path.display())),
            false => Err(format!("there is no program {}", path.display())),
        };
    }
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let mut paths =
        std::env::split_paths(&directories).filter(|directory| directory.is_absolute()).map(|directory| directory.join(program));
    paths.find(|path| is_program(path)).ok_or_else(|| {
        format!("there is no program {program:?} in PATH ({}); install it, or give its whole path", directories.to_string_lossy())
    })
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
