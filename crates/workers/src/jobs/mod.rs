//! The jobs, one file each, and the dispatch by topic.

mod advance;
mod apply_balance;
mod billing_email;
mod charge;
mod check_card;
mod conclude_connect;
mod connect_update;
mod end_refunded;
mod owner_mail;
mod publish;
mod receipt;
mod settle;

use async_trait::async_trait;
use souk_domain::billing::{BillingMailer, ReceiptMailer};
use souk_domain::context::Context;
use souk_domain::doctor::OwnerMailer;
use souk_domain::events::{Handler, Job, JobError, Realtime, Topic};
use std::sync::Arc;

/// The dependencies of all jobs.
pub struct Jobs {
    pub ctx: Context,
    pub realtime: Arc<dyn Realtime>,
    pub receipts: Arc<dyn ReceiptMailer>,
    pub billing_emails: Arc<dyn BillingMailer>,
    pub owner_mails: Arc<dyn OwnerMailer>,
}

#[async_trait]
impl Handler for Jobs {
    async fn handle(&self, job: Job) -> Result<(), JobError> {
        match job.topic {
            Topic::SettleAttempt => settle::run(self, &job).await,
            Topic::ReceiptMail => receipt::run(self, &job).await,
            Topic::Charge => charge::run(self, &job).await,
            Topic::BillingMail => billing_email::run(self, &job).await,
            Topic::AdvanceClock => advance::run(self, &job).await,
            Topic::ApplyBalance => apply_balance::run(self, &job).await,
            Topic::EndRefunded => end_refunded::run(self, &job).await,
            Topic::CheckCard => check_card::run(self, &job).await,
            Topic::Realtime => publish::run(self, &job).await,
            Topic::ConcludeConnect => conclude_connect::run(self, &job).await,
            Topic::ConnectUpdate => connect_update::run(self, &job).await,
            Topic::OwnerMail => owner_mail::run(self, &job).await,
        }
    }
}
