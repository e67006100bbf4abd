//! Checks calls of functions in namespaces before a script runs.

use rhai::{AST, ASTNode, Expr, FnCallExpr, Stmt};

use super::{calls, failure};
use crate::Capability;
use crate::rhai::functions::functions;
use hero_model::{ErrorKind, JobError};

/// Finds the first call of a function in a namespace that a script with these capabilities does not have. Rhai itself
/// only finds it when the script reaches it.
pub(super) fn check(script: &AST, capabilities: &[Capability]) -> Result<(), JobError> {
    let mut wrong = None;
    script.walk(&mut |path: &[ASTNode<'_>]| {
        if let Some(ASTNode::Expr(Expr::FnCall(call, position)) | ASTNode::Stmt(Stmt::FnCall(call, position))) = path.last()
            && call.is_qualified()
            && let Some(message) = fault(call, capabilities)
        {
            wrong = Some((message, *position));
        }
        wrong.is_none()
    });
    match wrong {
        Some((message, position)) => {
            let (line, column) = failure::place(position);
            Err(JobError { line, column, ..JobError::new(ErrorKind::Script, failure::truncate(&message)) })
        }
        None => Ok(()),
    }
}

/// Returns why the called function does not exist.
fn fault(call: &FnCallExpr, capabilities: &[Capability]) -> Option<String> {
    let namespace = call.namespace.to_string();
    let is_had = |capability: Option<Capability>| capability.is_none_or(|needed| capabilities.contains(&needed));
    let had = || functions().iter().filter(|function| is_had(function.capability));
    if !had().any(|function| function.parts().0 == Some(&namespace)) {
        return Some(failure::no_namespace(&namespace));
    }
    let name = format!("{namespace}::{}", call.name);
    let takes = |count| had().any(|function| function.name == name && (function.required()..=function.parameters.len()).contains(&count));
    let values = calls::values(call.args.len());
    (!takes(call.args.len())).then(|| format!("Function not found: {name} with {values}{}", failure::as_defined(&name)))
}
