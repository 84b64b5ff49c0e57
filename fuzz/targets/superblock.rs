//! `src/superblock.rs`, driven by libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    flatwater_fuzz::superblock::run(input);
});
