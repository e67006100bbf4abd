use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::script_engine::ScriptEngine;

/// Makes [`Program`] of a list of engines: first the one that has no settings, then the others.
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
