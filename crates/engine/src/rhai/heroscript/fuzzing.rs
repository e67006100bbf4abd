use super::{call, is_heroscript, parse};
use crate::Capability;

/// Parses any text. A valid script is printed so that it parses to the same script, which prints the same. An error has
/// a position inside the text.
pub(crate) fn heroscript(source: &str) {
    is_heroscript(source);
    match parse::parse(source) {
        Ok(script) => {
            let printed = script.to_string();
            let again = parse::parse(&printed).unwrap_or_else(|wrong| panic!("what was printed cannot be read: {wrong:?}\n{printed}"));
            assert_eq!(again, script, "what was printed is read as something else\n{printed}");
            assert_eq!(again.to_string(), printed, "it is printed in another way");
            // Its actions may name existing functions or not.
            script.actions.iter().for_each(|action| drop(call::Call::new(action, &Capability::ALL)));
        }
        Err(wrong) => {
            let lines = source.split('\n').count();
            assert!((1..=lines).contains(&(wrong.position.line as usize)) && wrong.position.column >= 1, "{wrong:?}");
        }
    }
}
