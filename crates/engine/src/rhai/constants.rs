//! The constants of a script: `args`, `env`, `JOB_ID` and others. Its functions and closures see them, too.
//!
//! To Rhai they are variables of the outermost scope. But Rhai's functions do not see that scope. And a closure shares
//! the variables that it uses with its surroundings, which fails when it is called by a method of the same value:
//! `args.list.map(|x| x * args.factor)`. So if the scope does not have them, the constants are resolved by name. The
//! parser gets functions with these names, because closures capture no name of a function. A script with its own
//! variables of these names is parsed without these functions, and its closures capture its variables.
//!
//! `inputs` and `SLOT` are requested when a script first reads them, so they cost nothing for other scripts.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use rhai::{AST, Dynamic, Engine, EvalAltResult, INT, ParseError, Position, Scope};
use serde_json::{Map, Value};

use super::native::Native;
use super::run::Run;
use super::{convert, copy};
use crate::{EngineJob, JobCall, alloc};
use hero_model::{Input, Json};

/// The names of the constants.
const NAMES: [&str; 8] = ["args", "env", "JOB_ID", "CALLER_ID", "CONTEXT_ID", "ATTEMPT", "inputs", "SLOT"];
/// The number of constants that need no host call.
const GIVEN_CONSTANTS: usize = 6;
/// The functions that precede a script. They have ten parameters, so they do not collide with functions of scripts.
const DECLARED: &str = "fn args(a,b,c,d,e,f,g,h,i,j){}fn env(a,b,c,d,e,f,g,h,i,j){}fn JOB_ID(a,b,c,d,e,f,g,h,i,j){}\
    fn CALLER_ID(a,b,c,d,e,f,g,h,i,j){}fn CONTEXT_ID(a,b,c,d,e,f,g,h,i,j){}fn ATTEMPT(a,b,c,d,e,f,g,h,i,j){}\
    fn inputs(a,b,c,d,e,f,g,h,i,j){}fn SLOT(a,b,c,d,e,f,g,h,i,j){}\n";
const PARAMETER_COUNT: usize = 10;
/// The number of functions that precede a script.
pub(super) const FUNCTIONS_BEFORE: usize = NAMES.len();
/// The number of lines that precede a script.
pub(super) const LINES_BEFORE: usize = 1;

/// Whether a script may name a constant. May be wrongly true, because it also searches texts and comments.
pub(super) fn may_be_named(source: &str) -> bool {
    NAMES.into_iter().any(|name| source.contains(name))
}

/// The constants of a job.
pub(super) struct Constants {
    job: [Dynamic; 4],
    /// `args` and `env`.
    trees: [Rc<Value>; 2],
    /// `inputs` and `SLOT`, once they were requested.
    asked: [OnceCell<Rc<Value>>; NAMES.len() - GIVEN_CONSTANTS],
    /// The values of `args`, `env` and `inputs` for functions and closures. They are shared, so that nothing is copied
    /// at each use. A value is locked while one of its methods runs a closure, so the closure gets another one.
    shared: RefCell<[Vec<Dynamic>; NAMES.len()]>,
    run: Rc<Run>,
}

impl Constants {
    /// Makes the constants of a job.
    pub(super) fn new(job: &EngineJob, args: Rc<Value>, run: &Rc<Run>) -> Self {
        let env = job.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        Self {
            job: [
                job.job_id.as_str().to_owned().into(),
                job.caller_id.clone().into(),
                INT::from(job.context_id.0).into(),
                INT::from(job.attempt).into(),
            ],
            trees: [args, Rc::new(Value::Object(env.collect()))],
            asked: Default::default(),
            shared: RefCell::default(),
            run: Rc::clone(run),
        }
    }

    /// The outermost scope, with the constants that need no host call as variables. `None` if `args` contain an integer
    /// that is too large for scripts.
    pub(super) fn scope(&self) -> Option<Scope<'static>> {
        let mut scope = Scope::new();
        for (at, name) in NAMES.into_iter().enumerate().take(GIVEN_CONSTANTS) {
            scope.push_constant_dynamic(name, self.value(at)?);
        }
        Some(scope)
    }

    fn value(&self, at: usize) -> Option<Dynamic> {
        let asked = at.checked_sub(GIVEN_CONSTANTS).and_then(|at| self.asked[at].get());
        match asked.or_else(|| self.trees.get(at)) {
            // The input of a script may be longer than the values that it makes.
            Some(tree) => alloc::apart(|| convert::dynamic(tree)),
            None => self.job.get(at - self.trees.len()).cloned(),
        }
    }

    /// The value of the constant with this index, unless a variable has its name.
    fn get(&self, at: usize) -> Native<Option<Dynamic>> {
        self.ask(at)?;
        let mut shared = self.shared.borrow_mut();
        if let Some(free) = shared[at].iter().find(|one| !one.is_locked()) {
            return Ok(Some(free.clone()));
        }
        let Some(value) = self.value(at) else { return Ok(None) };
        if (self.trees.len()..GIVEN_CONSTANTS).contains(&at) {
            return Ok(Some(value));
        }
        let value = value.into_read_only();
        let one = if value.is_map() || value.is_array() { value.into_shared() } else { value };
        shared[at].push(one.clone());
        Ok(Some(one))
    }

    /// Requests the constant with this index, if it needs a host call and was not requested yet.
    fn ask(&self, at: usize) -> Native<()> {
        let Some(known) = at.checked_sub(GIVEN_CONSTANTS).map(|at| &self.asked[at]).filter(|known| known.get().is_none()) else {
            return Ok(());
        };
        let refused = |why: String| Box::new(EvalAltResult::ErrorRuntime(format!("{}: {why}", NAMES[at]).into(), Position::NONE));
        let value = match NAMES[at] {
            "SLOT" => self.run.ask(JobCall::Occurrence.into())?.map_err(refused)?.to_value().unwrap_or_default(),
            _ => {
                let answer = self.run.ask(JobCall::Inputs.into())?.map_err(refused)?;
                alloc::allow_for(answer.as_str().len());
                alloc::apart(|| inputs(&answer)).map_err(refused)?
            }
        };
        let _ = known.set(Rc::new(value)); // Nobody else sets it meanwhile.
        Ok(())
    }

    /// Makes the constants visible to functions and closures of an engine, which then resolves each use of a variable
    /// here.
    pub(super) fn install(self, engine: &mut Engine) {
        #[expect(deprecated, reason = "that is how Rhai marks what may change; its version is pinned")]
        engine.on_var(move |name, index, mut context| {
            if let Some(copy) = copy::resolved(name, &mut context)? {
                return Ok(Some(copy));
            }
            // Variables of the script have an index, unless their position in the scope is only known at run time.
            let at = if index == 0 { NAMES.iter().position(|known| *known == name) } else { None };
            match at.filter(|_| !context.scope().contains(name)) {
                Some(at) => self.get(at),
                None => Ok(None),
            }
        });
    }
}

