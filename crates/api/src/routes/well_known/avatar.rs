//! Avatars: the picture that a user has uploaded, or a drawing.

use super::drawing::draw;
use crate::problem::Problem;
use crate::routes::apps::{has_current, send};
use crate::state::App;
use poem::http::{StatusCode, header};
use poem::web::{Data, Path};
use poem::{IntoResponse, Request, Response, handler};
use souk_domain::access::{Did, ProfilePicture};
use std::sync::Arc;

/// The tag of a drawing, which never changes for a DID.
const DRAWN: &str = "\"drawn\"";
/// How long an avatar is cached whose address changes with the picture, as those that this store gives to pages.
const CACHED: &str = "public, max-age=86400";
/// How long any other avatar is cached, so that a new or removed picture is seen soon. After that, its tag saves sending it again.
const CACHED_BRIEFLY: &str = "public, max-age=300";
/// A picture comes from a user: opened directly, it must neither run scripts nor load resources.
const POLICY: &str = "default-src 'none'; sandbox";

/// The avatar of any DID: the picture that its user has uploaded; otherwise a drawing that derives from the DID alone, so it reveals
/// nothing about the user.
///
/// Published clients also send `imageFilter=resize`, `w` and `h`. They are ignored: browsers scale the picture, which has at most 1 MB.
/// `updateAt` only makes the address change with the picture; its value is not read.
#[handler]
pub async fn avatar(app: Data<&Arc<App>>, request: &Request, did: Path<String>) -> Result<Response, Problem> {
    let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
    let mut unit = app.ctx.store.read().await?;
    let picture = unit.users().find(&did).await?.and_then(|user| user.picture);
    // What a blocked user has uploaded is not shown.
    let is_shown = picture.is_some() && unit.users().blocked_at(&did).await?.is_none();
    drop(unit);
    let Some(picture) = picture.filter(|_| is_shown) else { return Ok(drawn(request, &did, cache_control(request))) };
    match uploaded(&app, request, &picture, cache_control(request)).await? {
        Some(response) => Ok(response),
        // Its file can be back soon.
        None => Ok(drawn(request, &did, CACHED_BRIEFLY)),
    }
}

/// The uploaded picture; `None`: its file is lost.
async fn uploaded(app: &App, request: &Request, picture: &ProfilePicture, cached: &'static str) -> Result<Option<Response>, Problem> {
    let tag = format!("\"{}\"", picture.sha256);
    if has_current(request, &tag) {
        return Ok(Some(not_modified(&tag, cached)));
    }
    let Some(file) = app.files.open(&picture.sha256).await? else {
        tracing::error!(sha256 = %picture.sha256, "the file of a profile picture is missing");
        return Ok(None);
    };
    let response = send(file, picture.format.media_type())
        .with_header(header::ETAG, tag)
        .with_header(header::CACHE_CONTROL, cached)
        .with_header(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
        .with_header(header::CONTENT_SECURITY_POLICY, POLICY);
    Ok(Some(response.into_response()))
}

fn drawn(request: &Request, did: &Did, cached: &'static str) -> Response {
    if has_current(request, DRAWN) {
        return not_modified(DRAWN, cached);
    }
    let drawn = draw(did.as_str()).with_content_type("image/svg+xml").with_header(header::ETAG, DRAWN);
    drawn.with_header(header::CACHE_CONTROL, cached).into_response()
}

fn not_modified(tag: &str, cached: &'static str) -> Response {
    StatusCode::NOT_MODIFIED.with_header(header::ETAG, tag).with_header(header::CACHE_CONTROL, cached).into_response()
}

fn cache_control(request: &Request) -> &'static str {
    let query = request.uri().query().unwrap_or_default();
    let is_dated = url::form_urlencoded::parse(query.as_bytes()).any(|(name, value)| name == "updateAt" && !value.is_empty());
    if is_dated { CACHED } else { CACHED_BRIEFLY }
}
