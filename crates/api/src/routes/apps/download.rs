//! Responses that send a file with its type, length and digest.

use crate::middleware::RequestMethod;
use crate::problem::Problem;
use crate::state::App;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use poem::http::{HeaderValue, Method, StatusCode, header};
use poem::{Body, IntoResponse, Request, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, MetaSchemaRef, Registry};
use poem_openapi::types::{Binary, Type};
use souk_domain::store::{self as domain, AppVersion, OpenedFile};

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
        MetaResponses { responses: vec![response(200, "The file", file(schema)), response(304, "Not modified", vec![])] }
    }

    fn register(_: &mut Registry) {}
}

/// Sends a bundle and counts the download. Sends 304 if the client already has this version.
pub async fn bundle(app: &App, request: &Request, found: &domain::App, version: &AppVersion) -> Result<Response, Problem> {
    let tag = format!("\"{}\"", version.sha256);
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        return Ok(StatusCode::NOT_MODIFIED.with_header(header::ETAG, tag).into_response());
    }
    let file = open(app, &version.sha256).await?;
    let digest = hex::decode(&version.sha256).map(|bytes| STANDARD.encode(bytes)).unwrap_or_default();
    // Safe inside quotes: a name consists of letters, hyphens and underscores, a version of digits and dots.
    let name = format!("{}-{}.tgz", found.name, version.version);
    let response = send(file, "application/gzip")
        .with_header(header::ETAG, tag)
        .with_header("repr-digest", format!("sha-256=:{digest}:"))
        .with_header(header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\""))
        .into_response();
    let is_head = request.extensions().get::<RequestMethod>().is_some_and(|RequestMethod(method)| *method == Method::HEAD);
    if !is_head {
        let mut unit = app.ctx.store.begin().await?;
        unit.apps().count_download(&found.did, app.ctx.now()).await?;
        unit.commit().await?;
    }
    Ok(response)
}

/// Sends a picture. Its URL changes with its content, so clients may cache it for a year.
pub async fn picture(app: &App, sha256: &str) -> Result<Response, Problem> {
    let file = open(app, sha256).await?;
    let response = send(file, "image/svg+xml")
        .with_header(header::CACHE_CONTROL, "public, max-age=31536000, immutable")
        // SVG files come from developers: opened directly, they must neither run scripts nor load resources.
        .with_header(header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox");
    Ok(response.into_response())
}

async fn open(app: &App, sha256: &str) -> Result<OpenedFile, Problem> {
    app.files.open(sha256).await?.ok_or_else(|| {
        tracing::error!(sha256, "a file that the database refers to is missing");
        Problem::internal()
    })
}

fn send(opened: OpenedFile, kind: &'static str) -> Response {
    let body = Body::from_bytes_stream(opened.content);
    let mut response = Response::builder().content_type(kind).body(body);
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(opened.size));
    response
}
