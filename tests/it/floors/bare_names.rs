//! A number or a time says by its name what it limits, so that its uses can be read without its declaration.

use super::files;

/// Words that are no name of a number or a time by themselves: they say neither of what it is nor in which unit.
const BARE: &str = "AGAIN AHEAD ATTEMPTS AT_MOST AT_ONCE AT_REST BATCH BETWEEN BUFFER BUSY BYTES CAP CHUNK DEEPEST DEPTH EACH END \
    ENDS EVERY FEW FEWEST FIRST FRESH GIVEN GONE HEAD IDLE INTERVAL IN_USE KEPT KNOWN LARGE LARGEST LAST LATE \
    LATER LEFT LIMIT LINE LINES LITTLE LONG LONGEST LOOK LOOKED_AT MANY MORE MOST NAMED OFTEN OF_ONE OVERDUE PACE \
    PAGE PATIENCE PAUSE PAUSES PERIOD PIECE PROBE QUIET RARE REMEMBERED REST RETRY ROOM ROUND ROUNDS SAME SHARE \
    SHORT SHORTEST SHOWN SILENCE SILENT SLACK SLOW SMALL SOON SOONEST STALE START STEP STEPS STOP STRIDE STUCK \
    TIMEOUT TIMES TINY TOGETHER TOLD TRIED TRIES TURN WAIT WAITING WALK WHOLE WORK";

/// The types of numbers.
const NUMBERS: [&str; 12] = ["u8", "u16", "u32", "u64", "u128", "usize", "i32", "i64", "i128", "isize", "f32", "f64"];

/// The constant that a line declares, if it is a number, a time, or some of them together.
fn declared(line: &str) -> Option<&str> {
    let (_, rest) = line
        .split_once("const ")
        .filter(|(before, _)| before.trim_start().is_empty() || before.ends_with("pub ") || before.ends_with(") "))?;
    let (name, rest) = rest.split_once(": ")?;
    let of = rest.split(" = ").next()?;
    (NUMBERS.contains(&of) || of.contains("Duration") || of.starts_with('(')).then_some(name)
}

#[test]
fn constants_say_what_they_limit() {
    let (mut known, mut wrong) = (0, Vec::new());
    for (file, text) in files().iter().filter(|(file, _)| file.ends_with(".rs")) {
        for (at, name) in text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, declared(line)?))) {
            known += 1;
            if BARE.split(' ').any(|bare| bare == name) {
                wrong.push(format!("{file}:{at} declares {name}"));
            }
        }
    }
    assert!(known > 500, "constants are not found any more: {known}");
    assert!(wrong.is_empty(), "say what is limited, and the unit of a number, as in MAX_QUERY_BYTES or RETRY_DELAY: {wrong:#?}");
}
