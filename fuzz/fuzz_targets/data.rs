//! Any bytes as a data file of each kind: what is read is made a value, written, and read again. The first byte
//! chooses the kind.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    const KINDS: [&str; 5] = ["x.npy", "x.npz", "x.csv", "x.json", "x.png"];
    if let Some((kind, bytes)) = bytes.split_first() {
        let _ = lang_repl::probe_data_file(KINDS[usize::from(*kind) % KINDS.len()], bytes);
    }
});
