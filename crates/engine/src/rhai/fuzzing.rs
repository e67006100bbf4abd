//! Invariants of all values that a script makes.

use rhai::{Dynamic, EvalAltResult, FLOAT, FnPtr, INT, Position};
use rust_decimal::Decimal;

pub(crate) use super::heroscript::fuzzing::heroscript;
use super::{convert, failure, text};
use crate::Limits;
use hero_model::OutputFormat;

/// The maximum size of a result here, in bytes.
const MAX_RESULT_BYTES: usize = 4 << 10;

/// Makes a value from these bytes and returns, throws and prints it: each output is bounded, and its JSON reads back as
/// the same value.
pub(crate) fn result(bytes: &[u8]) {
    let mut value = Bytes(bytes).value(0);
    // More levels than builders may have.
    for _ in 0..bytes.first().copied().unwrap_or_default() / 2 {
        value = Dynamic::from_array(vec![value]);
    }
    if let Ok(output) = convert::output(&value, MAX_RESULT_BYTES) {
        assert!(output.text.len() <= MAX_RESULT_BYTES, "{} bytes", output.text.len());
        if output.format == OutputFormat::Json {
            reads_again(&output.text);
        }
    }
    let mut shown = String::new();
    let whole = text::shown(&value, &mut shown, MAX_RESULT_BYTES);
    assert!(shown.len() <= MAX_RESULT_BYTES && (whole.is_ok() || !shown.is_empty()), "{} bytes are shown", shown.len());
    let error = failure::job_error(EvalAltResult::ErrorRuntime(value, Position::NONE), &Limits::default(), &[]);
    assert!(error.message.len() <= failure::LONGEST_MESSAGE, "a message of {} bytes", error.message.len());
    if let Some(data) = error.data {
        assert!(data.as_str().len() <= failure::LONGEST_DATA, "data of {} bytes", data.as_str().len());
    }
}

/// Checks that the JSON of a result, converted to a value and back, is the same JSON.
fn reads_again(text: &str) {
    let read: serde_json::Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("a result is no JSON: {error}\n{text}"));
    // A decimal number may be an integer that scripts do not have.
    let Some(value) = convert::dynamic(&read) else { return };
    let again = convert::json_of(&value, 2 * MAX_RESULT_BYTES).unwrap_or_else(|refused| panic!("what JSON says {refused}\n{text}"));
    let again: serde_json::Value = serde_json::from_str(&again).unwrap_or_else(|error| panic!("{error}\n{again}"));
    assert_eq!(again, read);
}

/// The bytes from which values are made. When none are left, zeros follow.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn eight(&mut self) -> [u8; 8] {
        std::array::from_fn(|_| self.byte())
    }

    fn text(&mut self) -> String {
        let length = usize::from(self.byte()).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    /// Makes as many values as a byte says, fewer if no bytes are left.
    fn values(&mut self, depth: usize) -> Vec<Dynamic> {
        let count = self.byte() % 16;
        (0..count).map_while(|_| (!self.0.is_empty()).then(|| self.value(depth + 1))).collect()
    }

    fn value(&mut self, depth: usize) -> Dynamic {
        match self.byte() % 15 {
            1 => self.byte().is_multiple_of(2).into(),
            2 => INT::from(self.byte()).into(),
            3 => INT::from_le_bytes(self.eight()).into(),
            4 => FLOAT::from_le_bytes(self.eight()).into(),
            5 => (FLOAT::from(self.byte()) / 8.0).into(),
            6 => char::from_u32(u32::from_le_bytes([self.byte(), self.byte(), self.byte() % 17, 0])).unwrap_or('\u{fffd}').into(),
            7 => self.text().into(),
            8 => self.text().repeat(usize::from(self.byte())).into(),
            9 => {
                let (most, least) = (self.eight(), self.eight());
                let (high, low) = (i64::from_le_bytes(most), [least[0], least[1], least[2], least[3]]);
                let digits = (i128::from(high) << 32) | i128::from(u32::from_le_bytes(low));
                Decimal::try_from_i128_with_scale(digits, u32::from(least[4]) % 29).map_or(Dynamic::UNIT, Into::into)
            }
            10 => Dynamic::from_blob(self.text().into_bytes()),
            11 if depth < 32 => Dynamic::from_array(self.values(depth)),
            12 if depth < 32 => {
                let values = self.values(depth);
                Dynamic::from_map(values.into_iter().map(|value| (self.text().into(), value)).collect())
            }
            13 => match self.byte() % 4 {
                0 => FnPtr::new("print").map_or(Dynamic::UNIT, Dynamic::from),
                1 => Dynamic::from(std::time::Instant::now()),
                2 => Dynamic::from(0..INT::from(self.byte())),
                _ => Dynamic::from(self.byte()),
            },
            14 if depth < 32 => self.value(depth + 1).into_shared(),
            _ => Dynamic::UNIT,
        }
    }
}
