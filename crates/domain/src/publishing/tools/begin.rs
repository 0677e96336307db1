//! Begins the session of a tool. Nobody has signed in yet: everything that it says is only shown.

use super::session::{
    TOOL_APP_NAME_MAX, TOOL_APPS_MAX, TOOL_SESSION_LIFETIME, TOOL_SOURCE_MAX, ToolAction, ToolSeals, ToolSession, ToolStatus,
};
use crate::context::Context;
use crate::operation::VisitorNetwork;
use crate::shared::{InputError, StorageError, check_line};

/// A request as the tool sends it.
#[derive(Debug, Clone)]
pub struct NewToolSession<'a> {
    pub token: String,
    pub action: ToolAction,
    /// What the tool calls itself.
    pub source: &'a str,
    /// The network address of the request.
    pub address: Option<String>,
    /// An X25519 public key in base64url.
    pub encryption_key: &'a str,
    /// The names of apps, separated by commas.
    pub apps: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum BeginToolError {
    #[error("_ek_ must be an X25519 public key in base64url")]
    EncryptionKey,
    #[error("App name can not be empty")]
    NoApp,
    #[error("Too many apps: at most {max} can get a key at a time")]
    TooManyApps { max: usize },
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Begins a session. `visitor` is counted against the limits of what strangers can make the store keep.
#[tracing::instrument(skip_all)]
pub async fn begin_tool_session(
    ctx: &Context,
    seals: &dyn ToolSeals,
    new: NewToolSession<'_>,
    visitor: &VisitorNetwork,
) -> Result<ToolSession, BeginToolError> {
    let action = new.action;
    let encryption_key = match action.is_sealed() {
        true => Some(seals.read_key(new.encryption_key).ok_or(BeginToolError::EncryptionKey)?),
        false => None,
    };
    let now = ctx.now();
    let session = ToolSession {
        token: new.token,
        action,
        status: ToolStatus::Created,
        source: check_line("source", new.source, TOOL_SOURCE_MAX)?,
        address: new.address,
        encryption_key,
        apps: if action.needs_keys() { app_names(action, new.apps)? } else { Vec::new() },
        config: None,
        error: String::new(),
        created_at: now,
        expires_at: now.plus(TOOL_SESSION_LIFETIME),
    };
    let mut unit = ctx.store.begin().await?;
    unit.tool_sessions().insert(&session, visitor).await?;
    unit.commit().await?;
    Ok(session)
}

/// The apps that get a key: one for the studio, whose answer has room for one (reference/store.md 1.8).
fn app_names(action: ToolAction, list: &str) -> Result<Vec<String>, BeginToolError> {
    let max = if action == ToolAction::ConnectStudio { 1 } else { TOOL_APPS_MAX };
    let names = list.split(',').map(|name| check_line("monikers", name, TOOL_APP_NAME_MAX)).collect::<Result<Vec<_>, _>>()?;
    match () {
        () if names.len() > max => Err(BeginToolError::TooManyApps { max }),
        () if names.iter().any(String::is_empty) => Err(BeginToolError::NoApp),
        () => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(action: ToolAction, list: &str) -> Result<Vec<String>, String> {
        app_names(action, list).map_err(|error| error.to_string())
    }

    #[test]
    fn each_app_has_a_name_and_the_studio_asks_for_one_app() {
        use ToolAction::{ConnectStudio, GenerateKeys};
        let long = "n".repeat(TOOL_APP_NAME_MAX + 1);
        let many = ["app"; TOOL_APPS_MAX + 1].join(",");
        assert_eq!(names(GenerateKeys, " atlas , orbit").expect("names"), ["atlas", "orbit"]);
        assert_eq!(names(GenerateKeys, &many[4..]).expect("names").len(), TOOL_APPS_MAX);
        for (action, list, error) in [
            (GenerateKeys, "", "App name can not be empty"),
            (GenerateKeys, "atlas,,orbit", "App name can not be empty"),
            (ConnectStudio, " ", "App name can not be empty"),
            (ConnectStudio, "atlas,orbit", "Too many apps: at most 1 can get a key at a time"),
            (GenerateKeys, &many, "Too many apps: at most 10 can get a key at a time"),
            (GenerateKeys, &long, "monikers may have at most 64 characters"),
            (GenerateKeys, "at\tlas", "monikers may not have control characters"),
            (GenerateKeys, "at\u{202e}las", "monikers may not have control characters"),
        ] {
            assert_eq!(names(action, list).expect_err("is refused"), error, "{list}");
        }
    }
}
