//! The rules of bundles: manifests, archives, names and versions (reference/store.md 5).

pub mod archive;
mod manifest;
mod name;
mod path;
mod version;

pub use manifest::*;
pub use name::{NAME_MAX, NameError, check_name};
pub use path::{BundlePath, PATH_MAX, PathError};
pub use version::{VERSION_MAX, default_version, parse_version};
