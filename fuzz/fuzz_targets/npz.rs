//! Any bytes as a `.npz` file: what is read is made a value, written, and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = lang_repl::probe_data_file("x.npz", bytes);
});
