//! Fuzzes the front end with any bytes. If they are a program, also runs it in the interpreter with
//! small limits.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        iverson_tests::fuzz::check_front(text);
        iverson_tests::fuzz::check_run(text);
    }
});
