use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;

use rustix::fs::{MemfdFlags, memfd_create};

/// The variable that names the process and the descriptor from which it reads its real arguments.
const HANDED_ON: &str = "HERO_ARGUMENTS";
/// Replaces a password in the arguments.
const MASK: &str = "***";

/// Returns the arguments of this program. Call it before anything else.
///
/// Every user of the machine can read the arguments of a process. So if the value of one of these options is an address
/// with a password, the program executes itself again with the password masked, and reads the real arguments from
/// memory that only it can read. The process id stays the same.
#[expect(clippy::disallowed_macros, reason = "no command line is there yet, and the text is ours")]
pub fn arguments(options: &[&str]) -> Vec<OsString> {
    if let Some(arguments) = handed_on() {
        return arguments;
    }
    let given: Vec<OsString> = std::env::args_os().collect();
    let shown = masked(&given, options);
    if shown != given {
        let error = execute_again(&given, &shown);
        eprintln!("hero: the password in the arguments can be read by others ({error}); give it in HERO_REDIS_PASSWORD or a file");
    }
    given
}

/// Executes the program again in this process. Returns only if that fails, with the error.
fn execute_again(given: &[OsString], shown: &[OsString]) -> io::Error {
    let run = || {
        // The memory has to survive the exec, so it is not closed at exec.
        let mut memory = File::from(memfd_create("arguments", MemfdFlags::empty())?);
        memory.write_all(&given.join(OsStr::from_bytes(b"\0")).into_vec())?;
        let mut again = std::process::Command::new(std::env::current_exe()?);
        again.arg0(shown.first().map_or(OsStr::new("hero"), OsString::as_os_str)).args(shown.iter().skip(1));
        Err::<(), _>(again.env(HANDED_ON, format!("{}:{}", std::process::id(), memory.as_raw_fd())).exec())
    };
    run().err().unwrap_or_else(|| io::Error::other("it was not run"))
}

/// Returns the arguments that the program stored before it executed itself again, and wipes them from memory.
fn handed_on() -> Option<Vec<OsString>> {
    let value = std::env::var(HANDED_ON).ok()?;
    let (process, descriptor) = value.split_once(':')?;
    // A child that inherits the variable has another process id and its own arguments.
    let own = process.parse() == Ok(std::process::id());
    let descriptor: u32 = descriptor.parse().ok().filter(|_| own)?;
    let mut memory = File::options().read(true).write(true).open(format!("/proc/self/fd/{descriptor}")).ok()?;
    let mut text = Vec::new();
    memory.read_to_end(&mut text).ok()?;
    memory.set_len(0).ok()?;
    Some(text.split(|byte| *byte == 0).map(|argument| OsString::from_vec(argument.to_vec())).collect())
}

/// Returns the arguments with the passwords in the values of these options masked.
fn masked(given: &[OsString], options: &[&str]) -> Vec<OsString> {
    let mut is_value = false;
    let mask = |argument: &OsString| {
        let Some(text) = argument.to_str() else { return argument.clone() };
        let after_option = std::mem::replace(&mut is_value, options.contains(&text));
        let joined = options.iter().any(|option| text.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')));
        if after_option || joined { masked_in(text).into() } else { argument.clone() }
    };
    given.iter().map(mask).collect()
}

/// Masks the passwords in the addresses of a text. If in doubt, it masks more.
fn masked_in(text: &str) -> String {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str("://");
        let (login, place) = part.rsplit_once('@').map_or((None, part), |(login, place)| (Some(login), place));
        if let Some(login) = login {
            shown.push_str(&login.split_once(':').map_or_else(|| login.to_owned(), |(user, _)| format!("{user}:{MASK}")));
            shown.push('@');
        }
        // The address of a socket has the password in its parameters.
        let secret = ["?pass=", "&pass=", "?password=", "&password="].iter().filter_map(|name| Some(place.find(name)? + name.len())).min();
        match secret {
            Some(at) => {
                let rest = place[at..].split_once('&').map_or(String::new(), |(_, rest)| format!("&{rest}"));
                shown.push_str(&format!("{}{MASK}{rest}", &place[..at]));
            }
            None => shown.push_str(place),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_left_and_nothing_else_is_changed() {
        for (given, shown) in [
            ("redis://:hunter22@h:1/2", "redis://:***@h:1/2"),
            ("rediss://ann:hunter22@h", "rediss://ann:***@h"),
            ("redis://a:hun@ter:22@h", "redis://a:***@h"),
            ("3=redis://:hunter22@h,4=redis://b:hunter33@i", "3=redis://:***@h,4=redis://b:***@i"),
            ("unix:///run/r.sock?db=1&pass=hunter22&user=a", "unix:///run/r.sock?db=1&pass=***&user=a"),
            ("redis+unix:///r?pass=hunter,22", "redis+unix:///r?pass=***"),
            ("redis://ann@h", "redis://ann@h"),
            ("redis://h:6379/3", "redis://h:6379/3"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(masked_in(given), shown, "{given}");
            assert_eq!(masked_in(shown), shown, "a masked one is run once more and for ever");
        }
        let words = |texts: &[&str]| texts.iter().map(OsString::from).collect::<Vec<_>>();
        let (url, shown) = ("redis://:hunter22@h", "redis://:***@h");
        let given = words(&["hero", "run", "-e", url, "--redis", url, url, &format!("--redis={url}"), "--redis"]);
        let expected = words(&["hero", "run", "-e", url, "--redis", shown, url, &format!("--redis={shown}"), "--redis"]);
        assert_eq!(masked(&given, &["--redis"]), expected);
    }
}
