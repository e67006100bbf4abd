//! One word for one thing: replaced words do not come back.

use super::*;

/// Replaced words, and their replacements.
const GONE: [(&str, &str); 11] = [
    ("foreman", "fetcher"),
    ("foremen", "fetchers"),
    ("heir", "continuation"),
    ("heirs", "continuations"),
    ("keeper", "subreaper, or what it is"),
    ("keepers", "subreapers, or what they are"),
    ("parcel", "envelope"),
    ("parcels", "envelopes"),
    ("GivenBack", "Requeued"),
    ("OutsideCall", "ResourceCall"),
    ("PostClaim", "RegistrationClaim"),
];

#[test]
fn words_that_were_replaced_do_not_come_back() {
    let mut texts = sources(&["src", "crates", "tests/it", "examples", "benches"]);
    texts.extend(documents().into_iter().chain(crate_pages()).map(|path| (path.clone(), read(&path))));
    // This list names them.
    texts.retain(|(path, _)| path != "tests/it/documents/words.rs");
    let mut found = Vec::new();
    for (path, text) in &texts {
        for (number, line) in text.lines().enumerate() {
            let words = line.split(|letter: char| !letter.is_alphanumeric());
            for (gone, now) in GONE.iter().filter(|(gone, _)| words.clone().any(|word| word.eq_ignore_ascii_case(gone))) {
                found.push(format!("{path}:{}: `{gone}`, say: {now}", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
