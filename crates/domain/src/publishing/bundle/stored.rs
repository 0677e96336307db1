//! Reads the stored files of a version.

use super::manifest::{AppDids, Manifest, read_manifest};
use super::ports::BundleReader;
use super::records::UploadedVersion;
use crate::shared::StorageError;
use crate::store::Files;
use futures_util::StreamExt;

pub(super) fn missing(sha256: &str) -> StorageError {
    StorageError::Driver(format!("the file {sha256} is missing").into())
}

/// Reads a small file.
pub(in super::super) async fn read_file(files: &dyn Files, sha256: &str) -> Result<Vec<u8>, StorageError> {
    let mut opened = files.open(sha256).await?.ok_or_else(|| missing(sha256))?;
    let mut bytes = Vec::new();
    while let Some(part) = opened.content.next().await {
        bytes.extend_from_slice(&part.map_err(|error| StorageError::Driver(Box::new(error)))?);
    }
    Ok(bytes)
}

/// Reads the signed manifest. It was valid when it was uploaded.
pub(in super::super) async fn read_document(
    reader: &dyn BundleReader,
    dids: &dyn AppDids,
    files: &dyn Files,
    version: &UploadedVersion,
) -> Result<Manifest, StorageError> {
    let corrupt = |value: String| StorageError::Corrupt { table: "uploaded_versions", column: "document", value };
    let json = reader.parse_json(&read_file(files, &version.document).await?).map_err(corrupt)?;
    read_manifest(&json, dids).map(|file| file.manifest).map_err(|errors| corrupt(errors.to_string()))
}
