//! The name rule of manifests (reference/store.md 3): the style of npm names, at most 32 characters, or a DID.

/// The longest name in characters.
pub const NAME_MAX: usize = 32;

/// Why a name is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("must have 1 to {NAME_MAX} characters")]
    Length,
    #[error("may have lower-case letters, digits, '-', '_' and '.' only, and a scope such as @scope/ before them")]
    Characters,
    #[error("must begin with a letter or a digit")]
    Begin,
}

/// Checks a name. A name that is a DID is as good as one of this style; the caller knows DIDs.
///
/// # Errors
/// The first rule that the name breaks.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() || name.chars().count() > NAME_MAX {
        return Err(NameError::Length);
    }
    let (scope, own) = match name.strip_prefix('@') {
        None => (None, name),
        Some(scoped) => scoped.split_once('/').map(|(scope, own)| (Some(scope), own)).ok_or(NameError::Characters)?,
    };
    scope.into_iter().chain([own]).try_for_each(|part| {
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
        if !part.bytes().all(is_allowed) {
            return Err(NameError::Characters);
        }
        if part.starts_with(|first: char| first.is_ascii_alphanumeric()) { Ok(()) } else { Err(NameError::Begin) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_style_of_npm() {
        for name in ["hello-app", "a", "time_keeper.2", "@scope/app", "0x"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "a".repeat(33);
        for (name, error) in [
            ("", NameError::Length),
            (long.as_str(), NameError::Length),
            ("Hello", NameError::Characters),
            ("a b", NameError::Characters),
            ("应用", NameError::Characters),
            ("a/b", NameError::Characters),
            ("@scope", NameError::Characters),
            ("@/app", NameError::Begin),
            ("@scope/", NameError::Begin),
            ("_a", NameError::Begin),
            ("../a", NameError::Characters),
            (".a", NameError::Begin),
        ] {
            assert_eq!(check_name(name), Err(error), "{name}");
        }
    }
}
