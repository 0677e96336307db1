//! Versions and their order. Versions are semantic, without build metadata, because two versions that differ only there are equal in
//! precedence.

use semver::Version;

/// The longest version in characters.
pub const VERSION_MAX: usize = 64;

/// Reads a version. `None`: it is not semantic, too long, or has build metadata.
#[must_use]
pub fn parse_version(text: &str) -> Option<Version> {
    Some(text)
        .filter(|text| text.len() <= VERSION_MAX)
        .and_then(|text| Version::parse(text).ok())
        .filter(|version| version.build.is_empty())
}

/// The version that a new install gets: the highest that is not a pre-release. Versions of which only pre-releases exist are installed
/// when somebody names them.
#[must_use]
pub fn default_version<'v>(versions: impl IntoIterator<Item = &'v Version>) -> Option<&'v Version> {
    versions.into_iter().filter(|version| version.pre.is_empty()).max()
}

/// The versions of an app that new users can get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OfferedVersions {
    pub versions: Vec<Version>,
    /// The one to which the app was rolled back: new installs get it instead of the highest. It can have been withdrawn since.
    pub rolled_back_to: Option<Version>,
}

impl OfferedVersions {
    /// The version that new installs get.
    #[must_use]
    pub fn current(&self) -> Option<&Version> {
        let chosen = self.rolled_back_to.as_ref().filter(|chosen| chosen.pre.is_empty() && self.versions.contains(chosen));
        chosen.or_else(|| default_version(&self.versions))
    }

    /// The version with which another one is compared: the one that new installs get or, of an app of which only pre-releases are offered,
    /// the highest of them.
    #[must_use]
    pub fn base(&self) -> Option<&Version> {
        self.current().or_else(|| self.versions.iter().max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        parse_version(text).expect(text)
    }

    #[test]
    fn versions_are_ordered_by_their_precedence() {
        let ascending = ["0.9.9", "1.0.0-alpha", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0-beta", "1.0.0", "1.0.10", "1.2.0"];
        for pair in ascending.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn a_version_with_build_metadata_or_without_three_numbers_is_refused() {
        let long = format!("1.0.0-{}", "a".repeat(60));
        for text in ["", "1", "1.0", "v1.0.0", "01.0.0", "1.0.0+build", "1.0.0-", "1.0.0 ", long.as_str()] {
            assert_eq!(parse_version(text), None, "{text}");
        }
    }

    #[test]
    fn a_pre_release_is_never_the_default() {
        let versions = ["1.0.0", "1.1.0-beta", "0.9.0"].map(version);
        assert_eq!(default_version(&versions), Some(&versions[0]));
        assert_eq!(default_version(&versions[1..2]), None);
    }

    #[test]
    fn new_installs_get_the_version_to_which_the_app_was_rolled_back_as_long_as_it_is_offered() {
        let versions = ["1.0.0", "1.1.0", "1.2.0-beta"].map(version).to_vec();
        for (chosen, expected) in [(None, 1), (Some("1.0.0"), 0), (Some("1.2.0-beta"), 1), (Some("0.9.0"), 1)] {
            let offered = OfferedVersions { versions: versions.clone(), rolled_back_to: chosen.map(version) };
            assert_eq!(offered.current(), Some(&versions[expected]), "{chosen:?}");
        }
        assert_eq!(OfferedVersions { versions: Vec::new(), rolled_back_to: Some(version("1.0.0")) }.current(), None);
    }

    #[test]
    fn a_version_is_compared_with_a_pre_release_only_if_nothing_else_is_offered() {
        let base = |versions: &[&str]| {
            let versions = versions.iter().map(|text| version(text)).collect();
            OfferedVersions { versions, rolled_back_to: None }.base().cloned()
        };
        assert_eq!(base(&["1.0.0", "1.1.0-beta"]), Some(version("1.0.0")));
        assert_eq!(base(&["1.0.0-beta.2", "1.0.0-beta.1"]), Some(version("1.0.0-beta.2")));
        assert_eq!(base(&[]), None);
    }
}
