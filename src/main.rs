//! The `hero` program.

fn main() {}
