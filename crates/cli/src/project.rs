//! The folder of an app, with its manifest.

use crate::error::FileError;
use souk_adapters::bundles::parse_yaml;
use souk_adapters::identity::CheckedAppDids;
use souk_domain::publishing::bundle::{AppDids, Dist, MANIFEST_MAX, Manifest, ManifestErrors, read_unsigned_manifest};
use souk_domain::shared::Json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The manifests that developers write. The first one is used.
const MANIFESTS: [&str; 2] = ["blocklet.yml", "blocklet.yaml"];
/// Where packed versions are written, below the folder.
pub const RELEASE_FOLDER: &str = ".blocklet/release";
/// The manifest of the packed version, in the release folder.
pub const RELEASE_MANIFEST: &str = "blocklet.json";
/// What a manifest gets when it is packed and signed.
const ADDED: [&str; 2] = ["dist", "signatures"];

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("there is no blocklet.yml in {}: create one with `souk init`, or name the folder of the app with --dir", .0.display())]
    NoManifest(PathBuf),
    #[error("{}: the manifest is larger than {MANIFEST_MAX} bytes", .0.display())]
    TooLarge(PathBuf),
    #[error("{}: {reason}", .file.display())]
    NotYaml { file: PathBuf, reason: String },
    /// One line for each error, as the store would answer.
    #[error("{errors}\nCorrect {}, and pack again.", .file.display())]
    Invalid { file: PathBuf, errors: ManifestErrors },
    #[error(transparent)]
    File(#[from] FileError),
}

/// The folder of an app.
pub struct Project {
    /// Canonical, so that it is no link.
    pub folder: PathBuf,
    pub file: PathBuf,
    /// The manifest that its developer wrote, without what packing adds. The DID of an app whose name yields it is filled in.
    pub manifest: Json,
}

impl Project {
    /// Reads the manifest of a folder, without judging its fields.
    ///
    /// # Errors
    /// There is none, or it is not YAML.
    pub fn open(folder: &Path) -> Result<Self, ProjectError> {
        let folder = folder.canonicalize().map_err(FileError::at(folder))?;
        let Some(file) = MANIFESTS.iter().map(|name| folder.join(name)).find(|file| file.is_file()) else {
            return Err(ProjectError::NoManifest(folder));
        };
        let text = read_bounded(&file, MANIFEST_MAX)?.ok_or_else(|| ProjectError::TooLarge(file.clone()))?;
        let manifest = parse_yaml(&text).map_err(|reason| ProjectError::NotYaml { file: file.clone(), reason })?;
        Ok(Self { folder, file, manifest: with_did(manifest.without(&ADDED)) })
    }

    /// Adds the description of a bundle, and checks all fields by the rules of the store.
    ///
    /// # Errors
    /// Everything that is wrong with the manifest, up to a limit.
    pub fn describe(&self, dist: &Dist) -> Result<Release, ProjectError> {
        let mut document = self.manifest.clone();
        if let Json::Object(members) = &mut document {
            let members_of_dist = BTreeMap::from([
                ("tarball".to_owned(), Json::Text(dist.tarball.clone())),
                ("integrity".to_owned(), Json::Text(dist.integrity.clone())),
                ("size".to_owned(), Json::Number(dist.size.to_string())),
            ]);
            members.insert("dist".to_owned(), Json::Object(members_of_dist));
        }
        match read_unsigned_manifest(&document, &CheckedAppDids) {
            Ok(manifest) => Ok(Release { document, manifest }),
            Err(errors) => Err(ProjectError::Invalid { file: self.file.clone(), errors }),
        }
    }

    /// A text of the manifest.
    pub fn text(&self, member: &str) -> &str {
        self.manifest.get(member).and_then(Json::as_text).unwrap_or_default()
    }

    pub fn release_folder(&self) -> PathBuf {
        self.folder.join(RELEASE_FOLDER)
    }
}

/// The manifest of a packed version.
pub struct Release {
    pub document: Json,
    pub manifest: Manifest,
}

fn with_did(mut manifest: Json) -> Json {
    if let Json::Object(members) = &mut manifest
        && matches!(members.get("did"), None | Some(Json::Null))
        && let Some(name) = members.get("name").and_then(Json::as_text)
    {
        let did = CheckedAppDids.of_name(name).to_string();
        members.insert("did".to_owned(), Json::Text(did));
    }
    manifest
}

/// Reads a small file; `None`: it is larger than `max` bytes.
pub fn read_bounded(path: &Path, max: usize) -> Result<Option<Vec<u8>>, FileError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(max as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(FileError::at(path))?;
    Ok(Some(bytes).filter(|bytes| bytes.len() <= max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(manifest: &str) -> (tempfile::TempDir, Result<Project, ProjectError>) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("blocklet.yml"), manifest).expect("writes");
        let project = Project::open(folder.path());
        (folder, project)
    }

    #[test]
    fn the_did_of_an_app_is_derived_from_its_name() {
        let (_folder, project) = open("name: static-demo-blocklet\ndist: {}\n");
        let project = project.expect("opens");
        assert_eq!(project.text("did"), "z8ia4e5vAeDsQEE2P26bQqz9oWR1Lxg9qUMaV");
        assert_eq!(project.manifest.get("dist"), None);
    }

    #[test]
    fn a_manifest_is_refused_with_the_messages_of_the_store() {
        let (_folder, project) = open("name: hello\nversion: '1.2'\ndescription: Says hello\nlogo: logo.png\n");
        let dist = Dist { tarball: "hello.tgz".to_owned(), integrity: format!("sha512-{}==", "A".repeat(86)), size: 1 };
        let message = project.expect("opens").describe(&dist).err().expect("refused").to_string();
        assert!(message.starts_with("Invalid blocklet meta: version must be a semantic version"), "{message}");
        assert!(message.contains("pack again") && !message.contains("dist"), "{message}");
    }

    #[test]
    fn a_folder_without_a_readable_manifest_is_refused_with_what_to_do() {
        let empty = tempfile::tempdir().expect("a folder");
        let message = Project::open(empty.path()).err().expect("refused").to_string();
        assert!(message.contains("souk init"), "{message}");
        for text in ["a: [", "a: 1\na: 2"] {
            assert!(matches!(open(text).1, Err(ProjectError::NotYaml { .. })), "{text}");
        }
        assert!(matches!(open(&"#".repeat(MANIFEST_MAX + 1)).1, Err(ProjectError::TooLarge(_))));
    }
}
