//! Fuzzes the lexer, splitter, parser, checker and formatter with any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        iverson_tests::fuzz::check_front_end(text);
    }
});
