#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hero::engine::fuzzing::frames(bytes));
