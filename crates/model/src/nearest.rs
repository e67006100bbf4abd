/// Maximum length of a name that is compared, in bytes. Callers may send any text.
const MAX_NAME_BYTES: usize = 128;

/// Returns the known name that a name resembles most, if it could be a typing error: one letter is wrong, or of a longer
/// name up to a quarter. Of several the first in alphabetical order counts.
pub fn nearest<T: AsRef<str>>(name: &str, known: impl IntoIterator<Item = T>) -> Option<T> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let most = (name.len() / 4).max(1);
    let distance = |other: &T| {
        let other = other.as_ref();
        let distance = if other.len() > MAX_NAME_BYTES { usize::MAX } else { strsim::osa_distance(name, other) };
        // Otherwise all names of one letter would resemble each other.
        (distance <= most && distance < name.len().min(other.len())).then_some(distance)
    };
    let near = known.into_iter().filter_map(|other| Some((distance(&other)?, other)));
    near.min_by(|(one, name), (other, name_of_other)| (one, name.as_ref()).cmp(&(other, name_of_other.as_ref()))).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typing_error_is_told_from_another_name() {
        for (name, known, meant) in [
            ("prnt", &["print", "debug"][..], Some("print")),
            ("inof", &["info", "off"], Some("info")),
            ("print", &["sprint", "print"], Some("print")),
            ("lst", &["last", "list"], Some("last")),
            ("jobs", &["list_jobs", "bots"], None),
            ("Europe/Brln", &["Europe/Berlin"], Some("Europe/Berlin")),
            ("x", &["v", "xy"], None),
            ("", &["a", ""], None),
            (&"a".repeat(129), &[&*"a".repeat(128)], None),
        ] {
            assert_eq!(nearest(name, known.iter().copied()), meant, "{name}");
        }
    }
}
