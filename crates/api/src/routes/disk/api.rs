use crate::auth::SignedIn;
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::operation::DiskShortage;
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Disk")]
pub struct DiskModel {
    /// Less than the reserve is free: new sessions and uploads are refused.
    pub short: bool,
    /// The machine whose disk is short.
    pub host: Option<String>,
    /// A folder of the store on that disk.
    pub folder: Option<String>,
    pub free_bytes: Option<u64>,
    pub reserve_bytes: Option<u64>,
}

impl From<Option<DiskShortage>> for DiskModel {
    fn from(shortage: Option<DiskShortage>) -> Self {
        Self {
            short: shortage.is_some(),
            free_bytes: shortage.as_ref().map(|disk| disk.free_bytes),
            reserve_bytes: shortage.as_ref().map(|disk| disk.reserve_bytes),
            host: shortage.as_ref().map(|disk| disk.host.clone()),
            folder: shortage.map(|disk| disk.folder),
        }
    }
}

pub struct DiskApi;

#[OpenApi(prefix_path = "/api/disk")]
impl DiskApi {
    /// Whether the process that answers has enough disk space, for administrators.
    #[oai(path = "/", method = "get")]
    async fn disk(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<DiskModel>, Problem> {
        match caller.0.is_admin() {
            true => Ok(Json(app.ctx.disk.shortage().into())),
            false => Err(Problem::forbidden()),
        }
    }
}
