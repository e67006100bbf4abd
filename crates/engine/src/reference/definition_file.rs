use std::fmt::Write as _;

use super::{ScriptFunction, TYPES, functions};

/// Returns the functions as a definition file of Rhai (`.d.rhai`), which editors read to complete and to check scripts.
pub fn definition_file() -> String {
    let (mut text, mut open) = (String::from("module static;\n"), None);
    for function in functions() {
        let (namespace, _) = function.parts();
        if namespace != open {
            close(&mut text, open);
            if let Some(namespace) = namespace {
                let _ = writeln!(text, "\nmodule {namespace} {{"); // Writing to a String cannot fail.
            }
            open = namespace;
        }
        // Rhai has no optional parameters, but several functions of the same name.
        for count in function.required()..=function.parameters.len() {
            write(&mut text, function, count);
        }
    }
    close(&mut text, open);
    text
}

/// Ends a namespace.
fn close(text: &mut String, open: Option<&str>) {
    if open.is_some() {
        text.push_str("}\n");
    }
}

/// Writes a function with this number of its parameters.
fn write(text: &mut String, function: &ScriptFunction, count: usize) {
    text.push('\n');
    let errors = function.errors.as_ref().map_or_else(String::new, |errors| format!("\n\nError: {errors}"));
    let who = function.who().map_or_else(String::new, |who| format!("\n\nFor {who}."));
    for line in format!("{}{who}{errors}\n\n```rhai\n{}\n```", function.description, function.example).lines() {
        let _ = writeln!(text, "{}", format!("/// {line}").trim_end()); // Writing to a String cannot fail.
    }
    let parameters: Vec<String> =
        function.parameters[..count].iter().map(|parameter| format!("{}: {}", parameter.name, rhai_name(&parameter.kind))).collect();
    let _ = writeln!(text, "fn {}({}) -> {};", function.parts().1, parameters.join(", "), rhai_name(&function.returns));
}

/// Returns the name of a type in definition files; a union of types is any.
fn rhai_name(kind: &str) -> &'static str {
    TYPES.iter().find(|(name, _)| *name == kind).map_or("?", |(_, rhai)| rhai)
}
