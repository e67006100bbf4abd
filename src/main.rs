//! The `hero` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    hero::cli::main()
}
