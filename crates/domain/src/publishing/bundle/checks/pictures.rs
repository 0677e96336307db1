//! Whether the pictures of a version still follow the preferences, which may have changed since its upload.

use super::super::picture::{Picture, PictureError, PictureLimits, check_logo, check_screenshot};
use super::super::wanted::FileRole;
use super::{Finding, Rule};

/// A measured picture of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredFile {
    pub role: FileRole,
    pub path: String,
    /// Bytes.
    pub size: u64,
    pub picture: Option<Picture>,
}

/// Checks the pictures and their sizes.
#[must_use]
pub fn check_pictures(files: &[MeasuredFile], limits: &PictureLimits) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |file: &str, detail: String| findings.push(Finding::in_file(Rule::PictureInvalid, file, detail));
    let screenshots = files.iter().filter(|file| file.role == FileRole::Screenshot).count();
    if !limits.image_count.contains(&screenshots) {
        let (min, max) = (*limits.image_count.start(), *limits.image_count.end());
        add("", PictureError::Count { min, max }.to_string());
    }
    for file in files {
        let (checked, max) = match file.role {
            FileRole::Logo => (check_logo(&file.path, file.picture, limits), limits.logo_max),
            FileRole::Screenshot => (check_screenshot(&file.path, file.picture, limits), limits.image_max),
            _ => continue,
        };
        if let Err(error) = checked {
            add(&file.path, error.to_string());
        }
        if file.size > max {
            add(&file.path, format!("the file is larger than {max} bytes"));
        }
    }
    findings
}
