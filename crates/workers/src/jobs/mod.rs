//! The jobs, one file each, and the dispatch by topic.

mod advance;
mod apply_balance;
mod billing_email;
mod charge;
mod check_card;
mod check_containing;
mod check_version;
mod conclude_connect;
mod confirmation_mail;
mod connect_update;
mod delete_provider_customer;
mod delivery;
mod developer_mail;
mod end_refunded;
mod owner_mail;
mod publish;
mod publish_version;
mod receipt;
mod review_mail;
mod sale_mail;
mod settle;
mod token_mail;

use async_trait::async_trait;
use souk_domain::billing::{BillingMailer, ReceiptMailer, SaleMailer};
use souk_domain::context::Context;
use souk_domain::doctor::OwnerMailer;
use souk_domain::events::{Handler, Job, JobError, Realtime, Topic};
use souk_domain::mail::ConfirmationMailer;
use souk_domain::operation::RESTORE_PAUSE;
use souk_domain::publishing::access_tokens::TokenMailer;
use souk_domain::publishing::bundle::{AppDids, BundleReader, Spool};
use souk_domain::publishing::review::ReviewMailer;
use souk_domain::publishing::staking::DeveloperMailer;
use souk_domain::store::Files;
use std::sync::Arc;

/// Whether jobs of this topic send something or change what customers owe and may use. They wait while a restored store is held; the others
/// only learn what has happened, and tell open pages.
const fn acts(topic: Topic) -> bool {
    match topic {
        Topic::ReceiptMail | Topic::BillingMail | Topic::ReminderMail | Topic::ConfirmationMail => true,
        Topic::OwnerMail | Topic::TokenMail | Topic::ReviewMail | Topic::DeveloperMail | Topic::SaleMail => true,
        Topic::Charge | Topic::PublishVersion => true,
        Topic::AdvanceClock | Topic::ApplyBalance | Topic::EndRefunded | Topic::DeleteProviderCustomer => true,
        Topic::SettleAttempt | Topic::CheckCard | Topic::CheckVersion | Topic::CheckContaining => false,
        Topic::Realtime | Topic::ConcludeConnect | Topic::ConnectUpdate => false,
    }
}

/// The dependencies of all jobs.
pub struct Jobs {
    pub ctx: Context,
    pub realtime: Arc<dyn Realtime>,
    pub receipts: Arc<dyn ReceiptMailer>,
    pub billing_emails: Arc<dyn BillingMailer>,
    pub confirmations: Arc<dyn ConfirmationMailer>,
    pub owner_mails: Arc<dyn OwnerMailer>,
    pub token_mails: Arc<dyn TokenMailer>,
    pub review_mails: Arc<dyn ReviewMailer>,
    pub developer_mails: Arc<dyn DeveloperMailer>,
    pub sale_mails: Arc<dyn SaleMailer>,
    pub checks: Checks,
}

/// What the checks of versions need.
pub struct Checks {
    pub dids: Arc<dyn AppDids>,
    pub reader: Arc<dyn BundleReader>,
    pub spool: Arc<dyn Spool>,
    pub files: Arc<dyn Files>,
}

#[async_trait]
impl Handler for Jobs {
    async fn handle(&self, job: Job) -> Result<(), JobError> {
        if self.ctx.networks.is_held() && acts(job.topic) {
            return Err(JobError::Later(self.ctx.now().plus(RESTORE_PAUSE)));
        }
        match job.topic {
            Topic::SettleAttempt => settle::run(self, &job).await,
            Topic::ReceiptMail => receipt::run(self, &job).await,
            Topic::Charge => charge::run(self, &job).await,
            Topic::BillingMail | Topic::ReminderMail => billing_email::run(self, &job).await,
            Topic::ConfirmationMail => confirmation_mail::run(self, &job).await,
            Topic::AdvanceClock => advance::run(self, &job).await,
            Topic::ApplyBalance => apply_balance::run(self, &job).await,
            Topic::EndRefunded => end_refunded::run(self, &job).await,
            Topic::CheckCard => check_card::run(self, &job).await,
            Topic::DeleteProviderCustomer => delete_provider_customer::run(self, &job).await,
            Topic::Realtime => publish::run(self, &job).await,
            Topic::ConcludeConnect => conclude_connect::run(self, &job).await,
            Topic::ConnectUpdate => connect_update::run(self, &job).await,
            Topic::CheckVersion => check_version::run(self, &job).await,
            Topic::CheckContaining => check_containing::run(self, &job).await,
            Topic::PublishVersion => publish_version::run(self, &job).await,
            Topic::OwnerMail => owner_mail::run(self, &job).await,
            Topic::TokenMail => token_mail::run(self, &job).await,
            Topic::ReviewMail => review_mail::run(self, &job).await,
            Topic::DeveloperMail => developer_mail::run(self, &job).await,
            Topic::SaleMail => sale_mail::run(self, &job).await,
        }
    }
}
