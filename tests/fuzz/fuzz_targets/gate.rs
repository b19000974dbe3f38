//! See the input's module.
#![no_main]

#[path = "../inputs/gate.rs"]
mod input;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &str)| input::run(input.0, input.1));
