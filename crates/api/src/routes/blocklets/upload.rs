//! `POST /api/blocklets/upload`: the parts `blocklet-meta`, `blocklet-tarball` and `source`, in this order. The first one is signed, so
//! that nothing else is received of a stranger.

use super::body::{Part, Parts};
use crate::problem::Problem;
use crate::state::App;
use poem::web::{Data, Json};
use poem::{Body, Request, handler};
use semver::Version;
use serde_json::{Value, json};
use souk_domain::access::{AuditActor, AuditEntry, Did, Operation};
use souk_domain::context::Context;
use souk_domain::publishing::bundle::{
    AdmittedUpload, MANIFEST_MAX, Spooled, UploadError, UploadPorts, UploadSource, admit_upload, check_space, complete_upload,
};
use souk_domain::publishing::publication::{UploadOutcome, upload_outcome};
use souk_domain::shared::AuditEntryId;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const MANIFEST: &str = "blocklet-meta";
const BUNDLE: &str = "blocklet-tarball";
const SOURCE: &str = "source";
/// The bytes of the name of a source.
const SOURCE_MAX: usize = 16;
/// How long the first part may take, before it is known who uploads.
const FIRST_PART: Duration = Duration::from_secs(60);
/// How long an upload may take (reference/store.md 5.3: the client's own limit).
const WHOLE: Duration = Duration::from_secs(30 * 60);
/// The disk is measured again after this many bytes.
const MEASURE_EVERY: u64 = 16 << 20;
/// How often the answer to an upload looks whether the store has published the version.
const PUBLICATION_POLL: Duration = Duration::from_millis(250);

#[handler]
pub async fn upload(app: Data<&Arc<App>>, request: &Request, body: Body) -> Result<Json<Value>, Problem> {
    app.limits.admit_upload(request)?;
    check_space(&app.ctx)?;
    let parts = Parts::of(request, body, app.publishing.progress)?;
    let address = app.limits.caller_address(request).map(|address| address.to_string());
    let received = tokio::time::timeout(WHOLE, receive(&app, parts, address)).await.map_err(|_| Problem::too_slow())??;
    Ok(Json(json!({ "status": outcome(&app, &received).await })))
}

/// A version that is stored.
struct Received {
    app: Did,
    version: Version,
}

async fn receive(app: &App, mut parts: Parts, address: Option<String>) -> Result<Received, Problem> {
    let publishing = &app.publishing;
    let ports = UploadPorts { dids: publishing.dids.as_ref(), reader: publishing.reader.as_ref(), files: app.files.as_ref() };
    let refused = |error: UploadError| Problem::of_upload(error, &app.site);
    let first = tokio::time::timeout(FIRST_PART, read_manifest(app, &mut parts)).await.map_err(|_| Problem::too_slow())?;
    let admitted = admit_upload(&app.ctx, &ports, first?).await.map_err(refused)?;
    let _slot = publishing.slots.enter(admitted.owner())?;
    let Some(mut bundle) = parts.next_part().await?.filter(|part| part.is(BUNDLE)) else {
        return Err(out_of_order(BUNDLE));
    };
    parts.grant(admitted.size());
    if admitted.is_stored() {
        // The answer to the first upload was lost. Its bundle is received, so that the client can read this answer.
        while bundle.next_chunk().await?.is_some() {}
        return Ok(Received { app: admitted.app().clone(), version: admitted.version().clone() });
    }
    let spooled = spool(app, &admitted, &mut bundle).await?;
    drop(bundle);
    let source = read_source(&mut parts).await?;
    let recorded = audited(app, &admitted, address);
    let version = complete_upload(&app.ctx, &recorded, &ports, admitted, spooled.as_ref(), source).await.map_err(refused)?;
    tracing::info!(app = %version.app, version = %version.version, bytes = version.size, "a version was uploaded");
    Ok(Received { app: version.app, version: version.version })
}

