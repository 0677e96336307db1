//! Beneficiaries of sales: what each has earned, and the payouts to them. The store does not send payouts: an owner makes one at the
//! network, and records it here.

use crate::access::{Caller, Did, Role};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, LedgerError, Posting};
use crate::operation::RestoreHeld;
use crate::shared::{
    Amount, AmountError, CurrencyId, EntryId, InputError, Listed, MethodId, Mode, Page, SharePayoutId, StorageError, Timestamp, check_text,
};
use async_trait::async_trait;

/// The longest reason of a payout, in characters.
pub const PAYOUT_REASON_MAX: usize = 500;

/// A beneficiary in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payee {
    pub mode: Mode,
    pub beneficiary: Did,
    pub currency_id: CurrencyId,
    /// The sum of their shares of sales, after refunds and disputes.
    pub earned: Amount,
    /// The sum of all payouts to them, those that were reversed included. It never shrinks, so it identifies a state.
    pub recorded: Amount,
    /// The sum of the payouts that were reversed.
    pub reversed: Amount,
}

impl Payee {
    /// What they were paid.
    #[must_use]
    pub fn paid_out(&self) -> Amount {
        self.recorded.minus(self.reversed).unwrap_or_default()
    }

    /// What can be paid out to them.
    #[must_use]
    pub fn payable(&self) -> Amount {
        self.earned.minus(self.paid_out()).unwrap_or_default()
    }

    /// What they were paid for sales that were refunded later. Their next sales make up for it.
    #[must_use]
    pub fn overpaid(&self) -> Amount {
        self.paid_out().minus(self.earned).unwrap_or_default()
    }
}

/// What the sales of an app have brought to a beneficiary in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppEarning {
    /// `None`: of products that grant no app.
    pub app: Option<Did>,
    pub currency_id: CurrencyId,
    pub earned: Amount,
    /// Lines of invoices, those that were refunded included.
    pub sales: u64,
}

/// A payout to a beneficiary, or the reversal of one that was recorded by mistake. Neither changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharePayout {
    pub id: SharePayoutId,
    pub mode: Mode,
    pub beneficiary: Did,
    pub currency_id: CurrencyId,
    /// The method of the currency, whose funds have become less.
    pub method_id: MethodId,
    pub amount: Amount,
    /// The sum of the payouts before it, those that were reversed included.
    pub paid_before: Amount,
    /// The payout that this one takes back; `None`: it is a payout.
    pub reverses: Option<SharePayoutId>,
    /// Whether another one takes it back.
    pub is_reversed: bool,
    pub reason: String,
    /// The owner.
    pub recorded_by: Did,
    pub created_at: Timestamp,
}

#[async_trait]
pub trait Payees: Send {
    /// What a beneficiary has earned, by app and currency.
    async fn earnings(&mut self, mode: Mode, beneficiary: &Did, page: &Page) -> Result<Listed<AppEarning>, StorageError>;
    /// A beneficiary in each currency.
    async fn of_beneficiary(&mut self, mode: Mode, beneficiary: &Did) -> Result<Vec<Payee>, StorageError>;
    /// All beneficiaries, in the order of their DIDs and currencies.
    async fn list(&mut self, mode: Mode, page: &Page) -> Result<Listed<Payee>, StorageError>;
    /// A beneficiary in one currency. Until the unit of work ends, no other one records a payout to them.
    async fn lock(&mut self, mode: Mode, beneficiary: &Did, currency: &CurrencyId) -> Result<Option<Payee>, StorageError>;
    /// Records a payout, and adds it to what was recorded. False: that is not `paid_before` any more, and nothing is written.
    async fn record(&mut self, payout: &SharePayout) -> Result<bool, StorageError>;
    async fn find_payout(&mut self, mode: Mode, id: &SharePayoutId) -> Result<Option<SharePayout>, StorageError>;
    /// Records a reversal, and adds it to what was reversed. False: that is not `reversed_before` any more, and nothing is written.
    /// [`StorageError::Duplicate`]: the payout was reversed before.
    async fn reverse(&mut self, reversal: &SharePayout, reversed_before: Amount) -> Result<bool, StorageError>;
    /// Payouts and reversals, newest first; `None`: of all beneficiaries.
    async fn payouts(&mut self, mode: Mode, beneficiary: Option<&Did>, page: &Page) -> Result<Listed<SharePayout>, StorageError>;
}

