//! The refusals of profile pictures.

use super::{Problem, conflict, rejected};
use poem::http::StatusCode;
use souk_domain::profile::{PICTURE_MAX_MB, PICTURE_SIDE_MAX, PICTURE_SIDE_MIN, ProfilePictureError};

impl From<ProfilePictureError> for Problem {
    fn from(error: ProfilePictureError) -> Self {
        let message = error.to_string();
        match error {
            ProfilePictureError::TooLarge => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, message).code("PICTURE_TOO_LARGE").param("max", PICTURE_MAX_MB)
            }
            ProfilePictureError::Format => Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message).code("PICTURE_FORMAT"),
            ProfilePictureError::Dimensions => {
                rejected(&error, "PICTURE_DIMENSIONS").param("min", PICTURE_SIDE_MIN).param("max", PICTURE_SIDE_MAX)
            }
            ProfilePictureError::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, message).code("TOO_MANY_PICTURES"),
            ProfilePictureError::Contended => conflict(&error, "PICTURE_CONTENDED"),
            ProfilePictureError::Storage(error) => error.into(),
        }
    }
}
