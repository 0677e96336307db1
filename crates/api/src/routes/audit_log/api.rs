use crate::auth::SignedIn;
use crate::problem::Problem;
use crate::routes::input::page;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Query;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::{ActorKind, AuditActor, AuditEntry, AuditFilter, Did, Operation};
use souk_domain::shared::{AuditEntryId, StorageError};
use souk_domain::storage::UnitOfWork;
use std::collections::HashMap;
use std::sync::Arc;

/// The longest text of a filter, in characters.
const FILTER_MAX: usize = 100;

#[derive(Debug, Clone, Object)]
#[oai(rename = "AuditActor")]
pub struct ActorModel {
    /// `user`, `key` or `command`.
    #[oai(rename = "type")]
    pub kind: String,
    /// The DID of the user or the id of the API key; empty for a command.
    pub id: String,
    /// The name of the user or of the key as it is now; empty if there is none.
    pub name: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AuditEntry", skip_serializing_if_is_none)]
pub struct AuditEntryModel {
    pub id: String,
    pub created_at: String,
    pub actor: ActorModel,
    /// A code such as `refund.create`.
    pub operation: String,
    /// Absent if the operation concerns both modes.
    pub livemode: Option<bool>,
    /// The objects that the call named or created.
    pub objects: Vec<String>,
    /// The network address of the caller, if there was one.
    pub address: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AuditEntryList")]
pub struct AuditEntryListModel {
    pub count: u64,
    pub list: Vec<AuditEntryModel>,
}

pub struct AuditLogApi;

#[OpenApi(prefix_path = "/api/audit-log")]
impl AuditLogApi {
    /// What administrators, API keys and commands have done, newest first, for administrators; optionally of one actor, one kind of actor,
    /// one operation, or about one object.
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        actor: Query<Option<String>>,
        actor_type: Query<Option<String>>,
        operation: Query<Option<String>>,
        object: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<AuditEntryListModel>, Problem> {
        if !caller.0.is_admin() {
            return Err(Problem::forbidden());
        }
        let page = page::<AuditEntryId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let text = |filter: Option<String>| given(filter).map(|text| text.chars().take(FILTER_MAX).collect::<String>());
        let kind = given(actor_type.0).map(|name| ActorKind::from_name(&name));
        let operation = given(operation.0).map(|code| Operation::from_code(&code));
        // An unknown kind or code matches nothing, so that a typing error does not widen the list.
        if kind == Some(None) || operation == Some(None) {
            return Ok(Json(AuditEntryListModel { count: 0, list: Vec::new() }));
        }
        let filter = AuditFilter { actor: text(actor.0), kind: kind.flatten(), operation: operation.flatten(), object: text(object.0) };
        let mut unit = app.ctx.store.read().await?;
        let found = unit.audit_log().list(&filter, &page).await?;
        let names = names(unit.as_mut(), &found.list).await?;
        let list = found.list.into_iter().map(|entry| model(entry, &names)).collect();
        Ok(Json(AuditEntryListModel { count: found.count, list }))
    }
}

/// The names of the actors by their ids.
async fn names(unit: &mut dyn UnitOfWork, entries: &[AuditEntry]) -> Result<HashMap<String, String>, StorageError> {
    let mut dids: Vec<Did> = Vec::new();
    let mut has_keys = false;
    for entry in entries {
        match &entry.actor {
            AuditActor::User(did) if !dids.contains(did) => dids.push(did.clone()),
            AuditActor::Key(_) => has_keys = true,
            AuditActor::User(_) | AuditActor::Command => {}
        }
    }
    let users = if dids.is_empty() { Vec::new() } else { unit.users().find_all(&dids).await? };
    let mut names: HashMap<_, _> = users.into_iter().map(|user| (user.did.to_string(), user.full_name)).collect();
    if has_keys {
        names.extend(unit.api_keys().list().await?.into_iter().map(|key| (key.id.to_string(), key.name)));
    }
    Ok(names)
}

fn model(entry: AuditEntry, names: &HashMap<String, String>) -> AuditEntryModel {
    let id = entry.actor.id().to_owned();
    AuditEntryModel {
        id: entry.id.to_string(),
        created_at: entry.at.to_iso(),
        actor: ActorModel { kind: entry.actor.kind().name().to_owned(), name: names.get(&id).cloned().unwrap_or_default(), id },
        operation: entry.operation.code().to_owned(),
        livemode: entry.mode.map(|mode| mode.is_live()),
        objects: entry.objects,
        address: entry.address,
    }
}
