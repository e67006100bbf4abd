use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use rhai::packages::{Package, StandardPackage};
use rhai::{AST, Dynamic, Engine, INT, Module, OptimizationLevel, Scope, Shared};
use serde_json::Value;

use super::cache::AstCache;
use super::run::Run;
use super::{convert, failure, overrides};
use crate::engine::EngineJob;
use crate::model::{ErrorKind, JobError, Json, Limit, LogLevel, Output, OutputFormat, Usage};

/// Rhai as scripts see it: the standard package under our overrides, and the scripts compiled so far.
pub(super) struct Language {
    standard: StandardPackage,
    overrides: Shared<Module>,
    compiled: AstCache,
    run: Rc<Run>,
}

impl Language {
    pub(super) fn new(run: &Rc<Run>) -> Self {
        Self { standard: StandardPackage::new(), overrides: overrides::module(run).into(), compiled: AstCache::new(), run: Rc::clone(run) }
    }

    /// Runs a job to its end.
    pub(super) fn run(&mut self, job: &EngineJob) -> (Result<Output, JobError>, Usage) {
        // Made before the script's memory is counted, and there until it has ended: the tree is not the script's.
        let args = match job.args.as_ref().map(Json::to_value).transpose() {
            Ok(args) => args,
            Err(error) => {
                return (Err(JobError::new(ErrorKind::Unavailable, format!("the engine can't read args: {error}"))), Usage::default());
            }
        };
        self.run.begin(job);
        let result = catch_unwind(AssertUnwindSafe(|| self.evaluate(job, args.as_ref()))).unwrap_or_else(|panic| {
            let message = format!("a function of the engine failed: {}", failure::panic_text(panic.as_ref()));
            Err(JobError::new(ErrorKind::Script, failure::truncate(&message)))
        });
        let result = match self.run.ended() {
            // An error that came of the end, or a result that came too late: the reason is what counts, the place is kept.
            Some(reason) => {
                let (line, column, stack) = result.err().map_or((None, None, Vec::new()), |error| (error.line, error.column, error.stack));
                Err(JobError { line, column, stack, ..self.run.ended_error(reason) })
            }
            None => result,
        };
        (result, self.run.usage())
    }

    fn evaluate(&mut self, job: &EngineJob, args: Option<&Value>) -> Result<Output, JobError> {
        if job.script.trim() == "ping" {
            return Ok(Output { text: "pong".into(), format: OutputFormat::Text });
        }
        let most = self.run.limits.source;
        if job.script.len() > most {
            let message = format!("the script has {} bytes, at most {most} are allowed", job.script.len());
            return Err(JobError { limit: Some(Limit::Source), ..JobError::new(ErrorKind::Limit, message) });
        }
        let mut engine = self.engine();
        let ast = self.compile(&mut engine, &job.script)?;
        let mut scope = scope(job, args);
        // The value is dropped here too: what nests deep needs this thread's stack to come apart.
        match engine.eval_ast_with_scope::<Dynamic>(&mut scope, &ast) {
            Ok(value) => convert::output(&value, self.run.limits.result),
            Err(error) => Err(failure::job_error(*error, &self.run.limits)),
        }
    }

    fn compile(&mut self, engine: &mut Engine, source: &str) -> Result<Rc<AST>, JobError> {
        if let Some(ast) = self.compiled.get(source) {
            return Ok(ast);
        }
        // `eval` would compile at run time, out of reach of the clock.
        engine.disable_symbol("eval");
        let ast = Rc::new(engine.compile(source).map_err(|error| failure::job_error(error.into(), &self.run.limits))?);
        self.compiled.put(source, &ast);
        Ok(ast)
    }

    /// A fresh engine: about 0.2 µs, and nothing of one job can reach the next. It has no string interner and no module
    /// resolver, which `Engine::new` would install.
    fn engine(&self) -> Engine {
        let limits = &self.run.limits;
        // Rhai reads a zero here as no limit.
        let depth = limits.expression_depth.max(1);
        let mut engine = Engine::new_raw();
        engine
            .set_optimization_level(OptimizationLevel::None)
            .set_max_call_levels(limits.call_levels)
            .set_max_expr_depths(depth, depth)
            .set_max_string_size(limits.string.max(1))
            .set_max_array_size(limits.array.max(1))
            .set_max_map_size(limits.map.max(1))
            .set_max_variables(limits.variables)
            .set_max_functions(limits.functions)
            .set_max_modules(0)
            .set_max_operations(0);
        self.standard.register_into_engine(&mut engine);
        // Registered later, so found first.
        engine.register_global_module(self.overrides.clone());
        let run = Rc::clone(&self.run);
        engine.on_progress(move |_| run.step());
        let run = Rc::clone(&self.run);
        engine.on_print(move |text| run.log(LogLevel::Info, text));
        let run = Rc::clone(&self.run);
        engine.on_debug(move |text, _, _| run.log(LogLevel::Debug, text));
        engine
    }
}

/// What a script finds in scope, all constant.
fn scope(job: &EngineJob, args: Option<&Value>) -> Scope<'static> {
    let mut scope = Scope::new();
    scope.push_constant("JOB_ID", job.job_id.as_str().to_owned());
    scope.push_constant("CALLER_ID", job.caller_id.clone());
    scope.push_constant("CONTEXT_ID", INT::from(job.context_id.0));
    scope.push_constant_dynamic("args", args.map_or(Dynamic::UNIT, convert::dynamic));
    let env = job.env.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into()));
    scope.push_constant_dynamic("env", Dynamic::from_map(env.collect()));
    scope
}
