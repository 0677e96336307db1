use crate::auth::{Reads, Writes, resources};
use crate::problem::Problem;
use crate::routes::customers::named_customer;
use crate::routes::input::page;
use crate::state::App;
use poem::http::StatusCode;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Enum, Object, OpenApi};
use souk_domain::billing::{self, Step, TestClock, TimelineEvent};
use souk_domain::customer::Customer;
use souk_domain::shared::{ClockId, Mode, Timestamp};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "TestClockInput")]
pub struct ClockInputModel {
    /// A customer's id or DID.
    pub customer_id: String,
    pub name: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TestClockAdvance")]
pub struct AdvanceModel {
    /// Unix seconds.
    pub to: Option<i64>,
    /// `day`, `next_invoice` or `year`; used if `to` is absent.
    pub by: Option<String>,
}

/// The type of a timeline event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "TestClockTimelineEvent", rename_all = "snake_case")]
pub enum TimelineEventModel {
    Renewed,
    TrialEnded,
    Paid,
    PaymentDeclined,
    Retried,
    PastDue,
    Canceled,
    PutOnHold,
    StakeWaits,
    StakeSlashed,
    StakeReturned,
}

impl From<TimelineEvent> for TimelineEventModel {
    fn from(event: TimelineEvent) -> Self {
        match event {
            TimelineEvent::Renewed => Self::Renewed,
            TimelineEvent::TrialEnded => Self::TrialEnded,
            TimelineEvent::Paid => Self::Paid,
            TimelineEvent::PaymentDeclined => Self::PaymentDeclined,
            TimelineEvent::Retried => Self::Retried,
            TimelineEvent::PastDue => Self::PastDue,
            TimelineEvent::Canceled => Self::Canceled,
            TimelineEvent::PutOnHold => Self::PutOnHold,
            TimelineEvent::StakeWaits => Self::StakeWaits,
            TimelineEvent::StakeSlashed => Self::StakeSlashed,
            TimelineEvent::StakeReturned => Self::StakeReturned,
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TestClockEvent")]
pub struct EventModel {
    pub at: i64,
    pub what: TimelineEventModel,
    /// The affected subscription or invoice.
    pub subject: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TestClockCustomer")]
pub struct ClockCustomerModel {
    pub did: String,
    pub name: String,
    pub email: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TestClock")]
pub struct ClockModel {
    pub id: String,
    pub object: String,
    pub name: String,
    pub customer_id: String,
    pub customer: Option<ClockCustomerModel>,
    pub now: i64,
    /// ready or advancing.
    pub status: String,
    pub target: Option<i64>,
    /// Oldest first.
    pub timeline: Vec<EventModel>,
    pub created_at: String,
}

impl ClockModel {
    fn new(clock: &TestClock, customer: Option<&Customer>) -> Self {
        let event =
            |event: &billing::ClockEvent| EventModel { at: event.at.seconds(), what: event.what.into(), subject: event.subject.clone() };
        Self {
            id: clock.id.to_string(),
            object: "test_clock".to_owned(),
            name: clock.name.clone(),
            customer_id: clock.customer_id.to_string(),
            customer: customer.map(|customer| ClockCustomerModel {
                did: customer.did.to_string(),
                name: customer.name.clone(),
                email: customer.email.clone(),
            }),
            now: clock.now.seconds(),
            status: if clock.target.is_some() { "advancing" } else { "ready" }.to_owned(),
            target: clock.target.map(Timestamp::seconds),
            timeline: clock.timeline.iter().map(event).collect(),
            created_at: clock.created_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TestClockList")]
pub struct ClockListModel {
    pub count: u64,
    pub list: Vec<ClockModel>,
}

pub struct TestClocksApi;

#[OpenApi(prefix_path = "/api/test-clocks")]
impl TestClocksApi {
    /// Create a test clock for a test-mode customer. It starts at the current time.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::TestClocks>,
        input: Json<ClockInputModel>,
    ) -> Result<Json<ClockModel>, Problem> {
        let found = named_customer(&app, app.ctx.store.read().await?.as_mut(), writes.mode, input.customer_id.trim()).await?;
        let customer =
            found.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "There is no such customer in test mode").code("NO_TEST_CUSTOMER"))?;
        let clock = billing::create_clock(&app.ctx, writes.mode, &customer.id, &input.name).await?;
        shown(&app, &clock).await
    }

    /// The test clocks, newest first.
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::TestClocks>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<ClockListModel>, Problem> {
        let page = page::<ClockId>(number.0, page_size.0, starting_after.0)?;
        if reads.mode.is_live() {
            return Ok(Json(ClockListModel { count: 0, list: Vec::new() }));
        }
        let mut unit = app.ctx.store.read().await?;
        let clocks = unit.clocks().list(&page).await?;
        let ids: Vec<_> = clocks.list.iter().map(|clock| clock.customer_id.clone()).collect();
        let customers = unit.customers().find_all(&ids).await?;
        let model = |clock: &TestClock| ClockModel::new(clock, customers.iter().find(|customer| customer.id == clock.customer_id));
        Ok(Json(ClockListModel { count: clocks.count, list: clocks.list.iter().map(model).collect() }))
    }

    /// Read a test clock with its timeline.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::TestClocks>,
        id: Path<String>,
    ) -> Result<Json<ClockModel>, Problem> {
        let clock = find(&app, reads.mode, &id).await?;
        shown(&app, &clock).await
    }

    /// Advance a test clock by at most two years. The events of that time are processed in the background, in order.
    #[oai(path = "/:id/advance", method = "post")]
    async fn advance(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::TestClocks>,
        id: Path<String>,
        advance: Json<AdvanceModel>,
    ) -> Result<Json<ClockModel>, Problem> {
        let clock = find(&app, writes.mode, &id).await?;
        let step = match (advance.to, advance.by.as_deref()) {
            (Some(to), _) => Step::To(Timestamp::from_seconds(to)),
            (None, Some("day")) => Step::Day,
            (None, Some("year")) => Step::Year,
            (None, Some("next_invoice")) => Step::NextInvoice,
            (None, _) => return Err(Problem::bad("Either to or by must be provided").code("CLOCK_TARGET_REQUIRED")),
        };
        let clock = billing::step_clock(&app.ctx, &clock.id, step).await?;
        shown(&app, &clock).await
    }
}

async fn find(app: &App, mode: Mode, id: &str) -> Result<TestClock, Problem> {
    let found = app.ctx.store.read().await?.clocks().find(&ClockId::parse(id)?).await?;
    found.filter(|_| !mode.is_live()).ok_or_else(Problem::not_found)
}

async fn shown(app: &App, clock: &TestClock) -> Result<Json<ClockModel>, Problem> {
    let customer = app.ctx.store.read().await?.customers().find(&clock.customer_id).await?;
    Ok(Json(ClockModel::new(clock, customer.as_ref())))
}
