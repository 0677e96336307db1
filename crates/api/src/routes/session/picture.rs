use super::api::{SessionModel, UserModel};
use crate::auth::{Caller, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use bytes::Bytes;
use poem::error::ReadBodyError;
use poem::http::header;
use poem::web::Data;
use poem::{Body, Request};
use poem_openapi::OpenApi;
use poem_openapi::payload::{Binary, Json};
use souk_domain::access::{ProfilePicture, User};
use souk_domain::profile::{self, PICTURE_MAX, ProfilePictureError};
use souk_domain::publishing::bundle::check_space;
use std::io::ErrorKind;
use std::sync::Arc;

pub struct PictureApi;

#[OpenApi(prefix_path = "/api/session/picture")]
impl PictureApi {
    /// Replace the avatar of the signed-in user by a picture: a PNG, JPEG or WebP file of at most 1 MB, 64 to 4096 pixels wide and high.
    /// The content decides, not the content type. At most 20 times an hour.
    #[oai(path = "/", method = "put")]
    async fn upload(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        caller: SignedIn,
        content: Binary<Body>,
    ) -> Result<Json<SessionModel>, Problem> {
        let did = &caller.0.user.did;
        app.limits.admit_picture(request)?;
        check_space(&app.ctx)?;
        profile::count_picture(&app.ctx, did).await?;
        let content = receive(request, content.0).await?;
        let picture = profile::set_picture(&app.ctx, app.publishing.reader.as_ref(), app.files.as_ref(), did, &content).await?;
        Ok(session_with(caller.0, Some(picture)))
    }

    /// Remove the picture of the signed-in user. The store draws their avatar again.
    #[oai(path = "/", method = "delete")]
    async fn remove(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<SessionModel>, Problem> {
        profile::remove_picture(&app.ctx, &caller.0.user.did).await?;
        Ok(session_with(caller.0, None))
    }
}

/// Receives a picture, and stops as soon as it is too large. The server limits how slowly it may arrive.
async fn receive(request: &Request, body: Body) -> Result<Bytes, Problem> {
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > PICTURE_MAX) {
        return Err(ProfilePictureError::TooLarge.into());
    }
    body.into_bytes_limit(PICTURE_MAX).await.map_err(|error| match error {
        ReadBodyError::PayloadTooLarge => ProfilePictureError::TooLarge.into(),
        ReadBodyError::Io(error) if error.kind() == ErrorKind::TimedOut => Problem::too_slow(),
        error => Problem::malformed(error),
    })
}

fn session_with(caller: Caller, picture: Option<ProfilePicture>) -> Json<SessionModel> {
    let caller = Caller { user: User { picture, ..caller.user }, ..caller };
    Json(SessionModel { user: Some(UserModel::from(&caller)) })
}
