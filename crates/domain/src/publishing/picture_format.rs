//! The formats of logos and screenshots.

use super::named::named;

named! {
    /// The formats of pictures.
    PictureFormat {
        Png = "png",
        Jpeg = "jpg",
        Svg = "svg",
        Webp = "webp",
    }
}

impl PictureFormat {
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Svg => "image/svg+xml",
        }
    }

    pub(super) const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Png => &["png"],
            Self::Jpeg => &["jpg", "jpeg"],
            Self::Webp => &["webp"],
            Self::Svg => &["svg"],
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
