use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::thread;

use rhai::packages::{Package, StandardPackage};
use rhai::{AST, Dynamic, Engine, Module, OptimizationLevel, Scope, Shared};
use serde_json::{Map, Value};

use super::cache::{AstCache, Compiled};
use super::constants::{self, Constants, FUNCTIONS_BEFORE};
use super::race::{Race, Races};
use super::run::Run;
use super::{calls, convert, copy, failure, functions, heroscript, namespaces, overrides, tokens};
use crate::{Capability, EngineJob, Limits, Names, alloc};
use hero_model::{ErrorKind, JobError, Json, LogLevel, Output, OutputFormat, Usage};

/// Rhai as scripts see it: the standard package with our overrides, and the cache of compiled scripts.
pub(super) struct Language {
    standard: StandardPackage,
    /// Our functions, and the overrides of Rhai's.
    functions: Shared<Module>,
    /// The functions that have a namespace.
    namespaces: Vec<(&'static str, Shared<Module>)>,
    /// The same for HeroScript, which has no namespaces.
    of_namespaces: Shared<Module>,
    compiled: AstCache,
    repl: Repl,
    run: Rc<Run>,
}

/// The declarations of a REPL's lines.
#[derive(Default, Clone)]
struct Repl {
    scope: Option<Scope<'static>>,
    functions: Option<AST>,
}

impl Language {
    pub(super) fn new(run: &Rc<Run>) -> Self {
        let mut functions = overrides::module(run);
        functions::add(&mut functions, run);
        Self {
            standard: StandardPackage::new(),
            functions: functions.into(),
            namespaces: functions::namespaces(run),
            of_namespaces: functions::of_namespaces(run),
            compiled: AstCache::new(),
            repl: Repl::default(),
            run: Rc::clone(run),
        }
    }

    /// Runs a job to its end, or the next line of a REPL.
    pub(super) fn run(&mut self, job: &EngineJob, in_repl: bool) -> (Result<Output, JobError>, Usage) {
        // The tree is made before the script's memory is counted, and dropped after the script: it does not count as
        // memory of the script.
        let args = match job.args.as_ref().map_or_else(|| Ok(Value::Object(Map::new())), Json::to_value) {
            Ok(args) => Rc::new(args),
            Err(error) => {
                return (Err(JobError::new(ErrorKind::Unavailable, format!("the engine can't read args: {error}"))), Usage::default());
            }
        };
        self.run.begin(job);
        let result = catch_unwind(AssertUnwindSafe(|| self.evaluate(job, Rc::clone(&args), in_repl))).unwrap_or_else(|panic| {
            let message = format!("a function of the engine failed: {}", failure::panic_text(panic.as_ref()));
            Err(JobError::new(ErrorKind::Script, failure::truncate(&message)))
        });
        let result = match self.run.ended() {
            // The script was ended. So that reason is the error, whatever the script returned. The position is kept.
            Some(reason) => {
                let (line, column, stack) = result.err().map_or((None, None, Vec::new()), |error| (error.line, error.column, error.stack));
                Err(JobError { line, column, stack, ..self.run.ended_error(reason) })
            }
            None => result,
        };
        (result, self.run.usage())
    }

    fn evaluate(&mut self, job: &EngineJob, args: Rc<Value>, in_repl: bool) -> Result<Output, JobError> {
        if job.script.trim() == "ping" {
            return Ok(Output { text: "pong".into(), format: OutputFormat::Text });
        }
        let script = match self.compiled.get(&job.script) {
            Some(script) => script,
            None if heroscript::is_heroscript(&job.script) => return self.perform(&job.script),
            None => self.compile(&job.script, Some(&self.run.clone()))?,
        };
        let constants = Constants::new(job, args, &self.run);
        let before = if in_repl { alloc::apart(|| self.repl.clone()) } else { Repl::default() };
        let merged = before.functions.map(|functions| functions.merge(&script.ast));
        let ast = merged.as_ref().unwrap_or(&script.ast);
        let Some(mut scope) = before.scope.or_else(|| constants.scope()) else {
            // The sender of jobs reports the path of the number: the original text is not known here.
            return Err(JobError::new(ErrorKind::Unavailable, "args hold an integer beyond those of scripts"));
        };
        let mut engine = self.engine();
        // The declarations of earlier lines of a REPL may also name them.
        if in_repl || script.names_constants {
            constants.install(&mut engine);
        } else if script.copies {
            copy::install(&mut engine);
        }
        // The value is dropped here, too, because dropping deeply nested values needs the stack of this thread.
        let value = engine.eval_ast_with_scope::<Dynamic>(&mut scope, ast);
        if in_repl {
            // The declarations of a line before its failure stay, too. Of variables with the same name the last stays.
            self.repl = Repl { scope: Some(scope.clone_visible()), functions: Some(ast.clone_functions_only()) };
        }
        match value.or_else(|error| failure::exited(&error).ok_or(error)) {
            Ok(value) => convert::output(&value, self.run.limits.result),
            Err(error) => {
                let race = Race::behind(&script.races, &error).map(Race::error);
                let told = failure::job_error(*error, &self.run.limits, &self.run.capabilities);
                Err(race.map_or_else(|| told.clone(), |race| JobError { stack: told.stack.clone(), ..race }))
            }
        }
    }

    /// Runs a script in HeroScript.
    fn perform(&self, source: &str) -> Result<Output, JobError> {
        let mut engine = self.engine();
        engine.register_global_module(self.of_namespaces.clone());
        let value = heroscript::run(source, &engine, &self.run)?;
        convert::output(&value, self.run.limits.result)
    }

