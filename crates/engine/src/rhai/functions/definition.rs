use std::rc::Rc;

use rhai::{FuncRegistration, Module, RhaiNativeFunc};

use crate::Capability;
use crate::rhai::run::Run;
use crate::script_function::{FunctionParameter, ScriptFunction};

/// The definition of a function, as its author writes it.
#[derive(Debug)]
pub(super) struct Definition {
    /// `name(parameter: type, other?: type) -> type`, where the name may begin with a namespace: `osis::get`. Types are
    /// those of [`TYPES`](crate::script_function::TYPES), several with `|` between them. Parameters with a question mark are
    /// optional.
    pub(super) signature: &'static str,
    /// What it does, in one or more sentences.
    pub(super) description: &'static str,
    /// When it fails with an error that scripts may catch; empty if never.
    pub(super) errors: &'static str,
    /// A script that uses it.
    pub(super) example: &'static str,
    /// The JSON of the example's result; empty if it has none, or a different one each time.
    pub(super) result: &'static str,
}

/// A parameter: its name, its type, and whether it is optional.
pub(super) type Parameter = (&'static str, &'static str, bool);

impl Definition {
    /// The name of the function.
    pub(super) fn name(&self) -> &'static str {
        self.parts().0
    }

    /// The parameters, in order.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let parameter = |text: &'static str| {
            let (name, kind) = text.split_once(": ").expect("a parameter has a type");
            name.strip_suffix('?').map_or((name, kind, false), |name| (name, kind, true))
        };
        self.parts().1.split(", ").filter(|text| !text.is_empty()).map(parameter).collect()
    }

    /// The type of the return value.
    pub(super) fn returns(&self) -> &'static str {
        self.parts().2
    }

    /// The name, the parameters and the return type.
    fn parts(&self) -> (&'static str, &'static str, &'static str) {
        let (name, rest) = self.signature.split_once('(').expect("a signature has parameters");
        let (parameters, returns) = rest.rsplit_once(") -> ").expect("a signature says what is given");
        (name, parameters, returns)
    }

    fn described(&self, group: &Group) -> ScriptFunction {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let parameter = |(name, kind, optional): Parameter| FunctionParameter { name: name.into(), kind: kind.into(), optional };
        ScriptFunction {
            name: self.name().to_owned(),
            group: group.name.to_owned(),
            parameters: self.parameters().into_iter().map(parameter).collect(),
            returns: self.returns().to_owned(),
            description: self.description.to_owned(),
            capability: group.needs,
            errors: some(self.errors),
            example: self.example.to_owned(),
            example_result: some(self.result).map(|json| serde_json::from_str(&json).expect("the result of an example is JSON")),
        }
    }

    /// Whether it may be called with this number of arguments.
    fn takes(&self, count: usize) -> bool {
        let parameters = self.parameters();
        let optional = parameters.iter().filter(|(_, _, optional)| *optional).count();
        (parameters.len() - optional..=parameters.len()).contains(&count)
    }
}

/// The functions of one subject. Either all are in one namespace, or none is.
pub(super) struct Group {
    /// The subject.
    pub(super) name: &'static str,
    /// The capability that a script needs for them, if any.
    pub(super) needs: Option<Capability>,
    /// The definitions of the functions.
    pub(super) definitions: &'static [Definition],
    /// Adds the functions.
    pub(super) add: fn(&mut Functions<'_>),
}

impl Group {
    /// Describes each function for people and editors.
    pub(super) fn described(&self) -> impl Iterator<Item = ScriptFunction> {
        self.definitions.iter().map(|definition| definition.described(self))
    }

    /// The namespace of the functions.
    pub(super) fn namespace(&self) -> Option<&'static str> {
        self.definitions.first().and_then(|first| first.name().split_once(NAMESPACE)).map(|(namespace, _)| namespace)
    }

    /// Adds the functions under these names.
    pub(super) fn add_to(&self, module: &mut Module, run: &Rc<Run>, names: Names) {
        if names != Names::Global || self.namespace().is_none() {
            (self.add)(&mut Functions { module, run, definitions: self.definitions, names });
        }
    }
}

/// Separates a namespace from a name.
const NAMESPACE: &str = "::";

/// The names under which functions are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Without a namespace: only functions that have none.
    Global,
    /// Without their namespace, into its module.
    Bare,
    /// `namespace_name`.
    Joined,
}

/// The target to which the functions of a group are added.
pub(super) struct Functions<'m> {
    module: &'m mut Module,
    run: &'m Rc<Run>,
    definitions: &'static [Definition],
    names: Names,
}

impl Functions<'_> {
    /// Adds a function, or another form of it. Its definition must allow this number of arguments.
    pub(super) fn add<A: 'static, const N: usize, const X: bool, R: Clone + 'static, const F: bool>(
        &mut self,
        name: &'static str,
        function: impl RhaiNativeFunc<A, N, X, R, F> + 'static,
    ) {
        let registration = match (self.names, name.split_once(NAMESPACE)) {
            (Names::Bare, Some((_, bare))) => FuncRegistration::new(bare),
            (Names::Joined, Some((namespace, bare))) => FuncRegistration::new(format!("{namespace}_{bare}")),
            _ => FuncRegistration::new(name),
        };
        let count = registration.set_into_module(self.module, function).num_params;
        debug_assert!(self.definitions.iter().any(|known| known.name() == name && known.takes(count)), "{name}/{count} has no definition");
    }

    /// The running script: its limits and its log.
    pub(super) fn run(&self) -> Rc<Run> {
        Rc::clone(self.run)
    }
}
