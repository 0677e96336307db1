use crate::auth::{SignedByDevice, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, Object, OpenApi};
use souk_domain::access::{self, Device, Did};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Device")]
pub struct DeviceModel {
    /// The DID of the computer's key.
    pub id: String,
    /// What the command line calls itself. Nobody has verified it.
    pub name: String,
    pub created_at: String,
    /// The last use, to a minute.
    pub used_at: String,
    pub expires_at: String,
}

impl From<Device> for DeviceModel {
    fn from(device: Device) -> Self {
        Self {
            id: device.id.to_string(),
            name: device.name,
            created_at: device.created_at.to_iso(),
            used_at: device.used_at.to_iso(),
            expires_at: device.expires_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "DeviceList")]
pub struct DeviceListModel {
    pub count: u64,
    pub list: Vec<DeviceModel>,
}

#[derive(ApiResponse)]
pub enum SignedOut {
    #[oai(status = 204)]
    Done,
}

pub struct DevicesApi;

#[OpenApi(prefix_path = "/api/devices")]
impl DevicesApi {
    /// The computers on which the user is signed in with the command line; the last used one comes first.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<DeviceListModel>, Problem> {
        shown(&app, &caller.0.user.did).await
    }

    /// Sign the computer out whose key has signed the request. Its licenses are valid until they expire.
    #[oai(path = "/current", method = "delete")]
    async fn end_current(&self, app: Data<&Arc<App>>, device: SignedByDevice) -> Result<SignedOut, Problem> {
        access::end_device(&app.ctx, &device.0.user, &device.0.id).await?;
        Ok(SignedOut::Done)
    }

    /// Sign the user out on one computer. Returns the remaining ones.
    #[oai(path = "/:id", method = "delete")]
    async fn end(&self, app: Data<&Arc<App>>, caller: SignedIn, id: Path<String>) -> Result<Json<DeviceListModel>, Problem> {
        let user = &caller.0.user.did;
        let id = app.did_auth_tokens.parse_did(&id).ok_or_else(Problem::not_found)?;
        match access::end_device(&app.ctx, user, &id).await? {
            true => shown(&app, user).await,
            false => Err(Problem::not_found()),
        }
    }
}

async fn shown(app: &App, user: &Did) -> Result<Json<DeviceListModel>, Problem> {
    let list: Vec<_> = access::list_devices(&app.ctx, user).await?.into_iter().map(DeviceModel::from).collect();
    Ok(Json(DeviceListModel { count: list.len() as u64, list }))
}
