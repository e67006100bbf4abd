//! Puts scripts together from the parts that they share.

/// The shared parts, in the order in which they build on each other. A blank line ends a part.
const SHARED: [&str; 11] = [
    include_str!("../keys.lua"),
    include_str!("scripts/time.lua"),
    include_str!("scripts/dialects.lua"),
    include_str!("scripts/shared.lua"),
    include_str!("scripts/index.lua"),
    include_str!("scripts/relations.lua"),
    include_str!("scripts/admit.lua"),
    include_str!("scripts/foreign.lua"),
    include_str!("scripts/queues.lua"),
    include_str!("scripts/conveyor.lua"),
    include_str!("scripts/slot.lua"),
];

/// Begins a line of a script that names functions which few of its calls need.
const SELDOM: &str = "-- Seldom: ";

/// Begins the line of a script that says what it may do, which has to be the first line of the whole.
///
/// `allow-oom` is for what records, renews, releases or frees; without it Redis refuses the whole script while its memory is full, before the
/// first write. `no-writes` is for what only reads, which is never refused for want of memory or disk.
const FLAGS: &str = "#!lua";

/// While a slot moves, a node raises an error for each key that it has not got (any more), in the middle of a script, too. So a script is refused
/// as a whole, before anything is done. In a cluster, `KEYS[1]` is a key of the slot.
const PROBE: &str = "if KEYS[1] and redis.pcall('EXISTS', KEYS[1] .. ':none') ~= 0 then \
                     return redis.error_reply('TRYAGAIN the slot of this context is moving') end\n\n";

/// A script behind those shared parts that it mentions, directly or through others.
///
/// Every call makes every function anew, which costs a fraction of a microsecond each. So what is not used is left out, and what a script
/// names in a line `-- Seldom: …` becomes one function that makes itself, and what it alone uses, when it is called.
pub(super) fn assembled(code: &str) -> String {
    let (flags, code): (Vec<&str>, Vec<&str>) = code.lines().partition(|line| line.starts_with(FLAGS));
    let (flags, code) = (flags.first().unwrap_or(&FLAGS), &*code.join("\n"));
    let shared = SHARED.join("\n");
    let parts: Vec<&str> = shared.split("\n\n").collect();
    let seldom: Vec<&str> = code.lines().filter_map(|line| line.strip_prefix(SELDOM)).flat_map(|names| names.split(", ")).collect();
    let is_seldom = |part: &str| names(part).any(|name| seldom.contains(&name));
    let used = used_by(code, &parts, |part| !is_seldom(part));
    let mut assembled = format!("{flags}\n{PROBE}");
    for (place, part) in parts.iter().enumerate() {
        if let Some(name) = names(part).find(|name| seldom.contains(name)) {
            let own = used_by(name, &parts, |part| !used.iter().any(|place| parts[*place] == part));
            let body: Vec<&str> = own.iter().map(|place| parts[*place]).collect();
            assembled += &format!("local function {name}(...)\n{}\nreturn {name}(...)\nend\n\n", body.join("\n\n"));
        } else if used.contains(&place) {
            assembled += &format!("{part}\n\n");
        }
    }
    assembled + code
}

/// The places of the parts that code mentions, directly or through others, among those that may be taken.
fn used_by(code: &str, parts: &[&str], may: impl Fn(&str) -> bool) -> Vec<usize> {
    let (mut code, mut used) = (code.to_owned(), Vec::new());
    for (place, part) in parts.iter().enumerate().rev() {
        if may(part) && names(part).any(|name| mentions(&code, name)) {
            code = format!("{part}\n\n{code}");
            used.insert(0, place);
        }
    }
    used
}

/// What a part defines.
fn names(part: &str) -> impl Iterator<Item = &str> {
    let defined = part.lines().filter_map(|line| line.strip_prefix("local function ").or_else(|| line.strip_prefix("local ")));
    defined.flat_map(|line| line.split(['=', '(']).next().unwrap_or_default().split(',').map(str::trim))
}

/// Whether code uses a name: as a whole word that is no text, which may be the name of a field, and stands in no comment.
fn mentions(code: &str, name: &str) -> bool {
    let around = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        !before.ends_with(around) && !after.starts_with(around) && !line.contains("-- ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_what_it_mentions_and_no_more() {
        let script = assembled("return job_prefix .. ARGV[9]");
        assert!(script.contains("local job_prefix") && script.contains("local prefix"));
        assert!(!script.contains("reply_prefix"), "{script}");
    }

    #[test]
    fn what_comments_and_texts_name_is_not_mentioned() {
        assert!(mentions("return begin(id)", "begin") && mentions("f(begin)", "begin"));
        assert!(!mentions("return 'begin' -- begin\n-- begin\nbegins()", "begin"));
    }

    #[test]
    fn what_is_seldom_is_made_when_it_is_called() {
        let script = assembled("-- Seldom: fail\nif ARGV[9] then fail() end\nflush()");
        let fail = script.find("local function fail(...)").unwrap();
        let end = fail + script[fail..].find("return fail(...)").unwrap();
        let within = |name: &str| script.match_indices(&format!("local function {name}(")).all(|(at, _)| (fail..end).contains(&at));
        assert!(within("end_job") && within("seconds_kept"), "{script}");
        // What both use stands outside, once.
        assert_eq!(script.matches("local counters").count(), 1);
        assert!(script.find("local counters").unwrap() < fail);
    }

    #[test]
    fn who_names_a_seldom_function_names_one() {
        let scripts = [
            ("create.lua", include_str!("scripts/create.lua")),
            ("start.lua", include_str!("scripts/start.lua")),
            ("turn.lua", include_str!("scripts/turn.lua")),
        ];
        for (script, code) in scripts {
            for name in code.lines().filter_map(|line| line.strip_prefix(SELDOM)).flat_map(|names| names.split(", ")) {
                assert!(SHARED.join("\n").contains(&format!("local function {name}(")), "{script} names {name}");
            }
        }
    }
}
