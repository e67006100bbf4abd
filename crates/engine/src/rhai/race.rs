//! Methods whose closure uses the variable on which they are called: `m.items.filter(|x| x > m.min)`.
//!
//! Rhai shares a variable with the closures that use it, and locks it while one of its methods runs, so the closure
//! would find it locked. Methods that only read are called on a copy (`copy.rs`). For a method that changes its value,
//! a copy would lose the change; such a call is reported with its position.

use std::collections::HashSet;

use rhai::{AST, ASTFlags, ASTNode, BinaryExpr, EvalAltResult, Expr, FnCallExpr, Position, Stmt};

use super::failure;
use hero_model::{ErrorKind, JobError};

/// Methods that do not change their value.
const READING: [&str; 26] = [
    "all",
    "contains",
    "extract",
    "filter",
    "find",
    "find_map",
    "first",
    "get",
    "index_of",
    "is_empty",
    "join",
    "keys",
    "last",
    "len",
    "map",
    "order",
    "order_desc",
    "reduce",
    "reduce_rev",
    "some",
    "split",
    "sum",
    "to_array",
    "to_json",
    "to_string",
    "values",
];

/// A call of a method that must fail, because its closure uses the variable that it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Race {
    variable: String,
    method: String,
    position: Position,
}

/// The races of a script.
#[derive(Debug, Default)]
pub(super) struct Races {
    /// The positions of variables that have to be copied.
    pub(super) copies: HashSet<Position>,
    /// The calls that must fail.
    pub(super) left: Vec<Race>,
}

impl Races {
    /// Finds the races of a compiled script.
    pub(super) fn of(script: &AST) -> Self {
        let mut races = Self::default();
        script.walk(&mut |path: &[ASTNode<'_>]| {
            races.look_at(script, path);
            true
        });
        races
    }

    fn look_at(&mut self, script: &AST, path: &[ASTNode<'_>]) {
        let Some(ASTNode::Expr(expr @ (Expr::Dot(chain, ..) | Expr::Index(chain, ..)))) = path.last() else { return };
        let Expr::Variable(variable, _, position) = &chain.lhs else { return };
        let parent = path.len().checked_sub(2).and_then(|at| path.get(at));
        if let Some(ASTNode::Expr(Expr::Dot(before, flags, _) | Expr::Index(before, flags, _))) = parent
            && !flags.intersects(ASTFlags::BREAK)
            && std::ptr::eq(&raw const before.rhs, &raw const **expr)
        {
            // It is an index within a chain.
            return;
        }
        let name = variable.1.as_str();
        let methods = methods(expr);
        let Some((call, at)) = methods.iter().find(|(call, _)| call.args.iter().any(|argument| shares(argument, name))) else { return };
        let is_own = |method: &str| script.iter_functions().any(|function| function.name == method);
        if methods.iter().all(|(call, _)| READING.contains(&call.name.as_str()) && !is_own(&call.name)) {
            self.copies.insert(*position);
        } else {
            self.left.push(Race { variable: name.to_owned(), method: call.name.to_string(), position: *at });
        }
    }
}

impl Race {
    /// The error, with a suggestion.
    pub(super) fn error(&self) -> JobError {
        let Self { variable, method, position } = self;
        let message = format!(
            "{variable} cannot be used in a closure that is given to {variable}.….{method}(…), which may change {variable}: copy what the closure \
             needs first, such as `let min = {variable}.min;`"
        );
        let (line, column) = failure::place(*position);
        JobError { line, column, ..JobError::new(ErrorKind::Script, failure::truncate(&message)) }
    }

    /// Returns the first of these races that caused an error of Rhai.
    pub(super) fn behind<'r>(races: &'r [Self], error: &EvalAltResult) -> Option<&'r Self> {
        match error {
            EvalAltResult::ErrorInFunctionCall(_, _, cause, _) => Self::behind(races, cause),
            EvalAltResult::ErrorDataRace(what, _) => races.iter().find(|race| what.contains(&format!("'{}'", race.method))),
            _ => None,
        }
    }
}

/// Returns the methods of a chain in order, each with its position.
fn methods(chain: &Expr) -> Vec<(&FnCallExpr, Position)> {
    let (mut methods, mut rest) = (Vec::new(), Some(chain));
    let mut is_first = true;
    while let Some(expr) = rest.take() {
        let link = match expr {
            Expr::Dot(links, flags, _) | Expr::Index(links, flags, _) => {
                let BinaryExpr { lhs, rhs } = &**links;
                // The last link follows the end of a chain.
                if !flags.intersects(ASTFlags::BREAK) || !matches!(rhs, Expr::Dot(..) | Expr::Index(..)) {
                    rest = Some(rhs);
                }
                if is_first { None } else { Some(lhs) }
            }
            last => Some(last),
        };
        is_first = false;
        if let Some(Expr::MethodCall(call, position)) = link {
            methods.push((&**call, *position));
        }
    }
    methods
}

/// Whether an argument is a closure that uses a variable.
fn shares(argument: &Expr, name: &str) -> bool {
    let Expr::Stmt(block) = argument else { return false };
    block
        .statements()
        .iter()
        .any(|statement| matches!(statement, Stmt::Share(shared) if shared.iter().any(|(variable, _)| variable.name == name)))
}
