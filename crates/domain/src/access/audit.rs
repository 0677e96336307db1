//! The audit log: what administrators, API keys and commands have done. Entries never change. They are deleted when they are old.

use super::Did;
use crate::shared::{ApiKeyId, AuditEntryId, Listed, Mode, Page, StorageError, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// How long entries are kept: two years.
pub const AUDIT_LOG_RETENTION: Duration = Duration::from_secs(2 * 365 * 24 * 3_600);

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditActor {
    /// A signed-in user: an administrator, or a developer with their own access tokens and tools.
    User(Did),
    Key(ApiKeyId),
    /// A command on a machine of the store.
    Command,
}

/// The kinds of actors, as lists filter by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    User,
    Key,
    Command,
}

impl ActorKind {
    pub const ALL: [Self; 3] = [Self::User, Self::Key, Self::Command];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Key => "key",
            Self::Command => "command",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of the actor with this id.
    #[must_use]
    pub fn of(id: &str) -> Self {
        match id {
            "" => Self::Command,
            id if ApiKeyId::parse(id).is_ok() => Self::Key,
            _ => Self::User,
        }
    }
}

impl AuditActor {
    #[must_use]
    pub const fn kind(&self) -> ActorKind {
        match self {
            Self::User(_) => ActorKind::User,
            Self::Key(_) => ActorKind::Key,
            Self::Command => ActorKind::Command,
        }
    }

    /// The DID of the user or the id of the key; empty for a command.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::User(did) => did.as_str(),
            Self::Key(key) => key.as_str(),
            Self::Command => "",
        }
    }
}

macro_rules! operations {
    ($($name:ident = $code:literal;)*) => {
        /// What was done. Pages have a text for each code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operation { $($name),* }

        impl Operation {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            #[must_use]
            pub fn from_code(code: &str) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }
        }
    };
}

