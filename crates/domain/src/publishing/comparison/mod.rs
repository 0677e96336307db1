//! What differs between a version and the one that users have, for its reviewers and its developer.

mod facts;
mod lines;
mod pictures;
mod read;
mod texts;

pub use facts::{Compared, ComparedFacts, DependencyNeed, ENTRIES_MAX, compare_facts};
pub use lines::{DiffLine, Hunk, LINES_MAX, LineChange, LineDiff, TEXT_BYTES_MAX, diff_lines};
pub use pictures::{ComparedPicture, ShownPicture};
pub use read::{ComparedFiles, VersionComparison, compare_version, find_picture};
pub use texts::{ComparedText, TextKind};
