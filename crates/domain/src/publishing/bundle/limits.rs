//! What the preferences of the store allow of an upload.

use super::super::preferences::Preferences;
use super::archive::ArchiveLimits;
use super::picture::PictureLimits;

/// The limits of an upload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UploadLimits {
    pub archive: ArchiveLimits,
    pub pictures: PictureLimits,
}

impl UploadLimits {
    #[must_use]
    pub fn of(preferences: &Preferences) -> Self {
        let (bundle_max, image_max) = (u64::from(preferences.bundle_max_mb) << 20, u64::from(preferences.image_max_mb) << 20);
        Self {
            archive: ArchiveLimits { compressed_max: bundle_max, ..ArchiveLimits::default() },
            pictures: PictureLimits {
                logo_max: u64::from(preferences.logo_max_kb) << 10,
                logo_formats: preferences.logo_types.iter().copied().collect(),
                image_max,
                image_count: preferences.image_count_min as usize..=preferences.image_count_max as usize,
                image_min_width: preferences.image_width_min,
                image_min_height: preferences.image_height_min,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_preferences_are_the_default_limits() {
        assert_eq!(UploadLimits::of(&Preferences::default()), UploadLimits::default());
    }
}
