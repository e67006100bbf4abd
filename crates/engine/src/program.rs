use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::script_engine::{Absent, ProgramSettings, ScriptEngine};
use hero_model::ScriptType;

/// Makes [`Program`] of a list of engines: first the one that has no settings, then the others. The first that runs the
/// scripts of a type is taken.
macro_rules! engines {
    (
        $built_in:ident in crate $(::$its_module:ident)+;
        $($engine:ident in crate $(::$module:ident)+),+ $(,)?
    ) => {
        use crate $(::$its_module)+::$built_in;
        $(pub use crate $(::$module)+::$engine;)+

        /// The program that runs the jobs of an engine.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Program {
            /// The interpreter of this program, inside the engine's own process.
            #[default]
            $built_in,
            $(
                #[doc = concat!("With the settings of [`", stringify!($engine), "`].")]
                $engine($engine),
            )+
        }

        impl Program {
            /// Finds the program for the scripts of a pool. One that is configured and missing is an error.
            pub async fn find(of: &ProgramSettings<'_>) -> Result<Result<Self, Absent>, String> {
                if $built_in::runs(of) {
                    return Ok($built_in::find(of).await?.map(|$built_in| Self::$built_in));
                }
                $(if $engine::runs(of) {
                    return Ok($engine::find(of).await?.map(Self::$engine));
                })+
                Err(no_engine(of.script_type))
            }

            /// The script types that need no configuration.
            pub fn names() -> Vec<&'static str> {
                [$built_in::names(), $($engine::names()),+].concat()
            }

            pub(crate) fn engine(&self) -> &dyn ScriptEngine {
                match self {
                    Self::$built_in => &$built_in,
                    $(Self::$engine(engine) => engine,)+
                }
            }

            /// Lowers the memory for the data of one process, including a compiler, to `most` bytes. Rhai has another
            /// limit.
            pub fn limit_memory(&mut self, most: u64) {
                match self {
                    Self::$built_in => $built_in.limit_memory(most),
                    $(Self::$engine(engine) => engine.limit_memory(most),)+
                }
            }
        }
    };
}

engines! {
    Rhai in crate::rhai::engine;
    Command in crate::command::shell,
    Python in crate::command::python,
    V in crate::command::v,
}

impl Program {
    /// Whether each job is a process of its own below the engine's.
    pub fn has_processes(&self) -> bool {
        self.engine().has_processes()
    }

    /// The paths that the processes of jobs run and read besides the system's programs.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.engine().paths().into_iter()
    }
}

fn no_engine(script_type: &ScriptType) -> String {
    let names = Program::names();
    let (last, others) = names.split_last().expect("the list of engines has the built-in one");
    format!(
        "pool {script_type}: there is no engine for this script type; {} and {last} have one, and a configuration file names \
         the command for others: [script_types.{script_type}] command = [\"PROGRAM\", \"{{script}}\"]",
        others.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(script_type: &ScriptType) -> ProgramSettings<'_> {
        ProgramSettings {
            script_type,
            command: None,
            file: "script",
            readable: &[],
            memory: 1 << 20,
            interpreter: None,
            venv: None,
            pool_venv: None,
        }
    }

    #[tokio::test]
    async fn the_first_engine_that_runs_a_type_is_found_and_where_none_does_those_that_need_no_settings_are_named() {
        let [osis, python, other] = ["osis", "python", "bash"].map(|name| name.parse::<ScriptType>().unwrap());
        assert_eq!(Program::find(&settings(&osis)).await, Ok(Ok(Program::Rhai)));
        let command = ["/bin/sh".to_owned(), "{script}".to_owned()];
        let with_command = ProgramSettings { command: Some(&command), ..settings(&python) };
        assert!(matches!(Program::find(&with_command).await, Ok(Ok(Program::Command(_)))));
        let error = Program::find(&settings(&other)).await.unwrap_err();
        assert!(error.starts_with("pool bash: there is no engine for this script type; osis, sal, python"), "{error}");
        assert!(error.contains(" have one, and a configuration file names the command for others"), "{error}");
    }

    /// A server starts engines by the file of the program, which an upgrade may have replaced meanwhile.
    #[test]
    fn engines_of_another_version_can_read_which_program_they_are_for() {
        assert_eq!(serde_json::to_string(&Program::Rhai).unwrap(), "\"rhai\"");
        let command = Command { command: Vec::new(), file: "script".into(), readable: Vec::new(), memory: 1 };
        let written = serde_json::to_string(&Program::Command(command)).unwrap();
        assert_eq!(written, r#"{"command":{"command":[],"file":"script","readable":[],"memory":1}}"#);
    }
}
