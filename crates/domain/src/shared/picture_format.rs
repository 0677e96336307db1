//! The formats of pictures: logos, screenshots and profile pictures.

/// A format of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PictureFormat {
    Png,
    Jpeg,
    Svg,
    Webp,
}

impl PictureFormat {
    pub const ALL: &'static [Self] = &[Self::Png, Self::Jpeg, Self::Svg, Self::Webp];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Svg => "svg",
            Self::Webp => "webp",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Svg => "image/svg+xml",
        }
    }

    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Png => &["png"],
            Self::Jpeg => &["jpg", "jpeg"],
            Self::Webp => &["webp"],
            Self::Svg => &["svg"],
        }
    }

    /// The format of a picture that was checked when it was uploaded, by its first bytes.
    #[must_use]
    pub const fn of_head(head: &[u8]) -> Self {
        match head {
            [0x89, b'P', b'N', b'G', ..] => Self::Png,
            [0xff, 0xd8, 0xff, ..] => Self::Jpeg,
            [b'R', b'I', b'F', b'F', ..] => Self::Webp,
            _ => Self::Svg,
        }
    }

    /// The format that the name of a file promises.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        Self::ALL.iter().copied().find(|format| format.extensions().contains(&extension.as_str()))
    }
}