/// Tells the tool whether its developer still has to publish the version (reference/store.md 5.3). If the store publishes it
/// automatically, the answer waits for that, up to [`UPLOAD_PUBLICATION`](crate::state::UPLOAD_PUBLICATION).
async fn outcome(app: &App, received: &Received) -> &'static str {
    let begun = Instant::now();
    loop {
        match upload_outcome(&app.ctx, &received.app, &received.version).await {
            Ok(UploadOutcome::Published) => return "published",
            Ok(UploadOutcome::BeingPublished) if begun.elapsed() < app.publishing.publication => tokio::time::sleep(PUBLICATION_POLL).await,
            Ok(UploadOutcome::BeingPublished | UploadOutcome::Waiting) => return "uploaded",
            Err(error) => {
                // The version is stored, so the answer must not say that the upload failed.
                tracing::warn!(%error, "what became of an uploaded version is not known");
                return "uploaded";
            }
        }
    }
}

/// The context whose first commit also writes the entry of the audit log: only the signed part says who uploads, and with which token.
fn audited(app: &App, admitted: &AdmittedUpload, address: Option<String>) -> Context {
    let now = app.ctx.now();
    let entry = AuditEntry {
        id: AuditEntryId::new(now, app.ctx.random.as_ref()),
        at: now,
        actor: AuditActor::User(admitted.owner().clone()),
        operation: Operation::UploadVersion,
        mode: None,
        objects: vec![admitted.app().to_string(), admitted.signer().to_string()],
        address,
    };
    Context { store: app.ctx.store.audited(entry), ..app.ctx.clone() }
}

async fn read_manifest(app: &App, parts: &mut Parts) -> Result<Vec<u8>, Problem> {
    let Some(mut part) = parts.next_part().await?.filter(|part| part.is(MANIFEST)) else {
        return Err(out_of_order(MANIFEST));
    };
    parts.grant(MANIFEST_MAX as u64);
    let document = part.read_small(MANIFEST_MAX).await?;
    document.ok_or_else(|| Problem::of_upload(UploadError::ManifestTooLarge, &app.site))
}

/// Writes the bundle as it arrives. If it is refused, or its sender goes away, nothing of it remains.
async fn spool(app: &App, admitted: &AdmittedUpload, bundle: &mut Part) -> Result<Box<dyn Spooled>, Problem> {
    let refused = |error: UploadError| Problem::of_upload(error, &app.site);
    let mut writer = app.publishing.spool.create().await?;
    let (expected, mut received, mut measured) = (admitted.size(), 0, 0);
    while let Some(chunk) = bundle.next_chunk().await? {
        received += chunk.len() as u64;
        if received > expected {
            return Err(refused(UploadError::Size { actual: received, expected }));
        }
        if received - measured >= MEASURE_EVERY {
            check_space(&app.ctx)?;
            measured = received;
        }
        writer.write(&chunk).await?;
    }
    Ok(writer.finish().await?)
}

/// The last part. Without it, the upload comes from the command line.
async fn read_source(parts: &mut Parts) -> Result<UploadSource, Problem> {
    let Some(mut part) = parts.next_part().await? else { return Ok(UploadSource::Cli) };
    if !part.is(SOURCE) {
        return Err(out_of_order(SOURCE));
    }
    let name = part.read_small(SOURCE_MAX).await?.and_then(|bytes| String::from_utf8(bytes).ok());
    let source = name.and_then(|name| UploadSource::from_name(&name)).ok_or_else(|| Problem::invalid(SOURCE))?;
    drop(part);
    match parts.next_part().await? {
        None => Ok(source),
        Some(_) => Err(Problem::bad("The upload has a part after its source").code("UPLOAD_PARTS")),
    }
}

fn out_of_order(expected: &str) -> Problem {
    let message = format!("The upload must have the parts {MANIFEST}, {BUNDLE} and {SOURCE} in this order: {expected} is missing");
    Problem::bad(message).code("UPLOAD_PARTS").param("expected", expected)
}
