use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Returns a name for this process that no other process ever has: `boot/PID namespace/number/start`. `None` if the
/// system does not report it.
///
/// The process id alone is not enough: it is used again, and each container has its own.
pub fn identity() -> Option<String> {
    let number = std::process::id();
    Some(format!("{}/{number}/{}", realm()?, state(number)?.1))
}

/// Whether the process with this identity has certainly ended. Always false for processes of other machines and
/// namespaces.
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
        // A zombie has ended and only waits for its parent; a later process may have the same process id.
        (_, Some((state, since))) => matches!(state, 'Z' | 'X') || since != start,
        // It runs, but belongs to another user and is hidden.
        (_, None) => false,
    }
}

/// Returns the boot of this machine and the PID namespace.
fn realm() -> Option<String> {
    // The `/proc` of another namespace lists other processes.
    let own = fs::read_link("/proc/self").ok()?;
    (own.to_str()? == std::process::id().to_string()).then_some(())?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), namespace.to_str()?))
}

/// Returns the state of a process and its start time, in ticks since the boot.
fn state(number: u32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name is in parentheses and may contain anything.
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
        // The same process id, but another start time.
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
