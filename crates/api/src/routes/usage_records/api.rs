use crate::auth::{Reads, Writes, resources};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing::{self, UsageAction, UsageRecord, UsageReport};
use souk_domain::shared::{Page, SubscriptionItemId, Timestamp, UsageRecordId};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "UsageInput")]
pub struct UsageInputModel {
    pub subscription_item_id: String,
    pub quantity: u64,
    /// `increment` (the default) or `set`.
    pub action: Option<String>,
    /// Unix seconds; absent: now.
    pub timestamp: Option<i64>,
    /// A unique identifier chosen by the sender; repeated reports with it count once.
    pub identifier: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "UsageRecord")]
pub struct UsageRecordModel {
    pub id: String,
    pub object: String,
    pub subscription_item_id: String,
    pub identifier: String,
    pub quantity: u64,
    pub action: String,
    pub timestamp: i64,
    pub created_at: String,
}

impl From<&UsageRecord> for UsageRecordModel {
    fn from(record: &UsageRecord) -> Self {
        Self {
            id: record.id.to_string(),
            object: "usage_record".to_owned(),
            subscription_item_id: record.item_id.to_string(),
            identifier: record.identifier.clone(),
            quantity: record.quantity,
            action: record.action.name().to_owned(),
            timestamp: record.at.seconds(),
            created_at: record.created_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "UsageRecordList")]
pub struct UsageListModel {
    pub count: u64,
    pub list: Vec<UsageRecordModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "UsagePeriod")]
pub struct UsagePeriodModel {
    /// Unix seconds.
    pub start: i64,
    pub end: i64,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "UsageTotal")]
pub struct UsageTotalModel {
    pub period: UsagePeriodModel,
    pub total_usage: u64,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "UsageSummary")]
pub struct UsageSummaryModel {
    /// The number of periods.
    pub count: u64,
    /// The current period first, then earlier ones.
    pub list: Vec<UsageTotalModel>,
}

pub struct UsageRecordsApi;

#[OpenApi(prefix_path = "/api/usage-records")]
impl UsageRecordsApi {
    /// Report usage of a metered item within its current period. A repeated identifier counts once and returns the first record.
    #[oai(path = "/", method = "post")]
    async fn report(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::UsageRecords>,
        input: Json<UsageInputModel>,
    ) -> Result<Json<UsageRecordModel>, Problem> {
        let action = input.action.as_deref().map_or(Some(UsageAction::Increment), UsageAction::from_name);
        let report = UsageReport {
            item: SubscriptionItemId::parse(&input.subscription_item_id)?,
            quantity: input.quantity,
            action: action.ok_or_else(|| Problem::invalid_value("action", "action must be increment or set"))?,
            at: input.timestamp.map(Timestamp::from_seconds),
            identifier: input.identifier.clone(),
        };
        let record = billing::report_usage(&app.ctx, writes.mode, &report).await?;
        Ok(Json(UsageRecordModel::from(&record)))
    }

    /// Read a usage record.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::UsageRecords>,
        id: Path<String>,
    ) -> Result<Json<UsageRecordModel>, Problem> {
        let record = billing::usage_record(&app.ctx, reads.mode, &UsageRecordId::parse(&id)?).await?;
        Ok(Json(UsageRecordModel::from(&record)))
    }

    /// The usage records of an item, newest first by time of usage.
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::UsageRecords>,
        subscription_item_id: Query<String>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
    ) -> Result<Json<UsageListModel>, Problem> {
        let item = SubscriptionItemId::parse(&subscription_item_id)?;
        let page = Page::new(page.0, page_size.0.or(limit.0));
        let records = billing::usage_records(&app.ctx, reads.mode, &item, &page).await?;
        Ok(Json(UsageListModel { count: records.count, list: records.list.iter().map(UsageRecordModel::from).collect() }))
    }

    /// The total usage of an item by period.
    #[oai(path = "/summary", method = "get")]
    async fn summary(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::UsageRecords>,
        subscription_item_id: Query<String>,
    ) -> Result<Json<UsageSummaryModel>, Problem> {
        let item = SubscriptionItemId::parse(&subscription_item_id)?;
        let summary = billing::usage_summary(&app.ctx, reads.mode, &item).await?;
        let total = |one: &billing::PeriodUsage| UsageTotalModel {
            period: UsagePeriodModel { start: one.period.start.seconds(), end: one.period.end.seconds() },
            total_usage: one.total,
        };
        Ok(Json(UsageSummaryModel { count: summary.len() as u64, list: summary.iter().map(total).collect() }))
    }
}
