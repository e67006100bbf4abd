//! One word for one thing: replaced words do not come back.

use std::collections::BTreeMap;

use super::*;

/// Replaced words, and their replacements.
const GONE: [(&str, &str); 15] = [
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
    ("setback", "step of the clock"),
    ("setbacks", "steps of the clock"),
    ("errand", "what it does"),
    ("errands", "what they do"),
];

/// Names that say nothing alone. More than one type with such a name would give it several meanings.
const VAGUE: [&str; 17] = [
    "Asked", "Awaited", "Fault", "Given", "Heard", "Kept", "Known", "Link", "Named", "Outcome", "Place", "Said", "Told", "Turn", "Way",
    "Wire", "Wrong",
];

/// Types that share a name with a word of ours, because another system has the word.
const FOREIGN: [(&str, &str); 1] = [("Context", "crates/layouts/src/conveyor/add.rs")];

#[test]
fn a_word_names_one_type() {
    let architecture = read("ARCHITECTURE.md");
    let (_, words) = architecture.split_once("## Words").unwrap();
    let rows = words.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |")).map(|(word, _)| word);
    let words: Vec<String> = rows.skip_while(|word| *word != "---").skip(1).map(type_name).collect();
    assert!((20..=25).contains(&words.len()), "{words:?}");
    let mut declared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // The calls of the client are named as the methods are.
    for (path, text) in sources(&["src", "crates"]).into_iter().filter(|(path, _)| !path.starts_with("crates/client/src/calls/")) {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for name in code.filter_map(declared_type) {
            if words.iter().any(|word| word == name) || VAGUE.contains(&name) {
                declared.entry(name.to_owned()).or_default().push(path.clone());
            }
        }
    }
    for (word, path) in FOREIGN {
        declared.get_mut(word).unwrap().retain(|declaring| declaring != path);
    }
    declared.retain(|_, paths| paths.len() > 1);
    assert!(declared.is_empty(), "{declared:#?}");
}

/// Returns the name of a type for a word: `HostCall` for `host call`.
fn type_name(word: &str) -> String {
    word.split(' ').map(|part| part[..1].to_uppercase() + &part[1..]).collect()
}

/// Returns the name of the type that a line of Rust declares.
fn declared_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub") || word.ends_with(')'));
    let is_type = matches!(words.next()?, "struct" | "enum" | "trait" | "union" | "type");
    words.next().filter(|_| is_type)?.split(|letter: char| !letter.is_alphanumeric()).next()
}

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
