//! Fuzzes the front end and the interpreter with any UTF-8 text, to find panics and endless runs. A
//! text that is a program also runs, with small limits.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        iverson_tests::fuzz::check_front_end(text);
        iverson_tests::fuzz::check_run(text);
    }
});
