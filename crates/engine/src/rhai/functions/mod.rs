//! The functions that scripts have besides Rhai's own, one file for each subject. Each file has the definitions for the
//! reference first, then the functions.
//!
//! The size of a value is checked before a function makes it, and an error that a script may catch says what is wrong
//! with the function's arguments.

mod array;
mod asking;
mod definition;
mod encoding;
mod file;
mod job;
mod json;
mod key_value;
mod log;
mod net;
mod number;
mod object;
mod process;
mod random;
mod regex;
mod string;
mod time;

use std::rc::Rc;
use std::sync::LazyLock;

use rhai::{Module, Shared};

use super::run::Run;
use crate::Capability;
use crate::script_function::ScriptFunction;
use definition::{Group, Names};
pub(super) use string::dedent;

/// All functions, in the order of the reference.
static GROUPS: [Group; 15] = [
    Group { name: "log", needs: None, definitions: log::DEFINITIONS, add: log::add },
    Group { name: "JSON", needs: None, definitions: json::DEFINITIONS, add: json::add },
    Group { name: "strings", needs: None, definitions: string::DEFINITIONS, add: string::add },
    Group { name: "regular expressions", needs: None, definitions: regex::DEFINITIONS, add: regex::add },
    Group { name: "arrays", needs: None, definitions: array::DEFINITIONS, add: array::add },
    Group { name: "numbers", needs: None, definitions: number::DEFINITIONS, add: number::add },
    Group { name: "time", needs: None, definitions: time::DEFINITIONS, add: time::add },
    Group { name: "encodings and hashes", needs: None, definitions: encoding::DEFINITIONS, add: encoding::add },
    Group { name: "random values", needs: None, definitions: random::DEFINITIONS, add: random::add },
    Group { name: "objects", needs: Some(Capability::Objects), definitions: object::DEFINITIONS, add: object::add },
    Group { name: "jobs", needs: Some(Capability::Jobs), definitions: job::DEFINITIONS, add: job::add },
    Group { name: "files", needs: Some(Capability::Fs), definitions: file::DEFINITIONS, add: file::add },
    Group { name: "processes", needs: Some(Capability::Process), definitions: process::DEFINITIONS, add: process::add },
    Group { name: "network", needs: Some(Capability::Net), definitions: net::DEFINITIONS, add: net::add },
    Group { name: "Redis", needs: Some(Capability::Redis), definitions: key_value::DEFINITIONS, add: key_value::add },
];

/// Returns all functions, in the order of the reference.
pub fn functions() -> &'static [ScriptFunction] {
    static FUNCTIONS: LazyLock<Vec<ScriptFunction>> = LazyLock::new(|| GROUPS.iter().flat_map(Group::described).collect());
    &FUNCTIONS
}

/// Returns the groups that scripts with these capabilities have.
fn groups(capabilities: &[Capability]) -> impl Iterator<Item = &'static Group> {
    GROUPS.iter().filter(|group| group.needs.is_none_or(|needed| capabilities.contains(&needed)))
}

/// Adds the functions without a namespace to a module.
pub(super) fn add(module: &mut Module, run: &Rc<Run>) {
    for group in groups(&run.capabilities) {
        group.add_to(module, run, Names::Global);
    }
}

/// Returns the namespaces with their functions.
pub(super) fn namespaces(run: &Rc<Run>) -> Vec<(&'static str, Shared<Module>)> {
    let named = groups(&run.capabilities).filter_map(|group| Some((group.namespace()?, group)));
    let of = |(namespace, group): (&'static str, &Group)| {
        let mut module = Module::new();
        module.set_id(namespace);
        group.add_to(&mut module, run, Names::Bare);
        // Otherwise each engine would do this.
        module.build_index();
        (namespace, module.into())
    };
    named.map(of).collect()
}

/// Returns the functions of all namespaces by the names that HeroScript calls: `osis_get`.
pub(super) fn of_namespaces(run: &Rc<Run>) -> Shared<Module> {
    let mut module = Module::new();
    for group in groups(&run.capabilities).filter(|group| group.namespace().is_some()) {
        group.add_to(&mut module, run, Names::Joined);
    }
    module.into()
}