/// A payout as an owner records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharePayoutOrder {
    pub beneficiary: Did,
    pub currency_id: CurrencyId,
    pub amount: Amount,
    /// What the owner has seen as [`Payee::recorded`]. An order that is sent twice names a sum that is not true any more.
    pub paid_before: Amount,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
pub enum RecordPayoutError {
    #[error("Sorry, you are not authorized to access this page.")]
    NotOwner,
    /// Nothing was sold for them in this currency.
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("Please enter an amount above zero.")]
    NoAmount,
    #[error("A reason is required")]
    ReasonRequired,
    #[error("No more than what is payable can be paid out")]
    ExceedsPayable,
    #[error("Another payout was recorded in the meantime. Check what is payable now.")]
    Changed,
    /// Payouts that were recorded after the backup are not known.
    #[error(transparent)]
    Held(#[from] RestoreHeld),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for RecordPayoutError {
    fn from(error: StorageError) -> Self {
        match error {
            // Another payout of the same state was faster.
            StorageError::Conflict | StorageError::Duplicate(_) => Self::Changed,
            error => Self::Storage(error),
        }
    }
}

/// Records a payout that an owner has made to a beneficiary, as an entry of the journal.
///
/// # Errors
/// The caller is no owner, the amount exceeds what is payable, or another payout was recorded since the caller has looked. Then nothing is
/// recorded.
#[tracing::instrument(skip_all, fields(beneficiary = %order.beneficiary))]
pub async fn record_share_payout(
    ctx: &Context,
    caller: &Caller,
    mode: Mode,
    order: &SharePayoutOrder,
) -> Result<SharePayout, RecordPayoutError> {
    if !caller.holds(Role::Owner) {
        return Err(RecordPayoutError::NotOwner);
    }
    if ctx.networks.is_held() {
        return Err(RestoreHeld.into());
    }
    let reason = check_text("reason", &order.reason, PAYOUT_REASON_MAX)?;
    if reason.is_empty() {
        return Err(RecordPayoutError::ReasonRequired);
    }
    if order.amount.is_zero() {
        return Err(RecordPayoutError::NoAmount);
    }
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let payee = unit.payees().lock(mode, &order.beneficiary, &order.currency_id).await?.ok_or(RecordPayoutError::NotFound)?;
    let currency = unit.methods().find_currency(&order.currency_id).await?.filter(|currency| currency.mode == mode);
    let currency = currency.ok_or(RecordPayoutError::NotFound)?;
    if payee.recorded != order.paid_before {
        return Err(RecordPayoutError::Changed);
    }
    if order.amount > payee.payable() {
        return Err(RecordPayoutError::ExceedsPayable);
    }
    let payout = SharePayout {
        id: SharePayoutId::new(now, ctx.random.as_ref()),
        mode,
        beneficiary: order.beneficiary.clone(),
        currency_id: currency.id.clone(),
        method_id: currency.method_id.clone(),
        amount: order.amount,
        paid_before: order.paid_before,
        reverses: None,
        is_reversed: false,
        reason,
        recorded_by: caller.user.did.clone(),
        created_at: now,
    };
    if !unit.payees().record(&payout).await? {
        return Err(RecordPayoutError::Changed);
    }
    unit.journal().post(&entry_of(ctx, &payout)?).await?;
    unit.commit().await?;
    Ok(payout)
}

fn entry_of(ctx: &Context, payout: &SharePayout) -> Result<Entry, LedgerError> {
    let postings = vec![
        Posting::debit(Account::payable(payout.beneficiary.as_str()), payout.amount, &payout.currency_id),
        Posting::credit(Account::cash(&payout.method_id), payout.amount, &payout.currency_id),
    ];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    Entry::new(id, payout.mode, EntryType::SharePayout, payout.id.as_str(), payout.created_at, postings)
}
