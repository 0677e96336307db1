use super::model::PreferencesModel;
use crate::auth::AdminUser;
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::payload::Json;
use souk_domain::publishing;
use std::sync::Arc;

pub struct PreferencesApi;

#[OpenApi(prefix_path = "/api/console/preferences")]
impl PreferencesApi {
    /// The preferences of publishing, for administrators.
    #[oai(path = "/", method = "get")]
    async fn read(&self, app: Data<&Arc<App>>, _caller: AdminUser) -> Result<Json<PreferencesModel>, Problem> {
        Ok(Json(publishing::find_preferences(&app.ctx).await?.into()))
    }

    /// Replace the preferences of publishing, as an administrator. Who may publish, which versions are reviewed, stakes and shares change
    /// only after a recent sign-in. 409 if they have another version than the one named.
    #[oai(path = "/", method = "put")]
    async fn update(
        &self,
        app: Data<&Arc<App>>,
        caller: AdminUser,
        preferences: Json<PreferencesModel>,
    ) -> Result<Json<PreferencesModel>, Problem> {
        let new = preferences.read()?;
        let stored = publishing::find_preferences(&app.ctx).await?;
        // Preferences of another version are refused below.
        if stored.version == preferences.version && stored.preferences.is_sensitive_change(&new) {
            caller.0.check_recent(&app)?;
        }
        Ok(Json(publishing::change_preferences(&app.ctx, preferences.version, new).await?.into()))
    }
}
