//! The pictures of two versions, side by side.

use crate::publishing::bundle::{FileRole, UploadedVersion, VersionFile};

/// A picture of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPicture {
    pub path: String,
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// The pictures at one place of a listing: the logo, or the screenshot with a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedPicture {
    /// Counts screenshots from 1; `None`: the logo.
    pub number: Option<usize>,
    pub before: Option<ShownPicture>,
    pub after: Option<ShownPicture>,
}

impl ComparedPicture {
    /// Whether users see another picture at this place.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.before.as_ref().map(|picture| &picture.sha256) != self.after.as_ref().map(|picture| &picture.sha256)
    }
}

/// All pictures, changed or not, so that each is seen among the others.
pub(super) fn compare_pictures(before: Option<&UploadedVersion>, after: &UploadedVersion) -> Vec<ComparedPicture> {
    let of = |version: Option<&UploadedVersion>, role: FileRole| -> Vec<ShownPicture> {
        let files = version.into_iter().flat_map(|version| &version.files).filter(|file| file.role == role);
        files.map(shown).collect()
    };
    let mut pictures = Vec::new();
    for role in [FileRole::Logo, FileRole::Screenshot] {
        let (mut before, mut after) = (of(before, role).into_iter(), of(Some(after), role).into_iter());
        for number in 1.. {
            let (before, after) = (before.next(), after.next());
            if before.is_none() && after.is_none() {
                break;
            }
            pictures.push(ComparedPicture { number: (role == FileRole::Screenshot).then_some(number), before, after });
        }
    }
    pictures
}

fn shown(file: &VersionFile) -> ShownPicture {
    ShownPicture { path: file.path.clone(), sha256: file.sha256.clone(), size: file.size }
}
