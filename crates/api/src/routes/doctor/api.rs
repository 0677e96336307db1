use crate::auth::SignedIn;
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::Role;
use souk_domain::doctor::{self, ExamineError};
use souk_domain::operation::Finding;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Finding")]
pub struct FindingModel {
    /// A code such as `no_https`, for which pages have a text and a remedy.
    pub code: String,
    /// `error`, `warning` or `notice`.
    pub severity: String,
    /// The values of the text.
    pub params: BTreeMap<String, String>,
}

impl From<Finding> for FindingModel {
    fn from(finding: Finding) -> Self {
        Self { code: finding.code.name().to_owned(), severity: finding.code.severity().name().to_owned(), params: finding.params }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Examination")]
pub struct ExaminationModel {
    /// The version of this process.
    pub version: String,
    /// The most urgent first.
    pub list: Vec<FindingModel>,
}

pub struct DoctorApi;

#[OpenApi(prefix_path = "/api/doctor")]
impl DoctorApi {
    /// Examine the installation, as an owner. Asks the networks of the payment methods, so it can take some seconds.
    #[oai(path = "/", method = "get")]
    async fn examine(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<ExaminationModel>, Problem> {
        if caller.0.role() != Some(Role::Owner) {
            return Err(Problem::forbidden());
        }
        let list = doctor::examine(&app.ctx).await?.into_iter().map(FindingModel::from).collect();
        Ok(Json(ExaminationModel { version: env!("CARGO_PKG_VERSION").to_owned(), list }))
    }
}

impl From<ExamineError> for Problem {
    fn from(error: ExamineError) -> Self {
        match error {
            ExamineError::Method(error) => error.into(),
            ExamineError::Storage(error) => error.into(),
        }
    }
}
