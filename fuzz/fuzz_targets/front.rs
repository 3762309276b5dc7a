//! Any bytes through lexer, splitter, parser, checker and formatter.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        iverson_tests::fuzz::check_front(text);
    }
});
