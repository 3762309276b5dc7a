//! Fuzzes the `.png` reader with any bytes. A file that parses becomes a value, which is written
//! and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = lang_repl::probe_data_file("x.png", bytes);
});
