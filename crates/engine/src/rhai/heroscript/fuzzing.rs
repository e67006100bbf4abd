use super::{call, is_heroscript, parse};
use crate::Capability;

/// Reads any text. What could be read is printed so that it is read again as the same, and printed in the same way; what could not is told with a place
/// that the text has.
pub(crate) fn heroscript(source: &str) {
    is_heroscript(source);
    match parse::parse(source) {
        Ok(script) => {
            let printed = script.to_string();
            let again = parse::parse(&printed).unwrap_or_else(|wrong| panic!("what was printed cannot be read: {wrong:?}\n{printed}"));
            assert_eq!(again, script, "what was printed is read as something else\n{printed}");
            assert_eq!(again.to_string(), printed, "it is printed in another way");
            // Its actions name functions that there are, or not.
            script.actions.iter().for_each(|action| drop(call::Call::new(action, &Capability::ALL)));
        }
        Err(wrong) => {
            let lines = source.split('\n').count();
            assert!((1..=lines).contains(&(wrong.position.line as usize)) && wrong.position.column >= 1, "{wrong:?}");
        }
    }
}
