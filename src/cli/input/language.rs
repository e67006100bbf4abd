//! The script type of a script without a given type, by the name of its file.

use std::path::Path;

use crate::model::ScriptType;

/// File extensions and their script types. Types that need configuration are named as in `examples/commands`.
const TYPES: [(&str, &str); 13] = [
    ("rhai", "osis"),
    ("hero", "osis"),
    ("py", ScriptType::PYTHON),
    ("v", ScriptType::V),
    ("sh", "bash"),
    ("bash", "bash"),
    ("js", "node"),
    ("cjs", "node"),
    ("mjs", "node"),
    ("ts", "typescript"),
    ("mts", "typescript"),
    ("rb", "ruby"),
    ("pl", "perl"),
];

/// Returns the script type of a file by its extension, if known.
pub(in crate::cli) fn of_file(file: &Path) -> Option<ScriptType> {
    let extension = file.extension()?.to_str()?.to_ascii_lowercase();
    let (_, name) = TYPES.iter().find(|(known, _)| *known == extension)?;
    name.parse().ok()
}

/// Returns the script types besides `osis`, each with its extensions, for help.
pub(in crate::cli) fn by_name() -> String {
    let of_types = TYPES.chunk_by(|(_, one), (_, other)| one == other).filter(|of_type| of_type[0].1 != "osis");
    let of_types = of_types.map(|of_type| {
        let extensions: Vec<String> = of_type.iter().map(|(extension, _)| format!(".{extension}")).collect();
        format!("{} for {}", of_type[0].1, extensions.join(" and "))
    });
    of_types.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_says_the_type() {
        let of = |name: &str| of_file(Path::new(name)).map(|script_type| script_type.as_str().to_owned());
        for (name, script_type) in [
            ("a/b.rhai", "osis"),
            ("order.hero", "osis"),
            ("x.PY", "python"),
            ("main.v", "v"),
            ("a.b.sh", "bash"),
            ("r.cjs", "node"),
            ("r.mjs", "node"),
            ("r.ts", "typescript"),
            ("r.rb", "ruby"),
        ] {
            assert_eq!(of(name).as_deref(), Some(script_type), "{name}");
        }
        for name in ["-", "script", ".py", "a.txt", "a."] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
