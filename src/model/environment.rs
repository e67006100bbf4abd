//! The variables of a job's environment: which are secret.

use std::collections::BTreeMap;

/// Stands in place of a secret.
const MASK: &str = "***";

/// Values shorter than this are no secrets, and those shorter than that are masked as words of their own: as `actor/secrets.rs` has it.
const SHORTEST: usize = 3;
const LONG: usize = 8;
/// So many pairs of bytes are compared at most. Where there are more, nothing is shown as plain.
const MOST: usize = 1 << 26;

/// The variable that names those that are no secrets, with commas or spaces between. It travels with them wherever a job does.
pub const PLAIN: &str = "HERO_PLAIN";

/// Whether a variable is no secret, as its environment says.
pub fn is_plain(name: &str, plain: Option<&str>) -> bool {
    let named = |plain: &str| plain.split([',', ' ']).any(|one| one == name);
    name == PLAIN || plain.is_some_and(named)
}

/// The values that are secret.
pub fn secrets(variables: &BTreeMap<String, String>) -> impl Iterator<Item = &String> {
    let plain = variables.get(PLAIN).map(String::as_str);
    variables.iter().filter(move |(name, _)| !is_plain(name, plain)).map(|(_, value)| value)
}

/// A value of a plain variable without the secrets in it, as logs mask them: long ones wherever they stand, short ones as words.
fn without<'s>(value: &str, secrets: impl Iterator<Item = &'s String>) -> String {
    let mut secrets: Vec<&String> = secrets.filter(|secret| secret.len() >= SHORTEST).collect();
    secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
    let mut hidden = vec![false; value.len()];
    for secret in secrets {
        let is_word = |at: usize| {
            let (before, after) = (value[..at].chars().next_back(), value[at + secret.len()..].chars().next());
            let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let goes_on = is_of_word(secret.chars().next_back()) && is_of_word(after);
            !(is_of_word(before) && is_of_word(secret.chars().next()) || goes_on)
        };
        let starts = value.char_indices().map(|(at, _)| at).filter(|at| value[*at..].starts_with(secret.as_str()));
        for at in starts.filter(|at| secret.len() >= LONG || is_word(*at)) {
            hidden[at..at + secret.len()].fill(true);
        }
    }
    let mut shown = String::with_capacity(value.len());
    for (at, c) in value.char_indices() {
        match hidden[at] {
            false => shown.push(c),
            true if at == 0 || !hidden[at - 1] => shown.push_str(MASK),
            true => {}
        }
    }
    shown
}

/// The variables as they are shown: `***` in place of secrets, also of those within others.
pub fn shown(variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = variables.get(PLAIN).map(String::as_str);
    let secret: usize = secrets(&variables).map(String::len).sum();
    let can_look = secret.saturating_mul(variables.values().map(String::len).sum()) <= MOST;
    let of = |(name, value): (&String, &String)| {
        let value = if is_plain(name, plain) && (can_look || name == PLAIN) {
            without(value, secrets(&variables).filter(|_| can_look))
        } else {
            MASK.to_owned()
        };
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
}
