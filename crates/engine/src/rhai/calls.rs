//! Checks calls of functions without a namespace before a script runs.
//!
//! It only reports certain failures: a name with a number of arguments that neither the script, nor Rhai, nor the
//! reference defines. The method that is called depends on the value before the dot, so methods are only checked at run
//! time. A script that uses `is_def_fn` is not checked.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rhai::packages::{Package, StandardPackage};
use rhai::{AST, ASTNode, Engine, Expr, FnCallExpr, Stmt};

use super::{constants, failure};
use crate::rhai::functions::functions;
use hero_model::{ErrorKind, JobError, nearest};

/// Functions of Rhai's core with any number of arguments.
const WORDS: [&str; 8] = ["call", "curry", "debug", "Fn", "is_def_fn", "is_def_var", "is_shared", "type_of"];
/// Maximum number of calls that are reported.
const MAX_REPORTED_CALLS: usize = 20;
/// The function that checks whether a function exists.
const ASKING: &str = "is_def_fn";

/// The name of a function, and the number of its arguments.
type FunctionKey = (String, usize);

/// The functions of Rhai, and those of the reference. Overrides have names of Rhai's functions.
static KNOWN: LazyLock<BTreeSet<FunctionKey>> = LazyLock::new(|| {
    let mut engine = Engine::new_raw();
    StandardPackage::new().register_into_engine(&mut engine);
    let mut known: BTreeSet<FunctionKey> =
        engine.collect_fn_metadata(None, |one| Some((one.metadata.name.to_string(), one.metadata.num_params)), true).into_iter().collect();
    for function in functions().iter().filter(|function| function.parts().0.is_none()) {
        known.extend((function.required()..=function.parameters.len()).map(|count| (function.name.clone(), count)));
    }
    known
});

/// Finds the calls of undefined functions, in the order of their lines, and at most [`MAX_REPORTED_CALLS`]. Rhai itself only finds one
/// when the script reaches it.
pub(super) fn unknown(script: &AST) -> Vec<JobError> {
    let (mut wrong, mut asks) = (Vec::new(), false);
    script.walk(&mut |path: &[ASTNode<'_>]| {
        if let Some(ASTNode::Expr(Expr::FnCall(call, position)) | ASTNode::Stmt(Stmt::FnCall(call, position))) = path.last() {
            asks |= call.name.as_str() == ASKING;
            if !call.is_qualified() && !call.is_operator_call() && !is_there(script, call) {
                wrong.push((*position, call.name.to_string(), call.args.len()));
            }
        }
        !asks
    });
    if asks {
        return Vec::new();
    }
    wrong.sort_unstable();
    let told = |(position, name, count): (_, String, usize)| {
        let message = format!("Function not found: {name} with {}{}", values(count), meant(script, &name));
        let (line, column) = failure::place(position);
        JobError { line, column, ..JobError::new(ErrorKind::Script, failure::truncate(&message)) }
    };
    wrong.into_iter().take(MAX_REPORTED_CALLS).map(told).collect()
}

/// Whether the called function exists.
fn is_there(script: &AST, call: &FnCallExpr) -> bool {
    let (name, count) = (call.name.as_str(), call.args.len());
    WORDS.contains(&name) || own(script).any(|(own, parameters)| own == name && parameters == count) || is_known(name, count)
}

fn is_known(name: &str, count: usize) -> bool {
    KNOWN.contains(&(name.to_owned(), count))
}

/// The functions of a script, each with the number of its arguments.
fn own(script: &AST) -> impl Iterator<Item = (&str, usize)> {
    let written = |(name, count): &(&str, usize)| !constants::is_declared(name, *count);
    script.iter_functions().map(|function| (function.name, function.params.len())).filter(written)
}

/// Formats a number of arguments, for people.
pub(super) fn values(count: usize) -> String {
    if count == 1 { "1 value".to_owned() } else { format!("{count} values") }
}

/// Suggests a function: the same name with another number of arguments, or the nearest name that may be called.
fn meant(script: &AST, name: &str) -> String {
    let is_name = |name: &str| name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.chars().all(constants::is_word);
    let all = || own(script).chain(KNOWN.iter().map(|(name, count)| (name.as_str(), *count))).filter(|(other, _)| is_name(other));
    let Some(near) = nearest(name, all().map(|(other, _)| other)) else { return String::new() };
    let is_own = own(script).any(|(own, _)| own == near);
    match functions().iter().find(|function| function.name == near && !is_own) {
        Some(function) => format!("; there is {}", function.signature()),
        None => {
            let counts: BTreeSet<usize> = all().filter(|(other, _)| *other == near).map(|(_, count)| count).collect();
            let counts: Vec<String> = counts.into_iter().map(values).collect();
            format!("; there is {near} with {}", counts.join(" or "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::language::check;
    use super::*;
    use crate::Names;

    #[test]
    fn every_callable_function_is_known_to_the_check() {
        for function in functions() {
            assert_eq!(check(&function.example, Names::Checked).map_err(|error| error.message), Ok(()), "{}", function.example);
        }
        // The overrides replace functions of Rhai, so these are known.
        for (name, count) in
            [("replace", 3), ("pad", 3), ("blob", 1), ("blob", 2), ("sin", 1), ("cos", 1), ("tan", 1), ("print", 1), ("debug", 1)]
        {
            assert!(is_known(name, count) || WORDS.contains(&name), "{name} with {count}");
        }
        for name in ["sort", "sort_desc", "order", "order_desc", "to_string", "to_debug"] {
            assert!(is_known(name, 1), "{name}");
        }
    }

    #[test]
    fn what_a_script_makes_itself_is_no_typo() {
        for script in [
            "let f = |x| x + 1; f.call(1)",
            "let f = |x| x + 1; call(f, 1)",
            "let n = 2; let f = |x| x + n; [1].map(f)",
            "later(1); fn later(x) { x }",
            "fn f(x) { x } fn f(x, y) { x + y } f(1) + f(1, 2)",
            "fn add(x) { this += x } let a = 1; a.add(2); a.nothing_that_is_known(3)",
            "fn int.double() { this * 2 } 2.double()",
            "let f = Fn(\"print\"); f.call(1); curry(f, 2)",
            "fn show() { x } let x = 1; show!()",
            "print(1); debug(2); type_of(3); is_shared(4); is_def_var(\"x\"); to_string(1); len(\"x\"); abs(-1)",
            "let m = #{ f: |x| x }; m.f(1); m.f.call(2)",
            "let x = [1]; push(x, 2); x[0].to_string(); -x[0] + 1 .. 3; 1 in x; !true",
            "if is_def_fn(\"newer\", 1) { newer(1) }",
            "newer(1); is_def_fn(\"newer\", 1)",
            "`${len(\"x\")}`; switch len(\"x\") { 1 => exit(), _ => throw 1 }; sleep(1); timestamp(); range(0, 3); parse_int(\"1\")",
            "let a = 5; let f = args; f; inputs; SLOT",
        ] {
            assert_eq!(check(script, Names::Checked).map_err(|error| error.message), Ok(()), "{script}");
        }
        for script in ["printt(1)", "newer(1)"] {
            assert_eq!(check(script, Names::Any), Ok(()), "{script}");
        }
    }
}
