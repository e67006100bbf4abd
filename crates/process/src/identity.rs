use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// A name for this process that no other process ever has: `boot/PID namespace/number/start`. `None` if the system does not tell.
///
/// The process id alone would not suffice: it is used again, and each container has its own.
pub fn identity() -> Option<String> {
    let number = std::process::id();
    Some(format!("{}/{number}/{}", realm()?, state(number)?.1))
}

/// Whether it is certain that the process with this identity has ended. For processes of other machines and namespaces it never is.
pub fn has_ended(identity: &str) -> bool {
    let known = || {
        let mut parts = identity.rsplitn(3, '/');
        let (start, number, of) = (parts.next()?.parse::<u64>().ok()?, parts.next()?.parse::<u32>().ok()?, parts.next()?);
        (realm()? == of).then_some((number, start))
    };
    let Some((number, start)) = known() else { return false };
    let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) else { return false };
    match (test_kill_process(pid), state(number)) {
        (Err(Errno::SRCH), _) => true,
        // A zombie only waits to be asked how it ended; a later process may have got its number.
        (_, Some((state, since))) => matches!(state, 'Z' | 'X') || since != start,
        // It is there, but somebody else's and hidden.
        (_, None) => false,
    }
}

/// The boot of this machine and the PID namespace.
fn realm() -> Option<String> {
    // A /proc of another namespace would speak of other processes.
    let own = fs::read_link("/proc/self").ok()?;
    (own.to_str()? == std::process::id().to_string()).then_some(())?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), namespace.to_str()?))
}

/// The state of a process, and when it started, in ticks since the boot.
fn state(number: u32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name stands in parentheses and may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_machine_that_is_gone_is_known_to_have_ended() {
        let own = identity().unwrap();
        assert!(!has_ended(&own), "{own}");
        let (rest, start) = own.rsplit_once('/').unwrap();
        let (realm, _) = rest.rsplit_once('/').unwrap();
        // The same number, but started at another time.
        assert!(has_ended(&format!("{rest}/{}", start.parse::<u64>().unwrap() + 1)));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = format!("{realm}/{}/{}", child.id(), state(child.id()).unwrap().1);
        assert!(!has_ended(&of_child));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&of_child));
        for other in [of_child.replacen(char::is_alphanumeric, "_", 1), of_child.replace("pid:[", "pid:[9"), String::new(), "1/2/3".into()]
        {
            assert!(!has_ended(&other), "{other}");
        }
    }
}
