//! What differs between two versions, on the wire.

use crate::routes::selling::VersionTermsModel;
use poem_openapi::Object;
use souk_domain::publishing::bundle::{BundleChanges, ChangedFile};
use souk_domain::publishing::comparison::{
    Compared, ComparedFacts, ComparedFiles, ComparedPicture, ComparedText, DependencyNeed, Hunk, ShownPicture, VersionComparison,
};

/// Something that only one of the versions has, or that differs between them.
#[derive(Debug, Clone, Object)]
#[oai(rename = "ComparedValue")]
pub struct ComparedValueModel {
    pub name: String,
    /// `null`: it is new.
    #[oai(nullable)]
    pub before: Option<String>,
    /// `null`: it was removed.
    #[oai(nullable)]
    pub after: Option<String>,
}

impl From<Compared<String>> for ComparedValueModel {
    fn from(Compared { name, before, after }: Compared<String>) -> Self {
        Self { name, before, after }
    }
}

/// What a version needs of another app.
#[derive(Debug, Clone, Object)]
#[oai(rename = "DependencyNeed")]
pub struct DependencyNeedModel {
    /// Empty: any.
    pub version: String,
    pub required: bool,
}

impl From<DependencyNeed> for DependencyNeedModel {
    fn from(need: DependencyNeed) -> Self {
        Self { version: need.version, required: need.is_required }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ComparedDependency")]
pub struct ComparedDependencyModel {
    /// Where the other app comes from.
    pub name: String,
    #[oai(nullable)]
    pub before: Option<DependencyNeedModel>,
    #[oai(nullable)]
    pub after: Option<DependencyNeedModel>,
}

impl From<Compared<DependencyNeed>> for ComparedDependencyModel {
    fn from(Compared { name, before, after }: Compared<DependencyNeed>) -> Self {
        Self { name, before: before.map(Into::into), after: after.map(Into::into) }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "DiffLine")]
pub struct DiffLineModel {
    /// same, added or removed.
    pub change: String,
    pub text: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "DiffHunk")]
pub struct HunkModel {
    /// The number of the first line before, from 1.
    pub before: u64,
    /// The number of the first line after, from 1.
    pub after: u64,
    pub lines: Vec<DiffLineModel>,
}

impl From<Hunk> for HunkModel {
    fn from(hunk: Hunk) -> Self {
        let lines = hunk.lines.into_iter().map(|line| DiffLineModel { change: line.change.name().to_owned(), text: line.text });
        Self { before: hunk.before as u64, after: hunk.after as u64, lines: lines.collect() }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ComparedText")]
pub struct ComparedTextModel {
    /// description, readme or changelog.
    pub kind: String,
    /// The file of the bundle; empty: a field of the manifest.
    pub path: String,
    pub hunks: Vec<HunkModel>,
    /// One of the texts is longer than what was compared.
    pub cut: bool,
}

impl From<ComparedText> for ComparedTextModel {
    fn from(text: ComparedText) -> Self {
        let hunks = text.diff.hunks.into_iter().map(HunkModel::from).collect();
        Self { kind: text.kind.name().to_owned(), path: text.path, hunks, cut: text.diff.is_cut }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ChangedFile")]
pub struct ChangedFileModel {
    pub path: String,
    /// Bytes; `null`: it is new.
    #[oai(nullable)]
    pub before: Option<u64>,
    /// Bytes; `null`: it was removed.
    #[oai(nullable)]
    pub after: Option<u64>,
}

impl From<ChangedFile> for ChangedFileModel {
    fn from(ChangedFile { path, before, after }: ChangedFile) -> Self {
        Self { path, before, after }
    }
}

/// The files of the bundles that differ, by their digests.
#[derive(Debug, Clone, Object)]
#[oai(rename = "ChangedFiles")]
pub struct ChangedFilesModel {
    pub count: u64,
    /// At most 500, by their paths.
    pub list: Vec<ChangedFileModel>,
    /// One of the bundles has more files than are compared.
    pub cut: bool,
}

impl From<BundleChanges> for ChangedFilesModel {
    fn from(changes: BundleChanges) -> Self {
        Self { count: changes.count, list: changes.changes.into_iter().map(ChangedFileModel::from).collect(), cut: changes.is_cut }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ShownPicture")]
pub struct ShownPictureModel {
    pub path: String,
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

impl From<ShownPicture> for ShownPictureModel {
    fn from(ShownPicture { path, sha256, size }: ShownPicture) -> Self {
        Self { path, sha256, size }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ComparedPicture")]
pub struct ComparedPictureModel {
    /// Counts screenshots from 1; `null`: the logo.
    #[oai(nullable)]
    pub number: Option<u64>,
    pub changed: bool,
    #[oai(nullable)]
    pub before: Option<ShownPictureModel>,
    #[oai(nullable)]
    pub after: Option<ShownPictureModel>,
}

impl From<ComparedPicture> for ComparedPictureModel {
    fn from(picture: ComparedPicture) -> Self {
        Self {
            number: picture.number.map(|number| number as u64),
            changed: picture.is_changed(),
            before: picture.before.map(Into::into),
            after: picture.after.map(Into::into),
        }
    }
}

/// What differs between a version and the one before it.
#[derive(Debug, Clone, Object)]
#[oai(rename = "VersionComparison")]
pub struct VersionComparisonModel {
    pub version: String,
    /// The published version that it is compared with; `null`: there is none, and everything is new.
    #[oai(nullable)]
    pub base: Option<String>,
    pub texts: Vec<ComparedTextModel>,
    pub permissions_added: Vec<String>,
    pub permissions_removed: Vec<String>,
    pub scripts: Vec<ComparedValueModel>,
    pub dependencies: Vec<ComparedDependencyModel>,
    /// Fields of the listing and requirements.
    pub fields: Vec<ComparedValueModel>,
    /// Of each mode in which the app ever had a price.
    pub terms: Vec<VersionTermsModel>,
    /// `null`: the checks have not listed the files yet.
    #[oai(nullable)]
    pub files: Option<ChangedFilesModel>,
    /// All pictures, changed or not.
    pub pictures: Vec<ComparedPictureModel>,
}

impl VersionComparisonModel {
    pub fn new(comparison: VersionComparison, terms: Vec<VersionTermsModel>) -> Self {
        let ComparedFacts { permissions, scripts, dependencies, fields } = comparison.facts;
        let (added, removed): (Vec<_>, Vec<_>) = permissions.into_iter().partition(|permission| permission.after.is_some());
        let names = |all: Vec<Compared<()>>| all.into_iter().map(|one| one.name).collect();
        Self {
            version: comparison.version.to_string(),
            base: comparison.base.map(|version| version.to_string()),
            texts: comparison.texts.into_iter().map(ComparedTextModel::from).collect(),
            permissions_added: names(added),
            permissions_removed: names(removed),
            scripts: scripts.into_iter().map(ComparedValueModel::from).collect(),
            dependencies: dependencies.into_iter().map(ComparedDependencyModel::from).collect(),
            fields: fields.into_iter().map(ComparedValueModel::from).collect(),
            terms,
            files: match comparison.files {
                ComparedFiles::NotListed => None,
                ComparedFiles::Changes(changes) => Some(changes.into()),
            },
            pictures: comparison.pictures.into_iter().map(ComparedPictureModel::from).collect(),
        }
    }
}
