//! The profile pictures of users. They replace the avatars that the store draws.

use crate::access::{Did, ProfilePicture};
use crate::context::Context;
use crate::operation::hour_of;
use crate::publishing::bundle::{BundleReader, FileClaim, Picture};
use crate::shared::{PictureFormat, StorageError};
use crate::store::Files;

/// The largest profile picture, in MiB and in bytes.
pub const PICTURE_MAX_MB: usize = 1;
pub const PICTURE_MAX: usize = PICTURE_MAX_MB << 20;
/// The least and the most width and height of a profile picture, in pixels.
pub const PICTURE_SIDE_MIN: u32 = 64;
pub const PICTURE_SIDE_MAX: u32 = 4_096;
/// The uploads of one user in an hour.
pub const PICTURES_PER_HOUR: u32 = 20;

/// The accepted formats. A vector graphic can contain scripts, so it is none of them.
const FORMATS: [PictureFormat; 3] = [PictureFormat::Png, PictureFormat::Jpeg, PictureFormat::Webp];

/// Why a profile picture is refused.
#[derive(Debug, thiserror::Error)]
pub enum ProfilePictureError {
    #[error("The picture is larger than {PICTURE_MAX_MB} MB")]
    TooLarge,
    /// The content is no picture of an accepted format, whatever its name or its content type says.
    #[error("The picture must be a PNG, JPEG or WebP file")]
    Format,
    #[error("The picture must be {PICTURE_SIDE_MIN} to {PICTURE_SIDE_MAX} pixels wide and high")]
    Dimensions,
    #[error("You have changed your picture too often. Please try again later.")]
    TooMany,
    /// The same file is just being deleted, or the user was changed at the same time. The same upload can be repeated.
    #[error("The picture could not be saved just now, please try again")]
    Contended,
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for ProfilePictureError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

/// Counts an upload before its content is received.
///
/// # Errors
/// [`ProfilePictureError::TooMany`] beyond the limit of this hour.
pub async fn count_picture(ctx: &Context, did: &Did) -> Result<(), ProfilePictureError> {
    let mut unit = ctx.store.begin().await?;
    if !unit.hourly_counts().count(&format!("picture:{did}"), hour_of(ctx.now()), PICTURES_PER_HOUR).await? {
        return Err(ProfilePictureError::TooMany);
    }
    Ok(unit.commit().await?)
}

/// Makes `content` the picture of a user. The file of the former picture becomes an orphan, which a sweep deletes.
///
/// The file is stored before the user refers to it. If the process dies in between, it is an orphan as well.
///
/// # Errors
/// The first rule that the picture breaks. Then the user keeps what they have.
#[tracing::instrument(skip_all)]
pub async fn set_picture(
    ctx: &Context,
    reader: &dyn BundleReader,
    files: &dyn Files,
    did: &Did,
    content: &[u8],
) -> Result<ProfilePicture, ProfilePictureError> {
    if content.len() > PICTURE_MAX {
        return Err(ProfilePictureError::TooLarge);
    }
    let format = check(reader.measure(content))?;
    let sha256 = reader.sha256(content);
    let claim = FileClaim { sha256: sha256.clone(), size: content.len() as u64 };
    let mut unit = ctx.store.begin().await?;
    if !unit.uploads().claim_files(&[claim], ctx.now()).await? {
        return Err(ProfilePictureError::Contended);
    }
    unit.commit().await?;
    files.put(content).await?;
    let now = ctx.now();
    let picture = ProfilePicture { sha256, format, updated_at: now };
    let mut unit = ctx.store.begin().await?;
    let is_set = unit.uploads().confirm_files(std::slice::from_ref(&picture.sha256), now).await?
        && unit.users().set_picture(did, Some(&picture), now).await?;
    // The row of the user is locked now. An erasure that came before has ended all logins.
    if !is_set || unit.browser_sessions().list(did, now, 1).await?.is_empty() {
        return Err(ProfilePictureError::Contended);
    }
    unit.commit().await?;
    Ok(picture)
}

/// Removes the picture of a user, if there is one. Its file becomes an orphan, which a sweep deletes.
#[tracing::instrument(skip_all)]
pub async fn remove_picture(ctx: &Context, did: &Did) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.users().set_picture(did, None, ctx.now()).await?;
    unit.commit().await
}

/// Checks what was measured of a picture.
fn check(measured: Option<Picture>) -> Result<PictureFormat, ProfilePictureError> {
    let Some(picture) = measured.filter(|picture| FORMATS.contains(&picture.format)) else {
        return Err(ProfilePictureError::Format);
    };
    let is_allowed = |side: u32| (PICTURE_SIDE_MIN..=PICTURE_SIDE_MAX).contains(&side);
    if is_allowed(picture.width) && is_allowed(picture.height) { Ok(picture.format) } else { Err(ProfilePictureError::Dimensions) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn measured(format: PictureFormat, width: u32, height: u32) -> Option<Picture> {
        Some(Picture { format, width, height })
    }

    #[test]
    fn photos_of_each_accepted_format_are_allowed_up_to_their_limits() {
        for format in FORMATS {
            for (width, height) in [(64, 64), (4_096, 64), (64, 4_096), (4_096, 4_096), (200, 300)] {
                assert_eq!(check(measured(format, width, height)).ok(), Some(format), "{width} by {height}");
            }
            for (width, height) in [(63, 64), (64, 63), (4_097, 64), (64, 4_097), (0, 0)] {
                let refused = check(measured(format, width, height));
                assert!(matches!(refused, Err(ProfilePictureError::Dimensions)), "{width} by {height}");
            }
        }
    }

    #[test]
    fn vector_graphics_and_other_files_are_refused() {
        for other in [measured(PictureFormat::Svg, 0, 0), measured(PictureFormat::Svg, 100, 100), None] {
            assert!(matches!(check(other), Err(ProfilePictureError::Format)), "{other:?}");
        }
    }

    #[test]
    fn a_conflict_of_the_storage_asks_for_another_attempt() {
        assert!(matches!(ProfilePictureError::from(StorageError::Conflict), ProfilePictureError::Contended));
    }
}