/// Returns the outputs of prerequisites, each once: by its name, or by its id ([`Input::keys`]).
fn inputs(answer: &Json) -> Result<Value, String> {
    let inputs: Vec<Input> = serde_json::from_str(answer.as_str()).map_err(|error| error.to_string())?;
    let mut map = Map::new();
    for (key, Input { job_id, value, .. }) in Input::keys(&inputs).into_iter().zip(&inputs) {
        let value = value.to_value().map_err(|error| error.to_string())?;
        if convert::dynamic(&value).is_none() {
            return Err(format!("the output of {job_id} has an integer beyond those of scripts"));
        }
        map.insert(key.to_owned(), value);
    }
    Ok(map.into())
}

/// Compiles a script, with [`LINES_BEFORE`] lines before it. This changes the engine, so it must not be used for
/// anything else later.
pub(super) fn compile(engine: &mut Engine, source: &str) -> Result<AST, Box<ParseError>> {
    let ours = |name: &str| NAMES.contains(&name);
    let own = Rc::new(Cell::new(binds_in_passing(source)));
    let seen = Rc::clone(&own);
    #[expect(deprecated, reason = "that is how Rhai marks what may change; its version is pinned")]
    engine.on_def_var(move |_, variable, _| {
        seen.set(seen.get() || ours(variable.name()));
        Ok(true)
    });
    let scope = Scope::new();
    let ast = engine.compile_scripts_with_scope(&scope, [DECLARED, source])?;
    let hides =
        |name: &str, parameters: &[&str]| !is_declared(name, parameters.len()) && parameters.iter().any(|parameter| ours(parameter));
    if own.get() || ast.iter_functions().any(|function| hides(function.name, &function.params)) {
        return Ok(engine.compile_scripts_with_scope(&scope, ["\n", source])?);
    }
    Ok(ast)
}

/// Whether a function with this number of parameters is one of those that precede a script, which the script does not
/// know.
pub(super) fn is_declared(name: &str, parameters: usize) -> bool {
    parameters == PARAMETER_COUNT && NAMES.contains(&name)
}

/// Whether a loop or a `catch` may declare a variable with one of the names, which the parser does not report. May be
/// wrongly true, because it also searches texts and comments. Takes linear time, because no clock is checked here.
fn binds_in_passing(source: &str) -> bool {
    let binds = |text: &str| {
        let (first, rest) = word(text);
        let second = rest.trim_start().strip_prefix(',').map_or("", |rest| word(rest).0);
        [first, second].into_iter().any(|name| NAMES.contains(&name))
            || [text, rest].into_iter().any(|text| text.trim_start().starts_with('/'))
    };
    ["for", "catch"].into_iter().any(|keyword| {
        let behind = source.match_indices(keyword).map(|(at, _)| &source[at + keyword.len()..]);
        behind.filter(|text| !text.starts_with(is_word)).any(binds)
    })
}

/// Returns the next word, after white space and parentheses, and the rest.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    text.split_at(text.find(|c| !is_word(c)).unwrap_or(text.len()))
}

/// Whether names of scripts may contain this character.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_a_loop_or_a_catch_is_found() {
        for script in [
            "for args in 0..3 {}",
            "for (x, env) in [1] {}",
            "for(args,i) in [1] {}",
            "try {} catch (args) {}",
            "for /* it */ args in 0..3 {}",
            "for (x /* y */, args) in [1] {}",
            "for // it\n args in 0..3 {}",
        ] {
            assert!(binds_in_passing(script), "{script}");
        }
        for script in [
            "for x in args {}",
            "args.list.for_each(|x| x)",
            "for (x, i) in args.list {}",
            "try {} catch { args }",
            "for",
            "catch (",
            "forargs in 0..3",
        ] {
            assert!(!binds_in_passing(script), "{script}");
        }
    }
}
