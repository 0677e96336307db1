//! The commands `migrate`, `key`, `passport`, `clock` and `dead-letters`.

use crate::compose::{Failure, open_store};
use crate::config::{ClockCommand, Common, KeyCommand, PassportCommand};
use souk_adapters::system::{SystemClock, SystemRandom};
use souk_api::auth::{CreatedKey, NewKey, create_key};
use souk_domain::access::{self, AuditActor, AuditEntry, Operation, Scope};
use souk_domain::context::Context;
use souk_domain::operation::{StoredDoubt, TimeSource, confirm_clock};
use souk_domain::publishing::staking::revoke_passport;
use souk_domain::shared::{ApiKeyId, AuditEntryId, Clock, EventId, Mode, PassportId};

/// Maximum number of dead letters in one listing.
const DEAD_LETTERS_MAX: u32 = 100;

/// Makes the audit log record what the command commits.
pub fn audited(ctx: &Context, operation: Operation, objects: Vec<String>) -> Context {
    Context { store: ctx.store.audited(audit_entry(operation, objects)), ..ctx.clone() }
}

/// The audit log's entry of a command that does this now.
pub fn audit_entry(operation: Operation, objects: Vec<String>) -> AuditEntry {
    let now = SystemClock.now();
    let id = AuditEntryId::new(now, &SystemRandom);
    AuditEntry { id, at: now, actor: AuditActor::Command, operation, mode: None, objects, address: None }
}

pub async fn migrate(common: &Common) -> Result<(), Failure> {
    open_store(common).await?;
    println!("The database is up to date.");
    Ok(())
}

pub async fn key(common: &Common, command: KeyCommand) -> Result<(), Failure> {
    let ctx = open_store(common).await?;
    match command {
        KeyCommand::Create { name, scope, live } => {
            let known = || Scope::RESOURCES.map(|resource| format!("{resource}:read, {resource}:write")).join(", ");
            let parse = |text: &String| Scope::parse(text).ok_or_else(|| format!("unknown scope {text}: expected * or one of {}", known()));
            let scopes = scope.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
            let ctx = audited(&ctx, Operation::CreateKey, Vec::new());
            let CreatedKey { key, secret } = create_key(&ctx, NewKey { name, mode: Mode::from_livemode(live), scopes }).await?;
            println!("{}  {secret}\nCopy the secret now: it is not shown again.", key.id);
        }
        KeyCommand::List => {
            for key in ctx.store.read().await?.api_keys().list().await? {
                let scopes: Vec<_> = key.scopes.iter().map(Scope::as_str).collect();
                let mode = if key.mode.is_live() { "live" } else { "test" };
                let used = key.last_used_at.map_or_else(|| "never used".to_owned(), |at| format!("used {}", at.to_iso()));
                let state = key.revoked_at.map_or_else(|| "valid".to_owned(), |at| format!("revoked {}", at.to_iso()));
                println!("{}  {}  {mode}  {}  {used}  {state}", key.id, key.name, scopes.join(","));
            }
        }
        KeyCommand::Revoke { id } => {
            let mut unit = audited(&ctx, Operation::RevokeKey, vec![id.clone()]).store.begin().await?;
            if !unit.api_keys().revoke(&ApiKeyId::parse(&id)?, ctx.now()).await? {
                return Err(format!("there is no valid key {id}").into());
            }
            unit.commit().await?;
            println!("{id} is revoked.");
        }
    }
    Ok(())
}

pub async fn passport(common: &Common, command: PassportCommand) -> Result<(), Failure> {
    let ctx = open_store(common).await?;
    match command {
        PassportCommand::Issue { did, role } => {
            let ctx = audited(&ctx, Operation::IssuePassport, vec![did.to_string()]);
            let passport = access::issue_passport(&ctx, &did, role).await?;
            println!("{}  {}  {}", passport.id, passport.holder, role.name());
        }
        PassportCommand::List => {
            for passport in ctx.store.read().await?.users().list_passports().await? {
                let state = passport.revoked_at.map_or_else(|| "valid".to_owned(), |at| format!("revoked {}", at.to_iso()));
                println!("{}  {}  {}  issued {}  {state}", passport.id, passport.holder, passport.role.name(), passport.issued_at.to_iso());
            }
        }
        PassportCommand::Revoke { id } => {
            let ctx = audited(&ctx, Operation::RevokePassport, vec![id.clone()]);
            if !revoke_passport(&ctx, &PassportId::parse(&id)?).await? {
                return Err(format!("there is no valid passport {id}").into());
            }
            println!("{id} is revoked.");
        }
    }
    Ok(())
}

pub async fn clock(common: &Common, command: ClockCommand) -> Result<(), Failure> {
    let ctx = open_store(common).await?;
    match command {
        ClockCommand::Status => {
            let doubts = ctx.store.read().await?.clock_states().read().await?.doubts;
            if doubts.is_empty() {
                println!("The clock is trusted.");
            }
            for doubt in &doubts {
                println!("{}", describe_doubt(doubt));
            }
        }
        ClockCommand::Confirm => {
            confirm_clock(&audited(&ctx, Operation::ConfirmClock, Vec::new())).await?;
            println!("The clock is confirmed. Automatic billing continues within a few seconds.");
        }
    }
    Ok(())
}

/// Names what the clock differs from as the console does.
fn describe_doubt(StoredDoubt { host, doubt, at, .. }: &StoredDoubt) -> String {
    let source = match doubt.source {
        TimeSource::Uptime => "what the uptime of the machine implies",
        TimeSource::Database => "the clock of the database server",
        TimeSource::Network => "the clock of a payment network",
        TimeSource::Mark => "the time that the store has seen before",
    };
    let direction = if doubt.ahead_seconds < 0 { "behind" } else { "ahead of" };
    let (seconds, since) = (doubt.ahead_seconds.unsigned_abs(), at.to_iso());
    format!(
        "The clock of {host} is not trusted since {since}: it is {seconds} seconds {direction} {source}. Automatic billing has stopped."
    )
}

pub async fn dead_letters(common: &Common, retry: Option<&str>) -> Result<(), Failure> {
    let ctx = open_store(common).await?;
    if let Some(id) = retry {
        let mut unit = audited(&ctx, Operation::RetryDeadLetter, vec![id.to_owned()]).store.begin().await?;
        if !unit.outbox().retry_dead_letter(&EventId::parse(id)?, ctx.now()).await? {
            return Err(format!("there is no dead letter {id}").into());
        }
        unit.commit().await?;
        println!("{id} will be retried.");
        return Ok(());
    }
    for letter in ctx.store.read().await?.outbox().dead_letters(DEAD_LETTERS_MAX).await? {
        let (at, topic) = (letter.dead_at.to_iso(), letter.message.topic.name());
        println!("{}  {at}  {topic}  {} attempts  {}", letter.id, letter.attempts, letter.last_error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use souk_domain::operation::ClockDoubt;
    use souk_domain::shared::Timestamp;

    #[test]
    fn a_doubt_is_described_in_words() {
        let doubt = |ahead_seconds| StoredDoubt {
            process: "1f".to_owned(),
            host: "shop".to_owned(),
            doubt: ClockDoubt { source: TimeSource::Network, ahead_seconds },
            at: Timestamp::from_seconds(0),
            renewals: 3,
        };
        assert!(describe_doubt(&doubt(900)).contains("900 seconds ahead of the clock of a payment network"));
        assert!(describe_doubt(&doubt(-900)).contains("900 seconds behind the clock of a payment network"));
    }
}
