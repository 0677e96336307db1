//! PDF responses.

use crate::problem::Problem;
use crate::state::{App, DocumentPrinter};
use poem_openapi::payload::{Binary, Response};
use souk_domain::billing::PrintError;
use std::sync::Arc;

/// A PDF that browsers download under a file name.
pub type PdfResponse = Response<Binary<Vec<u8>>>;

/// Renders a document. Rendering takes milliseconds of CPU time, so it runs on the blocking thread pool.
pub async fn pdf<D>(app: &Arc<App>, name: &str, render: D) -> Result<PdfResponse, Problem>
where
    D: FnOnce(&dyn DocumentPrinter) -> Result<Vec<u8>, PrintError> + Send + 'static,
{
    let app = Arc::clone(app);
    let rendered = tokio::task::spawn_blocking(move || render(app.printer.as_ref())).await;
    let bytes = rendered.map_err(|_| Problem::internal())??;
    let disposition = format!("attachment; filename=\"{name}.pdf\"");
    Ok(Response::new(Binary(bytes)).header("content-type", "application/pdf").header("content-disposition", disposition))
}
