//! Bundles as bytes: manifests in JSON and YAML, and the inspection and unpacking of archives.

#[cfg(test)]
mod hostile_tests;
mod inspect;
mod json;
mod reader;
mod scan;
#[cfg(test)]
mod tar_tests;
#[cfg(test)]
mod test_archive;
mod unpack;
mod yaml;

use inspect::classify;
pub use inspect::{InspectError, Inspected, inspect};
pub use json::{JsonError, parse_json};
pub use reader::LocalBundleReader;
pub use unpack::{UnpackError, unpack};
pub use yaml::parse_yaml;
