//! The migrations are embedded: a new file in their folders must compile this crate again.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
