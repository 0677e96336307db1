//! The texts of two versions: descriptions, READMEs and changelogs.

use super::super::named::named;
use super::lines::{LineDiff, TEXT_BYTES_MAX, diff_lines};
use crate::publishing::bundle::{FileRole, Manifest, UploadedVersion, VersionFile};
use crate::shared::StorageError;
use crate::store::Files;
use futures_util::StreamExt;
use std::collections::BTreeMap;

named! {
    /// What a text is.
    TextKind {
        Description = "description",
        Readme = "readme",
        Changelog = "changelog",
    }
}

/// A text that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedText {
    pub kind: TextKind,
    /// The file, below `package/`; empty: a field of the manifest.
    pub path: String,
    pub diff: LineDiff,
}

/// A version with its manifest.
pub(super) struct ReadVersion {
    pub version: UploadedVersion,
    pub manifest: Manifest,
}

pub(super) async fn compare_texts(
    files: &dyn Files,
    before: Option<&ReadVersion>,
    after: &ReadVersion,
) -> Result<Vec<ComparedText>, StorageError> {
    let mut texts = Vec::new();
    let description = before.map_or("", |before| before.manifest.description.as_str());
    if description != after.manifest.description {
        let diff = diff_lines(description, &after.manifest.description);
        texts.push(ComparedText { kind: TextKind::Description, path: String::new(), diff });
    }
    for (kind, role) in [(TextKind::Readme, FileRole::Readme), (TextKind::Changelog, FileRole::Changelog)] {
        let mut pairs: BTreeMap<&str, [Option<&VersionFile>; 2]> = BTreeMap::new();
        for (side, version) in [(0, before), (1, Some(after))] {
            let of_role = version.into_iter().flat_map(|read| &read.version.files).filter(|file| file.role == role);
            for file in of_role {
                pairs.entry(file.path.as_str()).or_default()[side] = Some(file);
            }
        }
        for (path, [before, after]) in pairs {
            if before.map(|file| &file.sha256) == after.map(|file| &file.sha256) {
                continue;
            }
            let (before, after) = (read_start(files, before).await?, read_start(files, after).await?);
            let diff = diff_lines(&before, &after);
            // The ends of lines differ, or what comes after the cut.
            if !diff.hunks.is_empty() || diff.is_cut {
                texts.push(ComparedText { kind, path: path.to_owned(), diff });
            }
        }
    }
    Ok(texts)
}

/// Reads a little more of a file than is compared.
async fn read_start(files: &dyn Files, file: Option<&VersionFile>) -> Result<String, StorageError> {
    let Some(file) = file else { return Ok(String::new()) };
    let missing = || StorageError::Driver(format!("the file {} is missing", file.sha256).into());
    let mut opened = files.open(&file.sha256).await?.ok_or_else(missing)?;
    let mut bytes = Vec::new();
    while let Some(part) = opened.content.next().await {
        bytes.extend_from_slice(&part.map_err(|error| StorageError::Driver(Box::new(error)))?);
        if bytes.len() > TEXT_BYTES_MAX {
            bytes.truncate(TEXT_BYTES_MAX + 1);
            break;
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
