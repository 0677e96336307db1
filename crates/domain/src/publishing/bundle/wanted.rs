//! The files of a bundle that the store keeps on their own, beside the bundle.

use super::manifest::Manifest;
use super::path::BundlePath;
use super::picture::PictureLimits;

const ROOT: &str = "package/";
const SCREENSHOTS: &str = "screenshots/";
/// The bytes of a text: README, changelog, license, and the manifest of the bundle.
const TEXT_MAX: u64 = 1 << 20;
/// The most texts of one kind: a README in each language.
const TEXTS_MAX: usize = 10;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileRole {
    /// The manifest that the bundle contains. The signed one is uploaded beside it.
    Manifest,
    Logo,
    Screenshot,
    /// `blocklet.md` and `README.md`, each in any language.
    Readme,
    Changelog,
    License,
}

impl FileRole {
    pub const ALL: [Self; 6] = [Self::Manifest, Self::Logo, Self::Screenshot, Self::Readme, Self::Changelog, Self::License];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Logo => "logo",
            Self::Screenshot => "screenshot",
            Self::Readme => "readme",
            Self::Changelog => "changelog",
            Self::License => "license",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A wanted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub role: FileRole,
    /// Bytes; a larger file refuses the bundle.
    pub max: u64,
}

/// Decides which files of a bundle are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedFiles {
    logo: String,
    screenshots: Vec<String>,
    logo_max: u64,
    image_max: u64,
}

impl WantedFiles {
    #[must_use]
    pub fn of(manifest: &Manifest, limits: &PictureLimits) -> Self {
        Self {
            logo: manifest.logo.to_string(),
            screenshots: manifest.screenshots.iter().map(screenshot_path).collect(),
            logo_max: limits.logo_max,
            image_max: limits.image_max,
        }
    }

    /// The paths of the screenshots, in their order.
    #[must_use]
    pub fn screenshots(&self) -> &[String] {
        &self.screenshots
    }

    #[must_use]
    pub fn logo(&self) -> &str {
        &self.logo
    }

    /// The most files that are kept.
    #[must_use]
    pub const fn count_max(&self) -> usize {
        // A logo, two manifests, changelog and license, and two kinds of README.
        self.screenshots.len() + 5 + 2 * TEXTS_MAX
    }

    /// What a file of the archive is wanted for; `None`: the store does not keep it.
    #[must_use]
    pub fn find(&self, path: &BundlePath) -> Option<Wanted> {
        let role = self.role_of(path.as_str().strip_prefix(ROOT)?)?;
        let max = match role {
            FileRole::Logo => self.logo_max,
            FileRole::Screenshot => self.image_max,
            _ => TEXT_MAX,
        };
        Some(Wanted { role, max })
    }

    /// The role of a path below `package/`.
    #[must_use]
    pub fn role_of(&self, path: &str) -> Option<FileRole> {
        if path == self.logo {
            return Some(FileRole::Logo);
        }
        if self.screenshots.iter().any(|screenshot| screenshot == path) {
            return Some(FileRole::Screenshot);
        }
        text_role(path)
    }
}

/// The path of a screenshot below `package/`. Manifests name it with or without its folder.
fn screenshot_path(name: &BundlePath) -> String {
    let name = name.as_str();
    if name.starts_with(SCREENSHOTS) { name.to_owned() } else { format!("{SCREENSHOTS}{name}") }
}

fn text_role(path: &str) -> Option<FileRole> {
    if path.contains('/') {
        return None;
    }
    match path.to_ascii_lowercase().as_str() {
        "blocklet.yml" | "blocklet.yaml" | "blocklet.json" => Some(FileRole::Manifest),
        "changelog.md" => Some(FileRole::Changelog),
        "license" | "license.md" | "license.txt" | "licence" | "copying" => Some(FileRole::License),
        name => readme_language(name).map(|_| FileRole::Readme),
    }
}

/// The language of a README: `blocklet.md` and `README.md` are English, `blocklet.zh.md` is Chinese. `None`: it is no README.
#[must_use]
pub fn readme_language(path: &str) -> Option<String> {
    let name = path.to_ascii_lowercase();
    let stem = name.strip_suffix(".md")?;
    let rest = stem.strip_prefix("blocklet").or_else(|| stem.strip_prefix("readme"))?;
    let language = if rest.is_empty() { "en" } else { rest.strip_prefix('.')? };
    let is_tag = (2..=8).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    is_tag.then(|| language.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_listing_are_wanted_and_nothing_else() {
        let wanted = WantedFiles {
            logo: "images/logo.png".to_owned(),
            screenshots: ["a.png", "screenshots/b.png"].map(|name| screenshot_path(&BundlePath::parse(name).expect(name))).to_vec(),
            logo_max: 1,
            image_max: 2,
        };
        for (path, role) in [
            ("package/images/logo.png", Some(FileRole::Logo)),
            ("package/screenshots/a.png", Some(FileRole::Screenshot)),
            ("package/screenshots/b.png", Some(FileRole::Screenshot)),
            ("package/screenshots/c.png", None),
            ("package/blocklet.yml", Some(FileRole::Manifest)),
            ("package/blocklet.zh.md", Some(FileRole::Readme)),
            ("package/README.md", Some(FileRole::Readme)),
            ("package/docs/README.md", None),
            ("package/CHANGELOG.md", Some(FileRole::Changelog)),
            ("package/LICENSE", Some(FileRole::License)),
            ("package/index.js", None),
            ("logo.png", None),
        ] {
            assert_eq!(wanted.find(&BundlePath::parse(path).expect(path)).map(|wanted| wanted.role), role, "{path}");
        }
    }

    #[test]
    fn the_language_of_a_readme_is_in_its_name() {
        for (path, language) in [
            ("blocklet.md", Some("en")),
            ("README.zh.md", Some("zh")),
            ("blocklet.zh-TW.md", Some("zh-tw")),
            ("readme.a.md", None),
            ("readmes.md", None),
            ("blocklet.yml", None),
        ] {
            assert_eq!(readme_language(path).as_deref(), language, "{path}");
        }
    }
}