operations! {
    ClaimOwnership = "ownership.claim";
    CreateKey = "api_key.create";
    RevokeKey = "api_key.revoke";
    IssuePassport = "passport.issue";
    RevokePassport = "passport.revoke";
    ConfirmClock = "clock.confirm";
    ConfirmRestore = "restore.confirm";
    SkipImport = "restore.skip_import";
    TakeBackup = "backup.take";
    RestoreBackup = "backup.restore";
    RotateKey = "store_key.rotate";
    HandleFoundPayment = "found_payment.handle";
    RetryDeadLetter = "dead_letter.retry";
    CreateProduct = "product.create";
    UpdateProduct = "product.update";
    ArchiveProduct = "product.archive";
    DeleteProduct = "product.delete";
    CreatePrice = "price.create";
    UpdatePrice = "price.update";
    ReplacePrice = "price.replace";
    ArchivePrice = "price.archive";
    DeletePrice = "price.delete";
    UpdateInventory = "price.update_inventory";
    CreateLink = "payment_link.create";
    UpdateLink = "payment_link.update";
    ArchiveLink = "payment_link.archive";
    CreateMethod = "payment_method.create";
    UpdateMethod = "payment_method.update";
    StakeForGas = "payment_method.stake_for_gas";
    CreateCurrency = "payment_currency.create";
    UpdateCurrency = "payment_currency.update";
    CreateSession = "checkout_session.create";
    UpdateSession = "checkout_session.update";
    ExpireSession = "checkout_session.expire";
    UpdatePayment = "payment.update";
    RefundPayment = "payment.refund";
    ResolvePayment = "payment.resolve";
    ResolveTransfer = "transfer.resolve";
    PayOutBalance = "balance.pay_out";
    CreateRefund = "refund.create";
    RetryRefund = "refund.retry";
    MoveRefund = "refund.move_to_balance";
    CreateCreditNote = "credit_note.create";
    VoidInvoice = "invoice.void";
    UpdateSubscription = "subscription.update";
    CancelSubscription = "subscription.cancel";
    RecoverSubscription = "subscription.recover";
    PauseSubscription = "subscription.pause";
    ResumeSubscription = "subscription.resume";
    ResumeBilling = "subscription.resume_billing";
    ChangePlan = "subscription.change_plan";
    ChangePayment = "subscription.change_payment";
    EndOverdraftProtection = "subscription.end_overdraft_protection";
    ReturnSubscriptionStake = "subscription.return_stake";
    ForfeitStake = "subscription.forfeit_stake";
    ReturnStake = "stake.return";
    CreateTestClock = "test_clock.create";
    AdvanceTestClock = "test_clock.advance";
    RevokeLinks = "customer.revoke_links";
    EraseCustomer = "customer.erase";
    UpdatePreferences = "preferences.update";
    CreateInvitation = "invitation.create";
    RevokeInvitation = "invitation.revoke";
    AcceptInvitation = "invitation.accept";
    CreateAccessToken = "access_token.create";
    RegisterPublisher = "trusted_publisher.register";
    RemovePublisher = "trusted_publisher.remove";
    ExchangeCiToken = "trusted_publisher.exchange";
    ApproveTool = "tool.approve";
    DenyTool = "tool.deny";
    AgreeToTerms = "developer.agree";
    LeaveDevelopers = "developer.leave";
    BlockUser = "user.block";
    UnblockUser = "user.unblock";
    UploadVersion = "version.upload";
    CheckVersion = "version.check";
    ReviewVersion = "version.review";
    ApproveVersion = "version.approve";
    RejectVersion = "version.reject";
    PublishVersion = "version.publish";
    ScheduleVersion = "version.schedule";
    UnscheduleVersion = "version.unschedule";
    YankVersion = "version.yank";
    UndoYank = "version.undo_yank";
    RollBackApp = "app.roll_back";
    BlockApp = "app.block";
    UnblockApp = "app.unblock";
    BlockAndForfeit = "app.block_and_forfeit";
    ReturnAppDeposit = "app.return_deposit";
    SetAutoPublish = "app.auto_publish";
    SetVisibility = "app.visibility";
    SetAppPrice = "app.price";
    WithdrawAppPrice = "app.withdraw_price";
    RecordSharePayout = "share_payout.record";
    ReverseSharePayout = "share_payout.reverse";
    DeleteAccessToken = "access_token.delete";
    SetAppCategory = "app.set_category";
    CreateCategory = "category.create";
    CreateDefaultCategories = "category.create_defaults";
    UpdateCategory = "category.update";
    DeleteCategory = "category.delete";
    BlockDigest = "digest.block";
    UnblockDigest = "digest.unblock";
}

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: AuditEntryId,
    pub at: Timestamp,
    pub actor: AuditActor,
    pub operation: Operation,
    /// `None`: the operation concerns both modes.
    pub mode: Option<Mode>,
    /// The ids of the objects that the call names or has created, never any other value of the call.
    pub objects: Vec<String>,
    /// The network address of the caller; `None` for a command, and for users who erase their own data.
    pub address: Option<String>,
}

/// A filter of the log. `None`: all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// The DID of a user or the id of a key.
    pub actor: Option<String>,
    pub kind: Option<ActorKind>,
    pub operation: Option<Operation>,
    pub object: Option<String>,
}

#[async_trait]
pub trait AuditLog: Send {
    /// Makes this unit of work one with an effect, although it writes nothing else: what the call did happened at a network.
    async fn record_effect(&mut self) -> Result<(), StorageError>;
    /// The entries that match, newest first.
    async fn list(&mut self, filter: &AuditFilter, page: &Page) -> Result<Listed<AuditEntry>, StorageError>;
    /// Deletes the oldest entries from before a time, at most `limit`. No other way deletes an entry.
    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_actor_is_of_the_kind_that_its_id_says() {
        let key = ApiKeyId::parse("key_1").expect("an id");
        for actor in [AuditActor::User(Did::from_verified("z1owner".to_owned())), AuditActor::Key(key), AuditActor::Command] {
            assert_eq!(ActorKind::of(actor.id()), actor.kind(), "{actor:?}");
        }
    }

    #[test]
    fn every_operation_round_trips_by_its_code() {
        for operation in Operation::ALL {
            assert_eq!(Operation::from_code(operation.code()), Some(*operation));
        }
        let codes: BTreeSet<_> = Operation::ALL.iter().map(|operation| operation.code()).collect();
        assert_eq!(codes.len(), Operation::ALL.len());
        assert_eq!(Operation::from_code("store.burn"), None);
    }
}
