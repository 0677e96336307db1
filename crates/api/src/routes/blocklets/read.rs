//! Manifests and bundles, as published tools install them.

use crate::auth::MaybeUser;
use crate::middleware::RequestMethod;
use crate::problem::Problem;
use crate::state::App;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use poem::http::{HeaderValue, Method, StatusCode, header};
use poem::web::{Data, Path};
use poem::{Body, IntoResponse, Request, Response, handler};
use souk_domain::publishing::bundle::{ReadableVersion, VersionChoice, find_readable_version};
use souk_domain::publishing::review::VersionStatus;
use std::sync::Arc;

/// The signed document of the version that a new install gets.
#[handler]
pub async fn default_manifest(app: Data<&Arc<App>>, user: MaybeUser, Path(did): Path<String>) -> Result<Response, Problem> {
    let found = find(&app, &user, &did, VersionChoice::Default).await?;
    document(&app, &found).await
}

/// The signed document of a version, byte by byte as its developer sent it.
#[handler]
pub async fn manifest(app: Data<&Arc<App>>, user: MaybeUser, Path((did, version)): Path<(String, String)>) -> Result<Response, Problem> {
    let found = find(&app, &user, &did, VersionChoice::Named(&version)).await?;
    document(&app, &found).await
}

/// A bundle by its file name, as manifests name it.
#[handler]
pub async fn default_bundle(
    app: Data<&Arc<App>>,
    request: &Request,
    user: MaybeUser,
    Path((did, tarball)): Path<(String, String)>,
) -> Result<Response, Problem> {
    check_name(&tarball)?;
    let found = find(&app, &user, &did, VersionChoice::Tarball(&tarball)).await?;
    archive(&app, request, &found).await
}

/// The bundle of a version.
#[handler]
pub async fn bundle(
    app: Data<&Arc<App>>,
    request: &Request,
    user: MaybeUser,
    Path((did, version, tarball)): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    check_name(&tarball)?;
    let found = find(&app, &user, &did, VersionChoice::Named(&version)).await?;
    if found.version.tarball != tarball {
        return Err(unknown());
    }
    archive(&app, request, &found).await
}

fn unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "blocklet not found").code("NOT_FOUND")
}

fn check_name(tarball: &str) -> Result<(), Problem> {
    if tarball.ends_with(".tgz") {
        return Ok(());
    }
    Err(Problem::bad("Invalid blocklet release bundle name").code("BUNDLE_NAME"))
}

async fn find(app: &App, user: &MaybeUser, did: &str, choice: VersionChoice<'_>) -> Result<ReadableVersion, Problem> {
    let did = app.did_auth_tokens.parse_did(did).ok_or_else(unknown)?;
    find_readable_version(&app.ctx, &did, choice, user.0.as_ref()).await?.ok_or_else(unknown)
}

async fn document(app: &App, found: &ReadableVersion) -> Result<Response, Problem> {
    let sha256 = &found.version.document;
    Ok(send(app, sha256).await?.with_content_type("application/json; charset=utf-8").into_response())
}

/// Sends a bundle, and counts the download of a published version.
async fn archive(app: &App, request: &Request, found: &ReadableVersion) -> Result<Response, Problem> {
    let version = &found.version;
    let tag = format!("\"{}\"", version.bundle);
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        return Ok(StatusCode::NOT_MODIFIED.with_header(header::ETAG, tag).into_response());
    }
    let digest = hex::decode(&version.bundle).map(|bytes| STANDARD.encode(bytes)).unwrap_or_default();
    // The name has passed the rules of paths, so it contains no quote that ends the value early.
    let name = version.tarball.replace('"', "");
    let response = send(app, &version.bundle)
        .await?
        // Published tools refuse application/gzip (reference/store.md 5.6).
        .with_content_type("application/octet-stream")
        .with_header(header::ETAG, tag)
        .with_header("repr-digest", format!("sha-256=:{digest}:"))
        .with_header(header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\""))
        .into_response();
    let is_head = request.extensions().get::<RequestMethod>().is_some_and(|RequestMethod(method)| *method == Method::HEAD);
    if !is_head && version.status == VersionStatus::Published {
        let mut unit = app.ctx.store.begin().await?;
        unit.apps().count_download(&version.app, app.ctx.now()).await?;
        unit.commit().await?;
    }
    Ok(response)
}

async fn send(app: &App, sha256: &str) -> Result<Response, Problem> {
    let opened = app.files.open(sha256).await?.ok_or_else(|| {
        tracing::error!(sha256, "a file that the database refers to is missing");
        Problem::internal()
    })?;
    let mut response = Response::builder().body(Body::from_bytes_stream(opened.content));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(opened.size));
    Ok(response)
}
