//! Finds the entries of `inputs` that a Rhai script reads, without running it.

use std::collections::BTreeSet;

/// Returns the names in `inputs.NAME`; none if the script defines its own `inputs`.
pub(super) fn of_script(script: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut rest = script;
    let (mut before, mut last_word) = (' ', "");
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted(rest),
            c if is_of_name(c) => {
                let word = &rest[..rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len())];
                if word == "inputs" && before != '.' {
                    if matches!(last_word, "let" | "const" | "for" | "fn") {
                        return BTreeSet::new();
                    }
                    let name = rest[word.len()..].strip_prefix('.').unwrap_or_default();
                    let name = &name[..name.find(|c: char| !is_of_name(c)).unwrap_or(name.len())];
                    if !name.is_empty() {
                        names.insert(name);
                    }
                }
                last_word = word;
                word.len()
            }
            c => c.len_utf8(),
        };
        before = rest[..taken].chars().next_back().unwrap_or(' ');
        rest = &rest[taken..];
    }
    names
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the length of the quoted text at the beginning.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::of_script;

    #[test]
    fn names_are_found_in_code_and_templates_only() {
        let script = r#"let a = inputs.one + this.inputs.no; // inputs.no
            print("inputs.no \" inputs.no"); /* inputs.no */ `the sum is ${inputs.two}` + inputs["no"]"#;
        assert_eq!(of_script(script).into_iter().collect::<Vec<_>>(), ["one", "two"]);
        assert!(of_script("let inputs = #{ a: 1 }; inputs.a").is_empty());
        assert!(of_script("").is_empty() && of_script("\"é").is_empty() && of_script("inputs").is_empty());
    }
}
