//! Publishes an event to the open pages that it concerns. Payload: `event`, and the ids that belong to it.

use super::Jobs;
use souk_domain::access::Did;
use souk_domain::events::{Audience, Job, JobError, PublicEvent, RealtimeMessage};
use souk_domain::publishing::review::{REVIEWED_EVENT, followers_of};
use souk_domain::shared::{CustomerId, SessionId, StorageError};
use souk_domain::storage::UnitOfWork;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let name = job.value("event")?.to_owned();
    let mut ids = job.payload.clone();
    ids.remove("event");
    let mut unit = jobs.ctx.store.read().await?;
    let audiences = match (name.as_str(), job.payload.get("id"), job.payload.get("customer_id")) {
        (REVIEWED_EVENT, _, _) => of_review(unit.as_mut(), job.value("blockletId")?).await?,
        ("checkout.session.completed", Some(session), _) => vec![of_session(unit.as_mut(), session).await?],
        (_, _, Some(customer)) => vec![of_customer(unit.as_mut(), customer).await?],
        _ => Vec::new(),
    };
    drop(unit);
    // After a failure all of them get the event again: a page that has it only loads its data once more.
    for audience in audiences {
        let message = RealtimeMessage::Event(PublicEvent { name: name.clone(), ids: ids.clone(), audience });
        jobs.realtime.publish(&message).await.map_err(|error| JobError::Retry(error.to_string()))?;
    }
    Ok(())
}

async fn of_review(unit: &mut dyn UnitOfWork, app: &str) -> Result<Vec<Audience>, StorageError> {
    let followers = followers_of(unit, &Did::from_verified(app)).await?;
    Ok(followers.into_iter().map(|did| Audience { user: Some(did.to_string()), browser: None }).collect())
}

async fn of_session(unit: &mut dyn UnitOfWork, id: &str) -> Result<Audience, StorageError> {
    let Ok(id) = SessionId::parse(id) else { return Ok(Audience::default()) };
    let Some(session) = unit.sessions().find(&id).await? else { return Ok(Audience::default()) };
    Ok(Audience { user: session.payer.map(|payer| payer.to_string()), browser: session.browser.map(|browser| browser.0) })
}

async fn of_customer(unit: &mut dyn UnitOfWork, id: &str) -> Result<Audience, StorageError> {
    let Ok(id) = CustomerId::parse(id) else { return Ok(Audience::default()) };
    let customer = unit.customers().find(&id).await?;
    Ok(Audience { user: customer.map(|customer| customer.did.to_string()), browser: None })
}
