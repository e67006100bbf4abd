#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hero::rpc::fuzzing::requests(bytes));
