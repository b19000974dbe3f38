//! See the input's module.
#![no_main]

#[path = "../inputs/http.rs"]
mod input;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| input::run(bytes));
