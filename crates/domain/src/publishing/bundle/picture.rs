//! The rules of logos and screenshots (reference/store.md 5.3).

pub use crate::shared::PictureFormat;

use std::ops::RangeInclusive;

/// A picture. A vector graphic has no size of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    pub format: PictureFormat,
    pub width: u32,
    pub height: u32,
}

/// The preferences for pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureLimits {
    /// Bytes.
    pub logo_max: u64,
    pub logo_formats: Vec<PictureFormat>,
    /// The bytes of a screenshot.
    pub image_max: u64,
    pub image_count: RangeInclusive<usize>,
    /// Pixels.
    pub image_min_width: u32,
    pub image_min_height: u32,
}

impl Default for PictureLimits {
    fn default() -> Self {
        Self {
            logo_max: 500 << 10,
            logo_formats: PictureFormat::ALL.to_vec(),
            image_max: 5 << 20,
            image_count: 3..=5,
            image_min_width: 600,
            image_min_height: 338,
        }
    }
}

/// The least width and height of a logo, in pixels.
const LOGO_MIN: u32 = 256;
/// How far a logo may be from a square, and a screenshot from 16:9, in percent.
const SQUARE_TOLERANCE: u64 = 1;
const WIDE_TOLERANCE: u64 = 5;

/// What is wrong with a picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    #[error("{file}: the file is missing in the bundle")]
    Missing { file: String },
    #[error("{file}: the file is not a picture of an accepted format")]
    Format { file: String },
    #[error("{file}: the content of the file is not of the format that its name says")]
    Extension { file: String },
    #[error("{file}: the picture must be at least {width} by {height} pixels")]
    TooSmall { file: String, width: u32, height: u32 },
    #[error("{file}: the logo must be square")]
    NotSquare { file: String },
    #[error("{file}: the screenshot must be 16:9")]
    NotWide { file: String },
    #[error("there must be {min} to {max} screenshots")]
    Count { min: usize, max: usize },
    #[error("{file}: the screenshot has the same content as another one")]
    SameContent { file: String },
}

/// Checks a logo.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_logo(file: &str, picture: Option<Picture>, limits: &PictureLimits) -> Result<Picture, PictureError> {
    let picture = checked_format(file, picture, &limits.logo_formats)?;
    if picture.format == PictureFormat::Svg {
        return Ok(picture);
    }
    if picture.width < LOGO_MIN || picture.height < LOGO_MIN {
        return Err(PictureError::TooSmall { file: file.to_owned(), width: LOGO_MIN, height: LOGO_MIN });
    }
    if !is_near(picture, 1, 1, SQUARE_TOLERANCE) {
        return Err(PictureError::NotSquare { file: file.to_owned() });
    }
    Ok(picture)
}

/// Checks a screenshot.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_screenshot(file: &str, picture: Option<Picture>, limits: &PictureLimits) -> Result<Picture, PictureError> {
    let picture = checked_format(file, picture, &[PictureFormat::Png, PictureFormat::Jpeg, PictureFormat::Webp])?;
    let (width, height) = (limits.image_min_width, limits.image_min_height);
    if picture.width < width || picture.height < height {
        return Err(PictureError::TooSmall { file: file.to_owned(), width, height });
    }
    if !is_near(picture, 16, 9, WIDE_TOLERANCE) {
        return Err(PictureError::NotWide { file: file.to_owned() });
    }
    Ok(picture)
}

fn checked_format(file: &str, picture: Option<Picture>, allowed: &[PictureFormat]) -> Result<Picture, PictureError> {
    let picture =
        picture.filter(|picture| allowed.contains(&picture.format)).ok_or_else(|| PictureError::Format { file: file.to_owned() })?;
    match PictureFormat::of_name(file) {
        Some(format) if format == picture.format => Ok(picture),
        _ => Err(PictureError::Extension { file: file.to_owned() }),
    }
}

/// Whether width to height is `wide` to `high`, up to `percent`.
fn is_near(picture: Picture, wide: u64, high: u64, percent: u64) -> bool {
    let (width, height) = (u64::from(picture.width) * high, u64::from(picture.height) * wide);
    width.abs_diff(height) * 100 <= height * percent
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn picture(format: PictureFormat, width: u32, height: u32) -> Option<Picture> {
        Some(Picture { format, width, height })
    }

    #[test]
    fn a_logo_is_a_large_square_of_the_format_of_its_name() {
        use PictureFormat::{Jpeg, Png, Svg, Webp};
        let limits = PictureLimits::default();
        for (file, measured) in [
            ("logo.png", picture(Png, 256, 256)),
            ("logo.JPG", picture(Jpeg, 1_000, 1_010)),
            ("logo.jpeg", picture(Jpeg, 300, 300)),
            ("logo.svg", picture(Svg, 0, 0)),
            ("logo.webp", picture(Webp, 512, 512)),
        ] {
            assert!(check_logo(file, measured, &limits).is_ok(), "{file}");
        }
        let file = || "logo.png".to_owned();
        for (measured, error) in [
            (None, PictureError::Format { file: file() }),
            (picture(Jpeg, 300, 300), PictureError::Extension { file: file() }),
            (picture(Png, 256, 255), PictureError::TooSmall { file: file(), width: 256, height: 256 }),
            (picture(Png, 300, 310), PictureError::NotSquare { file: file() }),
        ] {
            assert_eq!(check_logo("logo.png", measured, &limits), Err(error));
        }
        let only_png = PictureLimits { logo_formats: vec![Png], ..limits };
        assert!(check_logo("logo.svg", picture(Svg, 0, 0), &only_png).is_err());
    }

    #[test]
    fn a_screenshot_is_wide_and_large() {
        use PictureFormat::{Png, Svg};
        let limits = PictureLimits::default();
        for (width, height) in [(600, 338), (1_920, 1_080), (1_920, 1_130), (1_920, 1_030)] {
            assert!(check_screenshot("a.png", picture(Png, width, height), &limits).is_ok(), "{width} {height}");
        }
        for (width, height) in [(599, 338), (600, 337), (1_920, 1_200), (1_920, 1_000), (600, 600)] {
            assert!(check_screenshot("a.png", picture(Png, width, height), &limits).is_err(), "{width} {height}");
        }
        assert!(check_screenshot("a.svg", picture(Svg, 0, 0), &limits).is_err());
    }
}
