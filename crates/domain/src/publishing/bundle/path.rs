//! Paths inside a bundle. A path is accepted if every reader and every file system gives it the same meaning.

use crate::shared::is_invisible;
use std::fmt;
use unicode_normalization::UnicodeNormalization;

/// The longest path in bytes (the issue of publishing).
pub const PATH_MAX: usize = 255;
/// The most segments of a path.
const DEPTH_MAX: usize = 64;

/// Names that Windows gives to devices, whatever their extension.
const DEVICES: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2", "lpt3", "lpt4",
    "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty")]
    Empty,
    #[error("the path is longer than {PATH_MAX} bytes")]
    TooLong,
    #[error("the path has more than {DEPTH_MAX} segments")]
    TooDeep,
    #[error("the path is absolute")]
    Absolute,
    #[error("the path names a drive or a stream with a colon")]
    Colon,
    #[error("the path contains a backslash")]
    Backslash,
    #[error("the path contains a control character")]
    Control,
    #[error("the path contains a character that changes the direction of text or has no width")]
    Invisible,
    #[error("the path has an empty segment, '.' or '..'")]
    Traversal,
    #[error("a segment of the path ends with a dot or a space, which some file systems remove")]
    TrailingDot,
    #[error("a segment of the path is the name of a device on Windows")]
    Device,
}

/// A checked relative path with `/` between its segments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundlePath(String);

impl BundlePath {
    /// # Errors
    /// The first rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > PATH_MAX {
            return Err(PathError::TooLong);
        }
        if text.starts_with('/') {
            return Err(PathError::Absolute);
        }
        text.chars().try_for_each(check_character)?;
        if text.split('/').count() > DEPTH_MAX {
            return Err(PathError::TooDeep);
        }
        text.split('/').try_for_each(check_segment)?;
        Ok(Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in which two paths are compared: file systems that ignore case or normalize Unicode store such paths as one file. `/` is
    /// replaced by NUL, so that a folder sorts directly before what it contains.
    #[must_use]
    pub fn folded(&self) -> String {
        self.0.nfc().flat_map(char::to_lowercase).nfc().map(|letter| if letter == '/' { '\0' } else { letter }).collect()
    }
}

impl fmt::Display for BundlePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const fn check_character(letter: char) -> Result<(), PathError> {
    match letter {
        '\\' => Err(PathError::Backslash),
        ':' => Err(PathError::Colon),
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Err(PathError::Control),
        letter if is_invisible(letter) => Err(PathError::Invisible),
        _ => Ok(()),
    }
}

fn check_segment(segment: &str) -> Result<(), PathError> {
    if matches!(segment, "" | "." | "..") {
        return Err(PathError::Traversal);
    }
    if segment.ends_with(['.', ' ']) {
        return Err(PathError::TrailingDot);
    }
    let stem = segment.split('.').next().unwrap_or_default().trim_end_matches(' ').to_ascii_lowercase();
    if DEVICES.contains(&stem.as_str()) { Err(PathError::Device) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_with_more_than_one_meaning_is_refused() {
        for (text, error) in [
            ("", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            ("../x", PathError::Traversal),
            ("package/../../x", PathError::Traversal),
            ("package/./x", PathError::Traversal),
            ("package//x", PathError::Traversal),
            ("package/", PathError::Traversal),
            ("package\\..\\x", PathError::Backslash),
            ("C:/x", PathError::Colon),
            ("package/x:stream", PathError::Colon),
            ("package/a\0b", PathError::Control),
            ("package/a\nb", PathError::Control),
            ("package/\u{202e}gpj.exe", PathError::Invisible),
            ("package/.../x", PathError::TrailingDot),
            ("package/x ", PathError::TrailingDot),
            ("package/NUL.txt", PathError::Device),
            ("package/aux", PathError::Device),
        ] {
            assert_eq!(BundlePath::parse(text), Err(error), "{text:?}");
        }
        assert_eq!(BundlePath::parse(&"a".repeat(256)), Err(PathError::TooLong));
        assert_eq!(BundlePath::parse(&"a/".repeat(70)), Err(PathError::TooDeep));
        for text in ["package/blocklet.yml", "package/.env.example", "package/说明.md", "package/a b/null.js", "package/@scope/x..y"] {
            assert_eq!(BundlePath::parse(text).expect(text).as_str(), text);
        }
    }

    #[test]
    fn paths_that_a_file_system_may_store_as_one_file_are_folded_to_one_text() {
        for (one, other) in [("a/README.md", "A/readme.MD"), ("e\u{301}", "\u{e9}"), ("STRASSE/Ä", "strasse/ä")] {
            let folded = |text: &str| BundlePath::parse(text).expect(text).folded();
            assert_eq!(folded(one), folded(other));
        }
    }

    proptest! {
        #[test]
        fn an_accepted_path_stays_below_any_folder(text in "[a./\\\\ C:\u{0}\u{301}é-]{0,24}") {
            if let Ok(path) = BundlePath::parse(&text) {
                let joined = std::path::Path::new("/root").join(path.as_str());
                prop_assert!(joined.starts_with("/root"));
                prop_assert!(joined.components().all(|part| !matches!(part, std::path::Component::ParentDir)));
                prop_assert_eq!(joined.components().count(), 2 + text.split('/').count());
            }
        }
    }
}
