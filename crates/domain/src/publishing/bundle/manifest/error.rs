//! What is wrong with a manifest, and where.

use std::fmt;

/// The most errors of one manifest that are reported.
pub const ERRORS_MAX: usize = 20;
/// The longest member name in a path, in characters. Names come from the manifest.
const STEP_MAX: usize = 64;

/// A place in a manifest. A path is written only for errors, so that reading takes no time for it.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Member(&'a str),
    Item(usize),
}

impl<'a> At<'a> {
    pub const ROOT: Self = Self { parent: None, step: Step::Root };

    pub const fn member(&'a self, name: &'a str) -> At<'a> {
        At { parent: Some(self), step: Step::Member(name) }
    }

    pub const fn item(&'a self, index: usize) -> At<'a> {
        At { parent: Some(self), step: Step::Item(index) }
    }

    fn path(&self) -> String {
        let mut steps: Vec<_> = std::iter::successors(Some(self), |at| at.parent).map(|at| at.step).collect();
        steps.reverse();
        let mut path = String::new();
        for step in steps {
            match step {
                Step::Root => {}
                Step::Member(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.extend(name.chars().take(STEP_MAX));
                }
                Step::Item(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestProblem {
    #[error("is required")]
    Required,
    #[error("must be {0}")]
    Expected(&'static str),
    #[error("must have at least {0} characters")]
    TooShort(usize),
    #[error("must have at most {0} characters")]
    TooLong(usize),
    #[error("must have at most {0} items")]
    TooMany(usize),
    #[error("{0}")]
    Name(super::super::name::NameError),
    #[error("is not a path inside the bundle: {0}")]
    Path(super::super::path::PathError),
    #[error("occurs twice")]
    Repeated,
    #[error("is not allowed here")]
    NotAllowed,
    #[error("must be the DID of an app's key, or the one that is derived from the name: {0}")]
    ForeignDid(String),
}

/// One error of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestError {
    /// For example `components[3].source`; empty: the manifest itself.
    pub path: String,
    pub problem: ManifestProblem,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the manifest" } else { &self.path };
        write!(f, "{path} {}", self.problem)
    }
}

/// The errors of a manifest, at most [`ERRORS_MAX`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManifestErrors(pub Vec<ManifestError>);

impl ManifestErrors {
    pub(super) fn add(&mut self, at: &At<'_>, problem: ManifestProblem) {
        if self.0.len() < ERRORS_MAX {
            self.0.push(ManifestError { path: at.path(), problem });
        }
    }
}

/// The message of reference/store.md 1.3.
impl fmt::Display for ManifestErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Invalid blocklet meta: ")?;
        for (index, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if index > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ManifestErrors {}
