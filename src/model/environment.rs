//! The variables of a job's environment: which are secret.

use std::collections::BTreeMap;

/// Stands in place of a secret.
const MASK: &str = "***";

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

/// The variables as they are shown: `***` in place of secrets.
pub fn shown(variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = variables.get(PLAIN).cloned();
    let of = |(name, value): (String, String)| {
        let value = if is_plain(&name, plain.as_deref()) { value } else { MASK.to_owned() };
        (name, value)
    };
    variables.into_iter().map(of).collect()
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
        let all = of([("MODE", "prod"), ("MOD", "x")]);
        assert_eq!((secrets(&all).count(), shown(all)), (2, of([("MODE", "***"), ("MOD", "***")])));
    }
}
