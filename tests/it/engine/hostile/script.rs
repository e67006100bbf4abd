use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use hero::model::{JobSpec, Json, ScriptType};

/// The default time limit of an attack, far above the limits that end it.
const TIMEOUT: f64 = 60.0;

/// The scripts of one language: a folder of `tests/hostile`.
pub(super) struct Language {
    folder: &'static str,
    pub(super) script_type: &'static str,
    /// The prefix of the lines at the head of a file.
    comment: &'static str,
    /// The program without which nothing runs them.
    needs: Option<&'static str>,
    /// A harmless script, with its result for the `args` of a neighbour.
    pub(super) harmless: &'static str,
}

const RHAI: &str = "let sum = 0; for n in 0..100 { sum += n; } `${sum}: ${args.name}`";
const PYTHON: &str = "import hero\nhero.result(f'{sum(range(100))}: {hero.args[\"name\"]}')";
const BASH: &str =
    "name=$(sed 's/.*: *\"\\(.*\\)\".*/\\1/' < \"$HERO_ARGS\"); for n in {0..99}; do ((sum += n)); done; echo \"$sum: $name\" >&3";
const NODE: &str = "const fs = require('node:fs'); let sum = 0; for (let n = 0; n < 100; n++) sum += n; \
     fs.writeSync(3, `${sum}: ${JSON.parse(fs.readFileSync(process.env.HERO_ARGS)).name}`);";

static LANGUAGES: [Language; 6] = [
    Language { folder: "rhai", script_type: "osis", comment: "//", needs: None, harmless: RHAI },
    Language { folder: "heroscript", script_type: "osis", comment: "//", needs: None, harmless: RHAI },
    Language { folder: "sal", script_type: "sal", comment: "//", needs: None, harmless: RHAI },
    Language { folder: "python", script_type: "python", comment: "#", needs: Some("python3"), harmless: PYTHON },
    Language { folder: "bash", script_type: "bash", comment: "#", needs: Some("bash"), harmless: BASH },
    Language { folder: "node", script_type: "node", comment: "//", needs: Some("node"), harmless: NODE },
];

impl Language {
    /// Those that something on this machine runs. Of the others it says that they are skipped.
    pub(super) fn runnable() -> Vec<&'static Self> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |program: &&str| std::env::split_paths(&paths).any(|directory| directory.join(program).is_file());
        let runs = |language: &&Self| {
            let missing = language.needs.filter(|program| !is_there(program));
            missing.inspect(|program| println!("skipped: tests/hostile/{}: there is no {program}", language.folder)).is_none()
        };
        LANGUAGES.iter().filter(runs).collect()
    }

    /// The text of a comment line.
    fn remark<'l>(&self, line: &'l str) -> Option<&'l str> {
        line.strip_prefix(self.comment).map(str::trim)
    }
}

/// A file of `tests/hostile`: what it tries, what must come of it, and the script.
pub(super) struct Hostile {
    /// Its folder and its name.
    pub(super) name: String,
    pub(super) language: &'static Language,
    pub(super) spec: JobSpec,
    /// How it may end: `finished`, or the kind of its error; behind `limit` stands which. `refused`: there is no job.
    pub(super) expected: Vec<String>,
    /// The text of its error.
    pub(super) says: Option<String>,
    /// Its whole output.
    pub(super) gives: Option<String>,
    /// Whether it is stopped once it runs.
    pub(super) stopped: bool,
    /// Whether its engine must be killed, because nothing can interrupt the script.
    pub(super) kills: bool,
}

impl Hostile {
    /// All of these languages. A folder of a language that is none of ours is an error.
    pub(super) fn all(languages: &[&'static Language]) -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
        let mut all = Vec::new();
        for folder in std::fs::read_dir(root).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
            let folder_name = folder.file_name().into_string().unwrap();
            let is_known = LANGUAGES.iter().any(|language| language.folder == folder_name);
            assert!(is_known, "nothing runs the scripts of tests/hostile/{folder_name}");
            let Some(language) = languages.iter().find(|language| language.folder == folder_name) else { continue };
            for file in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
                let name = format!("{folder_name}/{}", file.file_name().to_str().unwrap());
                all.push(Self::read(name, language, &std::fs::read_to_string(file.path()).unwrap()));
            }
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// The first line says what is tried, the next ones what is given and expected: `word: value`. Behind them stands the script.
    fn read(name: String, language: &'static Language, text: &str) -> Self {
        let (first, mut rest) = text.split_once('\n').unwrap_or((text, ""));
        let what = language.remark(first);
        assert!(what.is_some_and(|what| what.ends_with('.')), "{name}: the first line does not say what is tried");
        let script_type: ScriptType = language.script_type.parse().unwrap();
        let timeout = Duration::from_secs_f64(TIMEOUT);
        let spec = JobSpec { script_type, timeout: Some(timeout.into()), name: Some(name.clone()), ..JobSpec::default() };
        let mut hostile = Self { name, language, spec, expected: Vec::new(), says: None, gives: None, stopped: false, kills: false };
        while let Some((line, behind)) = rest.split_once('\n')
            && let Some((word, value)) = language.remark(line).and_then(|line| line.split_once(':'))
            && hostile.take(word, value.trim())
        {
            rest = behind;
        }
        assert!(!hostile.expected.is_empty(), "{}: it does not say what is expected", hostile.name);
        hostile.spec.script = expanded(rest.strip_suffix('\n').unwrap_or(rest));
        hostile
    }

    /// Takes a line of the head. What is none belongs to the script.
    fn take(&mut self, word: &str, value: &str) -> bool {
        let json = |what: &str| serde_json::from_str::<Json>(value).unwrap_or_else(|error| panic!("{}: {what}: {error}", self.name));
        match word {
            "expect" => self.expected = value.split(" or ").map(str::to_owned).collect(),
            "timeout" => self.spec.timeout = Some(Duration::from_secs_f64(value.parse().unwrap()).into()),
            "args" => self.spec.args = Some(json("args")),
            "env" => self.spec.env_vars = serde_json::from_str::<BTreeMap<_, _>>(json("env").as_str()).unwrap(),
            "says" => self.says = Some(value.to_owned()),
            "gives" => self.gives = Some(expanded(value)),
            "stop" => self.stopped = true,
            "engine" => self.kills = value == "killed",
            _ => return false,
        }
        true
    }
}

/// The text with all that is written short. `«U+202E»` is a character by its number, so that no file looks like something else than it is.
/// `«text»×3` is that text three times, each with the number of its copy, from 0, where `№` stands.
fn expanded(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('«') {
        out.push_str(before);
        let (inner, after) = behind.split_once('»').unwrap_or_else(|| panic!("« without »: {behind}"));
        rest = after;
        if let Some(counted) = after.strip_prefix('×') {
            let digits = counted.find(|c: char| !c.is_ascii_digit()).unwrap_or(counted.len());
            for copy in 0..counted[..digits].parse::<usize>().unwrap() {
                out.push_str(&inner.replace('№', &copy.to_string()));
            }
            rest = &counted[digits..];
        } else {
            let number = inner.strip_prefix("U+").and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let letter = number.and_then(char::from_u32).unwrap_or_else(|| panic!("«{inner}» is neither repeated nor a character"));
            write!(out, "{letter}").unwrap();
        }
    }
    out + rest
}

#[test]
fn short_notations_in_hostile_scripts_are_expanded() {
    assert_eq!(expanded("a«(»×3«U+41»«x№,»×3b"), "a(((Ax0,x1,x2,b");
}
