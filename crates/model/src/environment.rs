//! The variables of a job's environment, as answers show them.

use std::collections::BTreeMap;

use super::secrecy::{MASKED, PLAIN, Plain, secrets};
use super::secrets::Secrets;

/// Maximum number of bytes to search for the variables of one object. If there are more, all values are masked.
const MAX_SEARCHED_BYTES: usize = 1 << 17;

/// Returns the variables with `***` in place of secrets, also within other values, as logs mask them.
///
/// The time grows with the number of bytes, so callers with many variables must not call this on the threads that serve
/// connections.
pub fn shown(variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = Plain::of(&variables);
    let of_plain = || variables.iter().filter(|(name, _)| plain.has(name)).map(|(_, value)| value.len());
    let (bytes, longest) = (of_plain().sum::<usize>(), of_plain().max().unwrap_or(0));
    let may_be_within: usize = secrets(&variables).map(String::len).filter(|length| *length <= longest).sum();
    let can_look = |more: usize| bytes.saturating_add(more) <= MAX_SEARCHED_BYTES;
    let sought = can_look(may_be_within).then(|| Secrets::within(secrets(&variables), longest)).filter(|sought| can_look(sought.bytes()));
    let of = |(name, value): (&String, &String)| {
        let value = match &sought {
            Some(sought) if plain.has(name) => sought.masked(value.clone()),
            None if name == PLAIN => value.clone(),
            _ => MASKED.to_owned(),
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

    #[test]
    fn whatever_logs_mask_is_masked_in_what_is_plain() {
        let token = "a\"b\\c\u{7}-hunter22";
        let key = "-----KEY-----\n  first-line\r\nx\n";
        let written = [token.to_owned(), format!("{token:?}"), serde_json::json!({ "k": token }).to_string(), "is first-line".to_owned()];
        let all = of([("TOKEN", token), ("KEY", key), ("HERO_PLAIN", "A B C D")]);
        let named = ["A", "B", "C", "D"].into_iter().map(ToOwned::to_owned).zip(written);
        let seen = shown(all.into_iter().chain(named).collect());
        let seen: Vec<&str> = ["A", "B", "C", "D"].map(|name| seen[name].as_str()).into();
        assert_eq!(seen, ["***", "\"***\"", "{\"k\":\"***\"}", "is ***"]);
        let many = of([("K", "x-secret"), ("V", &*"x-secret".repeat(MAX_SEARCHED_BYTES / 8)), (PLAIN, "V")]);
        assert_eq!(shown(many)["V"], MASKED);
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
        // The text matches the beginning of the secret at every position: 2^26 pairs of bytes.
        let one_long = of([("K", &*(repeated(8_000) + "b")), ("V", &*repeated(8_300)), (PLAIN, "V")]);
        let many_short: BTreeMap<String, String> =
            (0..2_000).map(|at| (format!("K{at}"), format!("a{at:04}"))).chain(of([("V", &*repeated(8_000)), (PLAIN, "V")])).collect();
        let names = (0..4_000).map(|at| format!("N{at}")).collect::<Vec<_>>();
        let many_named: BTreeMap<String, String> =
            names.iter().map(|name| (name.clone(), String::new())).chain([(PLAIN.to_owned(), names.join(","))]).collect();
        let started = std::time::Instant::now();
        for _ in 0..250 {
            assert_eq!(shown(one_long.clone())["V"], one_long["V"]);
            assert_eq!(shown(many_short.clone())["V"], many_short["V"]);
        }
        for _ in 0..10 {
            assert_eq!(shown(many_named.clone())["N7"], "");
        }
        // This takes a second even without optimisation; comparing all pairs takes minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
    }
}
