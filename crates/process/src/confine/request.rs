use std::ffi::OsString;
use std::path::PathBuf;

use super::{JobRights, JobUser, Profile, SupervisorRights};

/// A parsed command line of `hero exec`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) profile: Profile,
    pub(super) parent: i32,
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    /// The parent's report, if its confinement also holds for the child.
    pub(super) inherited: Option<String>,
    /// Whether this is the first process of a PID namespace, started by one of the same profile.
    pub(super) is_inside: bool,
}

impl Request {
    /// Reads `PROFILE --parent PID [--address-space BYTES] [--memory BYTES] [--rw DIR]… [--home DIR] [--ro PATH]… [--user USER]
    /// [--inherited REPORT] [--confines-forks] [--temporary] [--group DIR] [--inside] -- program args…`.
    pub(super) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut args = args.into_iter();
        let word = args.next().ok_or("a profile is missing: engine, redis, supervisor or job")?;
        let (mut parent, mut address_space, mut memory, mut writable, mut readable) = (None, None, None, Vec::new(), Vec::new());
        let (mut home, mut user, mut inherited, mut group, mut is_temporary, mut is_inside) =
            (None, JobUser::Same, None, None, false, false);
        let mut confines_forks = false;
        loop {
            let option = args.next().ok_or("`-- program` is missing")?;
            let mut value = || args.next().ok_or_else(|| format!("{} needs a value", option.display()));
            match option.to_str() {
                Some("--") => break,
                Some("--parent") => parent = Some(number(&value()?)?),
                Some("--address-space") => address_space = Some(number(&value()?)?),
                Some("--memory") => memory = Some(number(&value()?)?),
                Some("--ro") => readable.push(PathBuf::from(value()?)),
                Some("--user") => user = text(value()?).parse()?,
                Some("--inherited") => inherited = Some(text(value()?)),
                Some("--group") => group = Some(PathBuf::from(value()?)),
                Some("--temporary") => is_temporary = true,
                Some("--inside") => is_inside = true,
                Some("--confines-forks") => confines_forks = true,
                Some("--home") => home = Some(PathBuf::from(value()?)),
                Some("--rw") => writable.push(PathBuf::from(value()?)),
                _ => return Err(format!("unknown option {}", option.display())),
            }
        }
        let profile = match word.to_str() {
            Some("engine") => Profile::Engine { address_space: address_space.ok_or("--address-space is missing")? },
            Some("redis") => Profile::Redis { writable },
            Some("supervisor") => {
                let writable = writable.pop().ok_or("--rw is missing")?;
                Profile::Supervisor(SupervisorRights { writable, home, is_temporary, readable, group })
            }
            Some("job") => Profile::Job(JobRights {
                writable: writable.pop().ok_or("--rw is missing")?,
                home,
                readable,
                memory: memory.ok_or("--memory is missing")?,
                user,
                confines_forks,
            }),
            _ => return Err(format!("unknown profile {}: engine, redis, supervisor or job", word.display())),
        };
        let program = args.next().ok_or("the program is missing")?.into();
        Ok(Self { profile, parent: parent.ok_or("--parent is missing")?, program, args: args.collect(), inherited, is_inside })
    }
}

fn text(value: OsString) -> String {
    value.to_string_lossy().into_owned()
}

fn number<T: std::str::FromStr>(text: &OsString) -> Result<T, String> {
    text.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| format!("{} is no number", text.display()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::command;
    use super::*;

    #[test]
    fn what_command_writes_is_understood() {
        let rights = |user| {
            let readable = vec!["/opt/x".into(), "/with space".into()];
            Profile::Job(JobRights {
                writable: "/job".into(),
                home: Some("/a home".into()),
                readable,
                memory: 1 << 20,
                user,
                confines_forks: false,
            })
        };
        let supervisor = |home, is_temporary, readable, group| {
            Profile::Supervisor(SupervisorRights { writable: "/jobs".into(), home, is_temporary, readable, group })
        };
        for profile in [
            Profile::Engine { address_space: 1 << 30 },
            Profile::Redis { writable: vec!["/data".into(), "/with space".into()] },
            supervisor(Some("/home of".into()), true, vec!["/opt/x".into()], Some("/a group".into())),
            supervisor(None, false, Vec::new(), None),
            rights(JobUser::Same),
            rights(JobUser::Own(1_879_048_192)),
            rights(JobUser::Root("/a b is closed".into())),
        ] {
            let command = command(Path::new("hero"), &profile, Path::new("/bin/x"), &["--parent", "--", "a b"]);
            let request = Request::parse(command.as_std().get_args().skip(1).map(ToOwned::to_owned)).unwrap();
            assert_eq!(request.profile, profile);
            assert_eq!(request.parent, i32::try_from(std::process::id()).unwrap());
            assert_eq!(request.program, Path::new("/bin/x"));
            assert_eq!(request.args, ["--parent", "--", "a b"]);
        }
    }

    #[test]
    fn a_wrong_command_line_says_what_is_wrong() {
        for (line, wrong) in [
            ("", "profile is missing"),
            ("root -- x", "unknown profile"),
            ("engine --parent x -- x", "x is no number"),
            ("engine --parent 1 -- x", "--address-space is missing"),
            ("redis -- x", "--parent is missing"),
            ("redis --parent 1", "`-- program`"),
            ("redis --parent 1 --", "the program is missing"),
            ("redis --rw", "needs a value"),
            ("supervisor --parent 1 -- x", "--rw is missing"),
            ("job --parent 1 --memory 1 -- x", "--rw is missing"),
            ("job --parent 1 --rw /x -- x", "--memory is missing"),
            ("redis --open", "unknown option"),
        ] {
            let error = Request::parse(line.split_whitespace().map(OsString::from)).unwrap_err();
            assert!(error.contains(wrong), "{line}: {error}");
        }
    }
}
