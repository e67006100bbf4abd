use std::default::Default as _;
use std::fmt::Write as _;

use super::SETTINGS;
use crate::model::size_text;
use crate::rpc::Limits;

/// A setting: its name in the TOML file, its kind, default and description.
///
/// `--help`, `--print-config`, the check for unknown names and `docs/settings.md` are generated from this.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key in the TOML file.
    pub name: &'static str,
    /// The form of the value.
    pub kind: Kind,
    /// The default in words, or exactly as a user would write it.
    pub default: Default,
    /// The commands that have the setting.
    pub scope: Scope,
    /// The description.
    pub doc: &'static str,
}

/// The form of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `--name VALUE`.
    One(&'static str),
    /// `--name` or `--name=false`.
    Switch,
    /// `--name A,B`, or several times.
    List(&'static str),
    /// Only in the environment or a file, because other users can read the arguments of a process.
    Secret,
    /// `--pool TYPE[:GROUP]=N`, or tables in a file.
    Pools,
    /// `--context-endpoint N=URL`, or tables in a file.
    Endpoints,
    /// `--name A,B`, or a table for each in a file.
    Types(&'static str),
    /// Like `Types`, for contexts; the tables add to the list.
    Contexts(&'static str),
}

/// The default of a setting.
#[derive(Debug, Clone, Copy)]
pub enum Default {
    /// This text, exactly as a user would write it.
    Is(&'static str),
    /// The default of a limit of the RPC server.
    Limit(fn(&Limits) -> u64),
    /// A default that is computed at the start. The text says how.
    Computed(&'static str),
    /// There is no default.
    None,
}

/// The commands that have a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `hero serve`.
    Server,
    /// `hero serve` and `hero actor`.
    Both,
}

/// Makes `SETTINGS` and the struct `Settings`. Each setting has its description, how its value is read, and its type;
/// then its form, default and scope. The file itself is only in the list.
macro_rules! settings {
    ($(#[doc = $doc:literal] $(#[serde($($read:tt)*)])? $name:ident: $type:ty = $kind:expr, $default:expr, $scope:expr;)*) => {
        /// Every setting, in the order of `--help` and the documentation.
        pub static SETTINGS: &[Setting] = &[
            Setting::new(
                "config",
                One("FILE"),
                Default::None,
                Both,
                " A TOML file with settings. Its keys are those that --print-config shows, such as max_request",
            ),
            $(Setting::new(stringify!($name), $kind, $default, $scope, $doc),)*
        ];

        /// Every setting, with its final value. Paths of directories are absolute, and sizes are in bytes.
        #[derive(Debug, Clone, Deserialize)]
        pub struct Settings {
            $(
                #[doc = concat!("`", stringify!($name), "` of [`SETTINGS`].")] // Some texts have addresses, which are no links.
                $(#[serde($($read)*)])?
                pub $name: $type,
            )*
            /// The configuration of single contexts.
            #[serde(skip)]
            pub of_contexts: Vec<ContextSettings>,
        }
    };
}
pub(super) use settings;

impl Setting {
    /// `doc` is a doc comment, with the space behind its slashes.
    pub(super) const fn new(name: &'static str, kind: Kind, default: Default, scope: Scope, doc: &'static str) -> Self {
        Self { name, kind, default, scope, doc: doc.split_at(1).1 }
    }

    /// Returns the setting called `name` in the TOML file.
    pub fn named(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// Returns the default as a user would write it, unless it is computed at the start.
    pub fn default_text(&self) -> Option<String> {
        match (self.default, self.kind) {
            (Default::Is(value), _) => Some(value.to_owned()),
            (Default::Limit(limit), Kind::One("SIZE")) => Some(size_text(limit(&Limits::default()))),
            (Default::Limit(limit), _) => Some(limit(&Limits::default()).to_string()),
            (Default::Computed(_) | Default::None, _) => None,
        }
    }

    /// Returns the command line flag, without its dashes.
    pub fn flag(&self) -> Option<String> {
        match self.kind {
            Kind::Secret => None,
            Kind::Pools => Some("pool".to_owned()),
            Kind::Endpoints => Some("context-endpoint".to_owned()),
            Kind::One(_) | Kind::Switch | Kind::List(_) | Kind::Types(_) | Kind::Contexts(_) => Some(self.name.replace('_', "-")),
        }
    }

    /// Returns the name of the environment variable.
    pub fn env(&self) -> String {
        match self.kind {
            Kind::Pools => "HERO_POOL".to_owned(),
            Kind::Endpoints => "HERO_CONTEXT_ENDPOINT".to_owned(),
            _ => format!("HERO_{}", self.name.to_uppercase()),
        }
    }

    /// Whether the command with settings of `scope` has this setting.
    pub fn is_for(&self, scope: Scope) -> bool {
        scope == Scope::Server || self.scope == Scope::Both
    }
}

/// Renders the table for `docs/settings.md`.
pub fn markdown() -> String {
    let mut text = String::from("| setting | flag | environment | default | |\n| --- | --- | --- | --- | --- |\n");
    for setting in SETTINGS {
        let flag = match (setting.flag(), setting.kind) {
            (Some(flag), Kind::Switch) => format!("`--{flag}`"),
            (Some(flag), Kind::One(value) | Kind::List(value) | Kind::Types(value) | Kind::Contexts(value)) => {
                format!("`--{flag} {value}`")
            }
            (Some(flag), Kind::Endpoints) => format!("`--{flag} N=URL`"),
            (Some(flag), _) => format!("`--{flag} TYPE[:GROUP]=N`"),
            (None, _) => "–".to_owned(),
        };
        let default = match setting.default {
            Default::Computed(words) => words.replace('<', "&lt;"),
            _ => setting.default_text().map_or_else(|| "–".to_owned(), |value| format!("`{value}`")),
        };
        let also = if setting.scope == Scope::Both { "" } else { " *(server only)*" };
        writeln!(text, "| `{}` | {flag} | `{}` | {default} | {}{also} |", setting.name, setting.env(), setting.doc)
            .expect("writing to a String cannot fail");
    }
    text
}