    /// Compiles a script that is not to run. Returns its error, if there is one.
    pub(super) fn check(&mut self, source: &str, names: Names) -> Option<JobError> {
        let wrong = || match self.compiled.get(source) {
            Some(script) => names.check(&script.ast, &script.races).err(),
            None if heroscript::is_heroscript(source) => heroscript::check(source, &self.run.capabilities).err(),
            None => self.compile(source, None).and_then(|script| names.check(&script.ast, &script.races)).err(),
        };
        catch_unwind(AssertUnwindSafe(wrong)).unwrap_or_else(|panic| {
            let message = format!("the compiler failed: {}", failure::panic_text(panic.as_ref()));
            Some(JobError::new(ErrorKind::Script, failure::truncate(&message)))
        })
    }

    /// Compiles a script. `run` is the run in which it is to be executed.
    fn compile(&mut self, source: &str, run: Option<&Rc<Run>>) -> Result<Rc<Compiled>, JobError> {
        let names_constants = constants::may_be_named(source);
        let (ast, Races { copies, left }) = compiled(source, &self.run.limits, run)?;
        let script = Rc::new(Compiled { ast, names_constants, copies: !copies.is_empty(), races: left });
        self.compiled.put(source, &script);
        Ok(script)
    }

    /// Makes a new engine for each job, so that no data of one job can reach the next. This takes about 0.2 µs. It has
    /// no string interner and no module resolver, which `Engine::new` would install.
    fn engine(&self) -> Engine {
        let mut engine = limited(&self.run.limits);
        self.standard.register_into_engine(&mut engine);
        // Functions that are registered later are found first.
        engine.register_global_module(self.functions.clone());
        for (name, module) in &self.namespaces {
            engine.register_static_module(name, module.clone());
        }
        let run = Rc::clone(&self.run);
        engine.on_progress(move |_| run.step());
        let run = Rc::clone(&self.run);
        engine.on_print(move |text| run.log(LogLevel::Info, text));
        let run = Rc::clone(&self.run);
        engine.on_debug(move |text, _, _| run.log(LogLevel::Debug, text));
        engine
    }
}

/// Makes an engine that only has its limits. It has no limits of sizes: see `overrides`.
fn limited(limits: &Limits) -> Engine {
    // For Rhai, zero means no limit here.
    let depth = limits.expression_depth.max(1);
    let mut engine = Engine::new_raw();
    engine
        .set_optimization_level(OptimizationLevel::None)
        .set_fail_on_invalid_map_property(limits.strict)
        .set_max_call_levels(limits.call_levels)
        .set_max_expr_depths(depth, depth)
        .set_max_variables(limits.variables)
        .set_max_functions(limits.functions.saturating_add(FUNCTIONS_BEFORE))
        .set_max_modules(0)
        .set_max_operations(0);
    engine
}

/// Compiles a script, for as long as its run may continue, if it is to run. Also returns the variables that closures
/// and methods use at the same time.
fn compiled(source: &str, limits: &Limits, run: Option<&Rc<Run>>) -> Result<(AST, Races), JobError> {
    let script = compiled_with(source, limits, run, &Races::default())?;
    // Without this character there is no closure.
    let races = if source.contains('|') { Races::of(&script) } else { Races::default() };
    Ok(if races.copies.is_empty() { (script, races) } else { (compiled_with(source, limits, run, &races)?, races) })
}

fn compiled_with(source: &str, limits: &Limits, run: Option<&Rc<Run>>, races: &Races) -> Result<AST, JobError> {
    let mut engine = limited(limits);
    // `eval` would compile at run time, where no clock is checked.
    engine.disable_symbol("eval");
    // There are no modules. Disabled here, `import` fails before a script runs, with our own message.
    engine.disable_symbol("import");
    tokens::watch(&mut engine, run, races.copies.clone());
    constants::compile(&mut engine, source).map_err(|error| failure::job_error((*error).into(), limits, &[]))
}

impl Names {
    fn check(self, script: &AST, races: &[Race]) -> Result<(), JobError> {
        self.check_all(script, races).into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns the errors in the order of their lines.
    fn check_all(self, script: &AST, races: &[Race]) -> Vec<JobError> {
        if self == Self::Any {
            return Vec::new();
        }
        let mut errors: Vec<JobError> = races.iter().map(Race::error).collect();
        errors.extend(namespaces::check(script, &Capability::ALL).err());
        errors.extend(calls::unknown(script));
        errors.sort_by_key(|error| (error.line, error.column));
        errors
    }
}

/// Compiles a script in this process with the default limits of engines, without running it. Returns its error, if
/// there is one.
///
/// For a script of the user who runs this process: it uses a thread with the stack size of an engine, but nothing
/// confines it.
pub fn check(source: &str, names: Names) -> Result<(), JobError> {
    check_all(source, names).into_iter().next().map_or(Ok(()), Err)
}

/// Like [`check`], but returns all errors that can be found at once, in the order of their lines.
pub fn check_all(source: &str, names: Names) -> Vec<JobError> {
    let (source, limits) = (source.to_owned(), Limits::default());
    if let Err(error) = limits.check_length(&source) {
        return vec![error];
    }
    if heroscript::is_heroscript(&source) {
        return heroscript::check(&source, &Capability::ALL).err().into_iter().collect();
    }
    let thread = thread::Builder::new().stack_size(super::STACK_BYTES).spawn(move || match compiled(&source, &limits, None) {
        Ok((script, races)) => names.check_all(&script, &races.left),
        Err(error) => vec![error],
    });
    // If there is no thread, or the compiler panics, the script is unchecked. Its engine will find its errors.
    thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
}
