//! The migrations are embedded in the binary, so a new migration file must trigger a rebuild of this crate.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
