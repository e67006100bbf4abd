//! Dependencies between files: through `use`, re-exports and full paths.

use std::collections::{BTreeMap, BTreeSet};

/// The path of a module: `["store", "home"]`.
type Module = Vec<String>;

/// An import of a file: its name, if it gets one, and its source.
struct Import {
    name: Option<String>,
    path: Vec<String>,
}

/// The files that each file uses, without the items that its own parents define.
pub struct Graph(BTreeMap<Module, BTreeSet<Module>>);

impl Graph {
    /// Of these files, which are named by their paths below `src`; each as its lines of code.
    pub fn of<'f>(files: impl Iterator<Item = (&'f str, Vec<&'f str>)>) -> Self {
        let files: BTreeMap<Module, Vec<&str>> = files.map(|(file, lines)| (module(file), lines)).collect();
        let read = |(module, lines): (&Module, &Vec<&str>)| (module.clone(), imports(lines, module, |module| files.contains_key(module)));
        let imports: BTreeMap<Module, Vec<Import>> = files.iter().map(read).collect();
        let uses = imports.iter().map(|(module, used)| {
            let targets = used.iter().map(|import| target(&import.path, &imports, 0));
            (module.clone(), targets.filter(|target| !module.starts_with(target)).collect())
        });
        Self(uses.collect())
    }

    /// Files that use each other in a circle, if there are any.
    pub fn circle(&self) -> Option<Vec<String>> {
        let mut done = BTreeSet::new();
        self.0.keys().find_map(|start| self.circle_from(start, &mut Vec::new(), &mut done))
    }

    fn circle_from<'g>(&'g self, at: &'g Module, way: &mut Vec<&'g Module>, done: &mut BTreeSet<&'g Module>) -> Option<Vec<String>> {
        if let Some(begin) = way.iter().position(|passed| *passed == at) {
            return Some(way[begin..].iter().chain([&at]).map(|module| module.join("::")).collect());
        }
        if !done.insert(at) {
            return None;
        }
        way.push(at);
        let found = self.0.get(at)?.iter().find_map(|next| self.circle_from(next, way, done));
        way.pop();
        found
    }
}

fn module(file: &str) -> Module {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" { Vec::new() } else { path.split('/').map(ToOwned::to_owned).collect() }
}

/// The file in which a path ends, also if modules hand it on under their own name.
fn target(path: &[String], imports: &BTreeMap<Module, Vec<Import>>, handed_on: usize) -> Module {
    let known = (0..=path.len()).rev().find(|end| imports.contains_key(&path[..*end])).unwrap_or(0);
    let (module, rest) = path.split_at(known);
    let handed = rest.first().and_then(|name| imports[module].iter().find(|import| import.name.as_ref() == Some(name)));
    match handed {
        Some(import) if handed_on < 5 => target(&[&import.path, &rest[1..]].concat(), imports, handed_on + 1),
        _ => module.to_vec(),
    }
}

/// Everything that the lines of a file bring in from this crate.
fn imports(lines: &[&str], module: &[String], is_file: impl Fn(&[String]) -> bool) -> Vec<Import> {
    let (mut found, mut statement) = (Vec::new(), String::new());
    let absolute = |words: &[String]| -> Option<Vec<String>> {
        let climbs = words.iter().take_while(|word| *word == "super").count();
        match words.first().map(String::as_str) {
            Some("crate") => Some(words[1..].to_vec()),
            Some("self") => Some([module, &words[1..]].concat()),
            Some("super") => Some([&module[..module.len().saturating_sub(climbs)], &words[climbs..]].concat()),
            Some(first) => is_file(&[module, &[first.to_owned()]].concat()).then(|| [module, words].concat()),
            None => None,
        }
    };
    for line in lines {
        let bare = private(line.trim());
        if statement.is_empty() && !bare.starts_with("use ") {
            found.extend(written_out(line).filter_map(|path| Some(Import { name: None, path: absolute(&path)? })));
            continue;
        }
        statement.push_str(bare);
        if let Some((list, _)) = statement.split_once(';') {
            let leaves = leaves(list.trim_start_matches("use ").trim());
            found.extend(leaves.into_iter().filter_map(|(path, name)| Some(Import { name: Some(name), path: absolute(&path)? })));
            statement.clear();
        }
    }
    found
}

/// A line without its `pub`, and without whom that is for.
fn private(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("pub") else { return line };
    rest.strip_prefix('(').and_then(|whom| whom.split_once(')')).map_or(rest, |(_, rest)| rest).trim_start()
}

/// The paths in a line that begin at the crate or at a parent.
fn written_out(line: &str) -> impl Iterator<Item = Vec<String>> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
    words.filter(|word| ["crate::", "super::", "self::"].iter().any(|root| word.starts_with(root))).map(split)
}

fn split(path: &str) -> Vec<String> {
    path.split("::").map(str::trim).filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
}

/// The paths of a `use`, each with the name it gets.
fn leaves(tree: &str) -> Vec<(Vec<String>, String)> {
    let Some((root, list)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name.trim())));
        let mut words = split(path);
        words.pop_if(|last| last == "self");
        let name = name.map(ToOwned::to_owned).or_else(|| words.last().cloned()).unwrap_or_default();
        return vec![(words, name)];
    };
    let (mut depth, mut items) = (0, vec![String::new()]);
    for c in list.trim().strip_suffix('}').unwrap_or(list).chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            items.push(String::new());
        } else if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    let within = items.iter().map(|item| item.trim()).filter(|item| !item.is_empty()).flat_map(leaves);
    within.map(|(path, name)| ([split(root), path].concat(), name)).collect()
}

#[test]
fn circles_are_found_through_what_modules_hand_on() {
    let graph = |files: [(&'static str, &'static str); 4]| Graph::of(files.into_iter().map(|(file, text)| (file, text.lines().collect())));
    let round = [
        ("lib.rs", ""),
        ("a/mod.rs", "mod one;\npub(in crate) use one::{One, Other as Second};"),
        ("a/one.rs", "use crate::{\n    b::B,\n};\nuse super::A;"),
        ("b.rs", "fn f() -> crate::a::Second {}"),
    ];
    assert_eq!(graph(round).circle().unwrap(), ["a::one", "b", "a::one"]);
    let straight = [round[0], round[1], round[2], ("b.rs", "use crate::c::C;")];
    assert_eq!(graph(straight).circle(), None);
}
