//! The variables of a job's environment: which are secret.

use std::collections::{BTreeMap, BTreeSet};

use super::secrecy::{LONG_SECRET, MASKED, SHORTEST_SECRET, is_word};

/// As many bytes are looked at to show the variables of one object; a page has a thousand of them. Where there are more, nothing is shown as plain.
const MOST: usize = 1 << 17;

/// The variable that names those that are no secrets, with commas or spaces between. It travels with them wherever a job does.
pub const PLAIN: &str = "HERO_PLAIN";

/// Names of the variables that are no secrets.
struct Plain<'v>(BTreeSet<&'v str>);

impl<'v> Plain<'v> {
    fn of(variables: &'v BTreeMap<String, String>) -> Self {
        let named = variables.get(PLAIN).into_iter().flat_map(|names| names.split([',', ' ']));
        Self(named.chain([PLAIN]).collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// The values that are secret.
pub fn secrets(variables: &BTreeMap<String, String>) -> impl Iterator<Item = &String> {
    let plain = Plain::of(variables);
    variables.iter().filter(move |(name, _)| !plain.has(name)).map(|(_, value)| value)
}

/// A secret that is looked for in other values.
struct Sought<'s> {
    secret: &'s str,
    /// Of each of its beginnings, how long the longest other beginning is that it ends with (Knuth, Morris and Pratt): so a text is gone through once,
    /// whatever stands in it.
    borders: Vec<usize>,
}

impl<'s> Sought<'s> {
    fn of(secret: &'s str) -> Self {
        let bytes = secret.as_bytes();
        let mut borders = vec![0; bytes.len()];
        for at in 1..bytes.len() {
            borders[at] = longer(bytes, &borders, borders[at - 1], bytes[at]);
        }
        Self { secret, borders }
    }

    /// Where it begins in a text, also within itself, in order.
    fn starts_in(&self, text: &str) -> impl Iterator<Item = usize> {
        let bytes = self.secret.as_bytes();
        let mut matched = 0;
        text.bytes().enumerate().filter_map(move |(at, byte)| {
            if matched == bytes.len() {
                matched = self.borders[matched - 1];
            }
            matched = longer(bytes, &self.borders, matched, byte);
            (matched == bytes.len()).then(|| at + 1 - matched)
        })
    }
}

/// How much of the beginning is matched behind one more byte.
fn longer(bytes: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && bytes[matched] != byte {
        matched = borders[matched - 1];
    }
    matched + usize::from(bytes[matched] == byte)
}

/// A value of a plain variable without the secrets in it, as logs mask them: long ones wherever they stand, short ones as words.
fn without(value: &str, sought: &[Sought<'_>]) -> String {
    let mut hidden = vec![false; value.len()];
    for one in sought.iter().filter(|one| one.secret.len() <= value.len()) {
        let length = one.secret.len();
        let mut done = 0;
        for at in one.starts_in(value).filter(|at| length >= LONG_SECRET || is_word(value, *at..at + length)) {
            let end = at + length;
            hidden[done.max(at)..end].fill(true);
            done = end;
        }
    }
    let mut shown = String::with_capacity(value.len());
    for (at, c) in value.char_indices() {
        match hidden[at] {
            false => shown.push(c),
            true if at == 0 || !hidden[at - 1] => shown.push_str(MASKED),
            true => {}
        }
    }
    shown
}

/// The variables as they are shown: `***` in place of secrets, also of those within others.
pub fn shown(variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = Plain::of(&variables);
    let of_plain = || variables.iter().filter(|(name, _)| plain.has(name)).map(|(_, value)| value.len());
    let (bytes, longest) = (of_plain().sum::<usize>(), of_plain().max().unwrap_or(0));
    let may_be_within = |secret: &&str| (SHORTEST_SECRET..=longest).contains(&secret.len());
    let mut secrets: Vec<&str> = secrets(&variables).map(String::as_str).filter(may_be_within).collect();
    secrets.sort_unstable();
    secrets.dedup();
    // Each of them is gone through once, and for each of them every plain value.
    let work = secrets.iter().map(|secret| secret.len().saturating_add(bytes)).fold(0, usize::saturating_add);
    let can_look = work <= MOST;
    let sought: Vec<Sought<'_>> = secrets.into_iter().filter(|_| can_look).map(Sought::of).collect();
    let of = |(name, value): (&String, &String)| {
        let value = if plain.has(name) && (can_look || name == PLAIN) { without(value, &sought) } else { MASKED.to_owned() };
        (name.clone(), value)
    };
    variables.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(variables: [(&str, &str); N]) -> BTreeMap<String, String> {
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn what_is_not_named_as_plain_is_secret() {
        let mixed = of([("TOKEN", "x1"), ("MODE", "prod"), ("CUSTOMER", "Ada"), (PLAIN, "MODE, CUSTOMER")]);
        assert_eq!(secrets(&mixed).collect::<Vec<_>>(), ["x1"]);
        assert_eq!(shown(mixed), of([("TOKEN", "***"), ("MODE", "prod"), ("CUSTOMER", "Ada"), (PLAIN, "MODE, CUSTOMER")]));
        let within =
            of([("TOKEN", "s3cret-key"), ("PIN", "4711"), ("URL", "x://u:s3cret-key@h/s3cret-keys3cret-key?4711&14711"), (PLAIN, "URL")]);
        assert_eq!(shown(within)["URL"], "x://u:***@h/***?***&14711");
        let all = of([("MODE", "prod"), ("MOD", "x")]);
        assert_eq!((secrets(&all).count(), shown(all)), (2, of([("MODE", "***"), ("MOD", "***")])));
    }

    #[test]
    fn a_secret_that_overlaps_itself_or_another_is_masked_whole() {
        let of_value =
            |secrets: [&str; 2], value: &str| shown(of([("A", secrets[0]), ("B", secrets[1]), ("V", value), (PLAIN, "V")]))["V"].clone();
        assert_eq!(of_value(["aaaaaaaa", "x"], &format!("b{}b", "a".repeat(13))), "b***b");
        assert_eq!(of_value(["abcabcabcd", "abcabcab"], "abcabcabcabcdabcabc"), "***abcabc");
        assert_eq!(of_value(["abcdefgh", "ghijklmn"], "ü abcdefghijklmn ü"), "ü *** ü");
        assert_eq!(of_value(["aba", "ab"], "aba,ababa,ab"), "***,ababa,ab");
    }

    #[test]
    fn a_page_of_objects_that_are_made_to_take_long_is_shown_at_once() {
        let repeated = |many: usize| "a".repeat(many);
        // What one is compared with begins as it does everywhere: 2^26 pairs of bytes.
        let one_long = of([("K", &*(repeated(8_000) + "b")), ("V", &*repeated(8_300)), (PLAIN, "V")]);
        let many_short: BTreeMap<String, String> =
            (0..2_000).map(|at| (format!("K{at}"), format!("a{at:04}"))).chain(of([("V", &*repeated(8_000)), (PLAIN, "V")])).collect();
        let names = (0..4_000).map(|at| format!("N{at}")).collect::<Vec<_>>();
        let many_named: BTreeMap<String, String> =
            names.iter().map(|name| (name.clone(), String::new())).chain([(PLAIN.to_owned(), names.join(","))]).collect();
        let started = std::time::Instant::now();
        for _ in 0..250 {
            assert_eq!(shown(one_long.clone())["V"], one_long["V"]);
            // It would be looked for in too many places.
            assert_eq!(shown(many_short.clone())["V"], MASKED);
        }
        for _ in 0..10 {
            assert_eq!(shown(many_named.clone())["N7"], "");
        }
        // It takes a second, even if nothing is optimised; comparing all pairs takes minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
    }
}
