//! Documents as PDF.

use crate::problem::{FAILED, Problem};
use crate::state::{App, DocumentPrinter};
use poem::http::StatusCode;
use poem_openapi::payload::{Binary, Response};
use souk_domain::billing::PrintError;
use std::sync::Arc;

/// A PDF to be saved under a name.
pub type PdfResponse = Response<Binary<Vec<u8>>>;

/// Draws a document. That takes milliseconds of a core: not on the threads that answer calls.
pub async fn pdf<D>(app: &Arc<App>, name: &str, draw: D) -> Result<PdfResponse, Problem>
where
    D: FnOnce(&dyn DocumentPrinter) -> Result<Vec<u8>, PrintError> + Send + 'static,
{
    let app = Arc::clone(app);
    let drawn = tokio::task::spawn_blocking(move || draw(app.printer.as_ref())).await;
    let bytes = drawn.map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, FAILED))??;
    let disposition = format!("attachment; filename=\"{name}.pdf\"");
    Ok(Response::new(Binary(bytes)).header("content-type", "application/pdf").header("content-disposition", disposition))
}
