//! Responses that send a file with its type, length and digest.

use crate::middleware::RequestMethod;
use crate::problem::Problem;
use crate::state::App;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{StreamExt, stream};
use poem::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use poem::{Body, IntoResponse, Request, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, MetaSchemaRef, Registry};
use poem_openapi::types::{Binary, Type};
use souk_domain::access::Did;
use souk_domain::publishing::bundle::{PictureFormat, VersionFile};
use souk_domain::store::{self as domain, AppVersion, Availability, OpenedFile};

/// A response that the OpenAPI document describes as binary.
pub struct BinaryResponse(pub Response);

impl IntoResponse for BinaryResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl ApiResponse for BinaryResponse {
    fn meta() -> MetaResponses {
        let schema = <Binary<Vec<u8>> as Type>::schema_ref();
        let response =
            |status, description, content| MetaResponse { description, status: Some(status), status_range: None, content, headers: vec![] };
        let file = |schema: MetaSchemaRef| vec![MetaMediaType { content_type: "application/octet-stream", schema }];
        let part = response(206, "The rest of the file", file(<Binary<Vec<u8>> as Type>::schema_ref()));
        MetaResponses { responses: vec![response(200, "The file", file(schema)), part, response(304, "Not modified", vec![])] }
    }

    fn register(_: &mut Registry) {}
}

/// Sends a bundle and counts the download. Sends 304 if the client already has this version.
pub async fn bundle(app: &App, request: &Request, found: &domain::App, version: &AppVersion) -> Result<Response, Problem> {
    // Safe inside quotes: a name consists of letters, hyphens and underscores, a version of digits and dots.
    let name = format!("{}-{}.tgz", found.name, version.version);
    let bundle = Bundle { sha256: &version.sha256, size: version.size, name: &name, kind: "application/gzip" };
    let SentBundle { response, is_download } = send_bundle(app, request, &bundle).await?;
    if is_download {
        count_download(app, request, &found.did).await?;
    }
    Ok(response)
}

/// Counts a download, unless its network has downloaded the app on this day.
pub async fn count_download(app: &App, request: &Request, did: &Did) -> Result<(), Problem> {
    if !app.limits.counts_download(request, did, app.ctx.now()) {
        return Ok(());
    }
    let mut unit = app.ctx.store.begin().await?;
    unit.apps().count_download(did, app.ctx.now()).await?;
    Ok(unit.commit().await?)
}

/// A bundle as it is sent.
pub struct Bundle<'b> {
    pub sha256: &'b str,
    /// Bytes.
    pub size: u64,
    /// The file name, without quotes.
    pub name: &'b str,
    /// The content type.
    pub kind: &'static str,
}

pub struct SentBundle {
    pub response: Response,
    /// Whether the client gets the bundle from its beginning.
    pub is_download: bool,
}

/// Sends a bundle, or what the client has not received of it, or 304 if it has the whole bundle.
pub async fn send_bundle(app: &App, request: &Request, bundle: &Bundle<'_>) -> Result<SentBundle, Problem> {
    let tag = format!("\"{}\"", bundle.sha256);
    if has_current(request, &tag) {
        let response = StatusCode::NOT_MODIFIED.with_header(header::ETAG, tag).into_response();
        return Ok(SentBundle { response, is_download: false });
    }
    let is_head = request.extensions().get::<RequestMethod>().is_some_and(|RequestMethod(method)| *method == Method::HEAD);
    let start = if is_head { 0 } else { start_of(request, &tag, bundle.size).unwrap_or_default() };
    let file = open_from(app, bundle.sha256, start).await?;
    let digest = hex::decode(bundle.sha256).map(|bytes| STANDARD.encode(bytes)).unwrap_or_default();
    let size = file.size;
    let mut response = send(file, bundle.kind)
        .with_header(header::ETAG, tag)
        .with_header(header::ACCEPT_RANGES, "bytes")
        .with_header("repr-digest", format!("sha-256=:{digest}:"))
        .with_header(header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}\"", bundle.name))
        .into_response();
    if start > 0 {
        response.set_status(StatusCode::PARTIAL_CONTENT);
        let range = format!("bytes {start}-{}/{size}", size.saturating_sub(1));
        let range = HeaderValue::from_str(&range).map_err(|_| Problem::internal())?;
        response.headers_mut().insert(header::CONTENT_RANGE, range);
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(size.saturating_sub(start)));
    }
    Ok(SentBundle { response, is_download: !is_head && start == 0 })
}

/// Whether the client has the content with this tag already.
pub fn has_current(request: &Request, tag: &str) -> bool {
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag))
}

/// Where a client goes on that has received the beginning of this bundle. `None`: it gets the whole bundle. A range without the tag of the
/// bundle, or in another form than `bytes=N-`, is ignored, as HTTP allows.
fn start_of(request: &Request, tag: &str, size: u64) -> Option<u64> {
    let value = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    if value(header::IF_RANGE) != Some(tag) {
        return None;
    }
    let start: u64 = value(header::RANGE)?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()?;
    (1..size).contains(&start).then_some(start)
}

/// Sends a picture. Its URL changes with its content, so clients may cache it for a year.
pub async fn picture(app: &App, of: &domain::App, sha256: &str) -> Result<Response, Problem> {
    // Few see the pictures of an app that is not available.
    let cached = if of.availability == Availability::Available { "public, max-age=31536000, immutable" } else { "private, no-store" };
    send_picture(app, sha256, cached).await
}

/// Sends a picture of a version that may not be published. Only the browsers of those who may see it keep it.
pub async fn private_picture(app: &App, file: &VersionFile) -> Result<Response, Problem> {
    send_picture(app, &file.sha256, "private, max-age=3600").await
}

async fn send_picture(app: &App, sha256: &str, cached: &'static str) -> Result<Response, Problem> {
    let OpenedFile { mut content, size } = open(app, sha256).await?;
    let head = content.next().await.transpose().map_err(|error| {
        tracing::error!(%error, sha256, "a picture cannot be read");
        Problem::internal()
    })?;
    let head = head.unwrap_or_default();
    let kind = PictureFormat::of_head(&head).media_type();
    let file = OpenedFile { content: stream::iter([Ok(head)]).chain(content).boxed(), size };
    let response = send(file, kind)
        .with_header(header::CACHE_CONTROL, cached)
        // SVG files come from developers: opened directly, they must neither run scripts nor load resources.
        .with_header(header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox");
    Ok(response.into_response())
}

async fn open(app: &App, sha256: &str) -> Result<OpenedFile, Problem> {
    open_from(app, sha256, 0).await
}

async fn open_from(app: &App, sha256: &str, start: u64) -> Result<OpenedFile, Problem> {
    app.files.open_from(sha256, start).await?.ok_or_else(|| {
        tracing::error!(sha256, "a file that the database refers to is missing");
        Problem::internal()
    })
}

/// Sends a stored file with its content type and length.
pub fn send(opened: OpenedFile, kind: &'static str) -> Response {
    let body = Body::from_bytes_stream(opened.content);
    let mut response = Response::builder().content_type(kind).body(body);
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(opened.size));
    response
}
