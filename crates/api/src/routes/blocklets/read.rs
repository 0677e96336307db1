//! Manifests and bundles, as published tools install them.

use crate::auth::Downloader;
use crate::problem::Problem;
use crate::routes::apps::{Bundle, SentBundle, count_download, send_bundle};
use crate::state::App;
use poem::http::{HeaderValue, StatusCode, header};
use poem::web::{Data, Path};
use poem::{Body, IntoResponse, Request, Response, handler};
use souk_domain::publishing::bundle::{ReadableVersion, VersionChoice, find_readable_version};
use souk_domain::publishing::review::VersionStatus;
use souk_domain::publishing::selling::is_sold;
use std::sync::Arc;

/// The signed document of the version that a new install gets.
#[handler]
pub async fn default_manifest(app: Data<&Arc<App>>, downloader: Downloader, Path(did): Path<String>) -> Result<Response, Problem> {
    let found = find(&app, &downloader, &did, VersionChoice::Default).await?;
    document(&app, &found).await
}

/// The signed document of a version, byte by byte as its developer sent it.
#[handler]
pub async fn manifest(
    app: Data<&Arc<App>>,
    downloader: Downloader,
    Path((did, version)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let found = find(&app, &downloader, &did, VersionChoice::Named(&version)).await?;
    document(&app, &found).await
}

/// A bundle by its file name, as manifests name it.
#[handler]
pub async fn default_bundle(
    app: Data<&Arc<App>>,
    request: &Request,
    downloader: Downloader,
    Path((did, tarball)): Path<(String, String)>,
) -> Result<Response, Problem> {
    check_name(&tarball)?;
    let found = find(&app, &downloader, &did, VersionChoice::Tarball(&tarball)).await?;
    archive(&app, request, &found).await
}

/// The bundle of a version.
#[handler]
pub async fn bundle(
    app: Data<&Arc<App>>,
    request: &Request,
    downloader: Downloader,
    Path((did, version, tarball)): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    check_name(&tarball)?;
    let found = find(&app, &downloader, &did, VersionChoice::Named(&version)).await?;
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

async fn find(app: &App, downloader: &Downloader, did: &str, choice: VersionChoice<'_>) -> Result<ReadableVersion, Problem> {
    let did = app.did_auth_tokens.parse_did(did).ok_or_else(unknown)?;
    let reader = downloader.reader(app).await?;
    find_readable_version(&app.ctx, &did, choice, reader.as_ref()).await?.ok_or_else(unknown)
}

async fn document(app: &App, found: &ReadableVersion) -> Result<Response, Problem> {
    let sha256 = &found.version.document;
    Ok(send(app, sha256).await?.with_content_type("application/json; charset=utf-8").into_response())
}

/// Sends a bundle, and counts the download of a published version.
async fn archive(app: &App, request: &Request, found: &ReadableVersion) -> Result<Response, Problem> {
    check_free(app, found).await?;
    let version = &found.version;
    // The name has passed the rules of paths, so it contains no quote that ends the value early.
    let name = version.tarball.replace('"', "");
    // Published tools refuse application/gzip (reference/store.md 5.6).
    let sent = Bundle { sha256: &version.bundle, size: version.size, name: &name, kind: "application/octet-stream" };
    let SentBundle { response, is_download } = send_bundle(app, request, &sent).await?;
    if is_download && version.status == VersionStatus::Published {
        count_download(app, request, &version.app).await?;
    }
    Ok(response)
}

/// Published tools cannot show a purchase here: the bundle of an app that is sold is for its developer and for reviewers. Customers download
/// it from its page, or with `souk install`.
async fn check_free(app: &App, found: &ReadableVersion) -> Result<(), Problem> {
    if found.is_involved {
        return Ok(());
    }
    let mut unit = app.ctx.store.read().await?;
    let shown = unit.apps().find(&found.app.did).await?;
    match is_sold(unit.as_mut(), &found.app.did, shown.as_ref()).await? {
        true => Err(Problem::forbidden().code("PURCHASE_REQUIRED")),
        false => Ok(()),
    }
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
