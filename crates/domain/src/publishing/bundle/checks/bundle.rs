//! Runs, on a bundle that is not uploaded yet, the checks that need no other app of the store and none of its lists.

use super::super::archive::ArchiveError;
use super::super::limits::UploadLimits;
use super::super::manifest::Manifest;
use super::super::picture::{PictureError, PictureLimits};
use super::super::ports::{BundleReader, ExtractedFile, InspectedBundle, InspectionError, Spooled};
use super::super::wanted::{FileRole, WantedFiles};
use super::pictures::MeasuredFile;
use super::{CheckName, CheckResult, Finding, Rule, check_license, check_look_alike, check_manifest, check_pictures};
use crate::shared::Timestamp;
use std::collections::BTreeSet;

/// Checks a packed bundle. The blocked digests are missing in the results; so are the names that look alike, unless the title alone breaks
/// their rules. Both are the store's to check.
pub async fn check_bundle(
    reader: &dyn BundleReader,
    manifest: &Manifest,
    bundle: &dyn Spooled,
    limits: &UploadLimits,
    now: Timestamp,
) -> Vec<CheckResult> {
    let wanted = WantedFiles::of(manifest, &limits.pictures);
    let inspected = reader.inspect(bundle, &limits.archive, &wanted).await;
    let secrets = reader.scan(bundle, &limits.archive).await.map(|scan| scan.secrets);
    let files = inspected.as_ref().ok().map(|inspected| inspected.files.as_slice());
    let known = |check: &dyn Fn(&[ExtractedFile]) -> Vec<Finding>| files.map(check);
    let outcomes = [
        (CheckName::Manifest, known(&|files| manifest_findings(reader, manifest, &wanted, files))),
        (CheckName::Archive, archive_findings(&inspected)),
        (CheckName::Secrets, secrets.ok()),
        (CheckName::License, known(&|files| check_license(&manifest.license, has_license(&wanted, files)))),
        (CheckName::Pictures, known(&|files| picture_findings(reader, &limits.pictures, &wanted, files))),
    ];
    let mut results: Vec<_> = outcomes
        .into_iter()
        .map(|(name, findings)| match findings {
            Some(findings) => CheckResult::of(name, findings, now),
            // A file that cannot be read says nothing about the others.
            None => CheckResult::errored(name, now),
        })
        .collect();
    let of_title = check_look_alike(&manifest.name, &manifest.title, &[]);
    if !of_title.is_empty() {
        results.push(CheckResult::of(CheckName::LookAlike, of_title, now));
    }
    results.sort_by_key(|result| result.name);
    results
}

/// `None`: the bundle cannot be read, which is no fault of it.
fn archive_findings(inspected: &Result<InspectedBundle, InspectionError>) -> Option<Vec<Finding>> {
    match inspected {
        Ok(_) => Some(Vec::new()),
        Err(InspectionError::Refused(error)) => Some(vec![Finding::of(Rule::ArchiveUnsafe, ArchiveError::to_string(error))]),
        Err(InspectionError::Storage(_)) => None,
    }
}

fn has_license(wanted: &WantedFiles, files: &[ExtractedFile]) -> bool {
    files.iter().any(|file| wanted.role_of(&file.path) == Some(FileRole::License))
}

fn manifest_findings(reader: &dyn BundleReader, manifest: &Manifest, wanted: &WantedFiles, files: &[ExtractedFile]) -> Vec<Finding> {
    let roles: Vec<_> = files.iter().filter_map(|file| wanted.role_of(&file.path)).collect();
    let Some(inner) = files.iter().find(|file| wanted.role_of(&file.path) == Some(FileRole::Manifest)) else {
        let missing = ArchiveError::Missing { path: "package/blocklet.yml".to_owned() };
        return vec![Finding::of(Rule::ManifestUnreadable, missing.to_string())];
    };
    let is_json = inner.path.ends_with(".json");
    let parsed = if is_json { reader.parse_json(&inner.content) } else { reader.parse_yaml(&inner.content) };
    check_manifest(manifest, &inner.path, parsed.as_ref().map_err(String::as_str), &roles)
}

/// What an upload would refuse, too: pictures that are missing, and screenshots with the same content.
fn picture_findings(reader: &dyn BundleReader, limits: &PictureLimits, wanted: &WantedFiles, files: &[ExtractedFile]) -> Vec<Finding> {
    let of_role = |file: &ExtractedFile| wanted.role_of(&file.path).filter(|role| matches!(role, FileRole::Logo | FileRole::Screenshot));
    let measured: Vec<_> = files
        .iter()
        .filter_map(|file| {
            let picture = reader.measure(&file.content);
            Some(MeasuredFile { role: of_role(file)?, path: file.path.clone(), size: file.content.len() as u64, picture })
        })
        .collect();
    let mut findings = check_pictures(&measured, limits);
    let mut add = |file: &str, error: PictureError| findings.push(Finding::in_file(Rule::PictureInvalid, file, error.to_string()));
    let mut seen = BTreeSet::new();
    for path in std::iter::once(wanted.logo()).chain(wanted.screenshots().iter().map(String::as_str)) {
        match files.iter().find(|file| file.path == path) {
            None => add(path, PictureError::Missing { file: path.to_owned() }),
            Some(file) if path != wanted.logo() && !seen.insert(&file.content) => {
                add(path, PictureError::SameContent { file: path.to_owned() });
            }
            Some(_) => {}
        }
    }
    findings
}
