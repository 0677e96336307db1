//! How each kind of domain value is stored in each database.
//!
//! | kind | SQLite | PostgreSQL |
//! |---|---|---|
//! | text | TEXT | TEXT |
//! | integer | INTEGER | BIGINT |
//! | bool | INTEGER 0 or 1 | BOOLEAN |
//! | amount | TEXT, zero-padded to 39 digits, so that text order is number order | NUMERIC(78,0) |
//! | time | INTEGER microseconds since 1970 | TIMESTAMPTZ |
//! | json | TEXT | JSONB |
//! | bytes | BLOB | BYTEA |

use bigdecimal::{BigDecimal, ToPrimitive};
use souk_domain::access::{ConnectAction, ConnectStatus, ConnectStep, Did, Operation, Role, TokenHash};
use souk_domain::billing::{
    BalanceTransactionType, BillingReason, CreditNoteReason, DocumentType, HoldReason, InvoiceStatus, PlanChangeFailure, ReleaseReason,
    StakePurpose, StakeStatus, StakeSubject, StakeTransferKind, SubscriptionStatus, UsageAction,
};
use souk_domain::checkout::{PaymentStatus, SessionMode, SessionStatus};
use souk_domain::ledger::{Account, EntryType, Side};
use souk_domain::operation::TimeSource;
use souk_domain::payment::{AttemptStatus, DisputeStatus, IntentStatus, MandateStatus, MethodKind, RefundStatus, RefundType};
use souk_domain::pricing::TiersMode;
use souk_domain::publishing::tools::{ToolAction, ToolStatus};
use souk_domain::shared::*;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, Column as _, Row, TypeInfo, ValueRef};
use time::OffsetDateTime;

/// The kinds of columns. A NULL has a kind too, because PostgreSQL requires a type for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    Bool,
    Amount,
    Time,
    Json,
    Bytes,
}

impl Kind {
    /// The name of PostgreSQL's type.
    pub(super) const fn postgres_name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "bigint",
            Self::Bool => "boolean",
            Self::Amount => "numeric",
            Self::Time => "timestamptz",
            Self::Json => "jsonb",
            Self::Bytes => "bytea",
        }
    }
}

/// A value written to or read from a database.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null(Kind),
    Text(String),
    Integer(i64),
    Bool(bool),
    Amount(Amount),
    Time(Timestamp),
    Json(serde_json::Value),
    Bytes(Vec<u8>),
    /// Text read from a column that is not valid for the column's kind. Kept for the error message.
    Malformed(String),
}

/// The values of one column of many rows.
#[derive(Debug)]
pub(super) struct Column {
    pub kind: Kind,
    pub values: Vec<Value>,
}

impl Column {
    /// Adds the column as an array.
    pub(super) fn add_to_postgres(self, to: &mut PgArguments) -> Result<(), BoxDynError> {
        /// Each value, or `None` for NULL.
        fn array<T>(values: Vec<Value>, read: impl Fn(Value) -> Option<T>) -> Result<Vec<Option<T>>, BoxDynError> {
            let read = |value| match value {
                Value::Null(_) => Ok(None),
                value => read(value)
                    .map(Some)
                    .ok_or_else(|| BoxDynError::from("a value does not fit the kind of its column, or is outside the calendar")),
            };
            values.into_iter().map(read).collect()
        }
        macro_rules! add {
            ($pattern:pat => $value:expr) => {
                to.add(array(self.values, |value| if let $pattern = value { $value } else { None })?)
            };
        }
        match self.kind {
            Kind::Text => add!(Value::Text(text) | Value::Malformed(text) => Some(text)),
            Kind::Integer => add!(Value::Integer(number) => Some(number)),
            Kind::Bool => add!(Value::Bool(truth) => Some(truth)),
            Kind::Amount => add!(Value::Amount(amount) => Some(BigDecimal::from(amount.base_units()))),
            Kind::Time => add!(Value::Time(at) => at.to_calendar()),
            Kind::Json => add!(Value::Json(json) => Some(json)),
            Kind::Bytes => add!(Value::Bytes(bytes) => Some(bytes)),
        }
    }
}

/// The values of a statement, or of one row to insert, in order.
pub struct Values(pub(super) Result<Vec<Value>, StorageError>);

impl Default for Values {
    fn default() -> Self {
        // Most rows of the wide tables fit without growing more than once.
        Self(Ok(Vec::with_capacity(16)))
    }
}

impl Values {
    /// Binds the next value. If no column can hold it (an integer above `i64::MAX`), running the statement fails.
    #[must_use]
    pub fn bind(mut self, value: impl Bound) -> Self {
        if let Ok(values) = &mut self.0 {
            match value.into_value() {
                Some(value) => values.push(value.without_nul()),
                None => self.0 = Err(StorageError::Driver("a bound value is out of the range that storage has".into())),
            }
        }
        self
    }
}

/// A type that can be bound to a query: every [`Stored`] type, and references to one.
pub trait Bound {
    const KIND: Kind;
    /// Returns `None` if no column can hold the value.
    fn into_value(self) -> Option<Value>;
}

/// A type that can be read from a row.
pub trait Stored: Bound + Sized {
    /// Returns `None` if the value is not valid for this type.
    fn from_value(value: Value) -> Option<Self>;
    /// As [`Bound::into_value`], of a reference.
    fn to_value(&self) -> Option<Value>
    where
        Self: Clone,
    {
        self.clone().into_value()
    }
}

impl<T: Stored + Clone> Bound for &T {
    const KIND: Kind = T::KIND;
    fn into_value(self) -> Option<Value> {
        self.to_value()
    }
}

impl<T: Bound> Bound for Option<T> {
    const KIND: Kind = T::KIND;
    fn into_value(self) -> Option<Value> {
        self.map_or(Some(Value::Null(T::KIND)), T::into_value)
    }
}

impl<T: Stored + Clone> Stored for Option<T> {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Null(_) = value { Some(None) } else { T::from_value(value).map(Some) }
    }

    fn to_value(&self) -> Option<Value> {
        self.as_ref().map_or(Some(Value::Null(T::KIND)), T::to_value)
    }
}

impl Bound for &str {
    const KIND: Kind = Kind::Text;
    fn into_value(self) -> Option<Value> {
        Some(Value::Text(self.to_owned()))
    }
}

/// Defines how types are stored: the kind, the conversion to a value of that kind, and the conversion back.
macro_rules! stored {
    ($($type:ty, $kind:ident, $value:pat => $into:expr, $back:pat => $from:expr;)*) => {$(
        impl Bound for $type {
            const KIND: Kind = Kind::$kind;
            fn into_value(self) -> Option<Value> {
                let $value = self;
                $into.map(Value::$kind)
            }
        }

        impl Stored for $type {
            fn from_value(value: Value) -> Option<Self> {
                let Value::$kind($back) = value else { return None };
                $from
            }
        }
    )*};
}
pub(super) use stored;

stored! {
    StakeSubject, Text, subject => Some(subject.to_text()), text => Self::parse(&text);
    String, Text, text => Some(text), text => Some(text);
    i64, Integer, number => Some(number), number => Some(number);
    u32, Integer, number => Some(i64::from(number)), number => Self::try_from(number).ok();
    u64, Integer, number => i64::try_from(number).ok(), number => Self::try_from(number).ok();
    bool, Bool, truth => Some(truth), truth => Some(truth);
    Amount, Amount, amount => Some(amount), amount => Some(amount);
    Timestamp, Time, at => Some(at), at => Some(at);
    serde_json::Value, Json, json => Some(json), json => Some(json);
    Vec<u8>, Bytes, bytes => Some(bytes), bytes => Some(bytes);
    Did, Text, did => Some(did.to_string()), text => Some(Self::from_verified(text));
    TokenHash, Bytes, hash => Some(hash.to_vec()), bytes => bytes.try_into().ok();
    Mode, Bool, mode => Some(mode.is_live()), live => Some(Self::from_livemode(live));
    Language, Text, language => Some(language.tag().to_owned()), tag => Some(Self::from_tag(&tag));
    Operation, Text, operation => Some(operation.code().to_owned()), code => Self::from_code(&code);
    Account, Text, account => Some(account.name()), name => Self::from_name(&name);
    Side, Text, side => Some(match side { Self::Debit => "debit", Self::Credit => "credit" }.to_owned()), name => match name.as_str() {
        "debit" => Some(Self::Debit),
        "credit" => Some(Self::Credit),
        _ => None,
    };
}

macro_rules! stored_names {
    ($($type:ident),* $(,)?) => { stored! { $($type, Text, value => Some(value.name().to_owned()), name => $type::from_name(&name);)* } };
}
stored_names! {
    Role, ConnectAction, ConnectStatus, ConnectStep, SessionMode, SessionStatus, PaymentStatus, IntentStatus, AttemptStatus, MethodKind, InvoiceStatus,
    BillingReason, DocumentType, EntryType, SubscriptionStatus, MandateStatus, RefundStatus, RefundType, DisputeStatus, UsageAction,
    TiersMode, HoldReason, BalanceTransactionType, CreditNoteReason, StakePurpose, StakeStatus,
    StakeTransferKind, ReleaseReason, TimeSource, PlanChangeFailure, ToolAction, ToolStatus, PictureFormat,
}

macro_rules! stored_ids {
    ($($id:ident),* $(,)?) => {$(
        impl Bound for $id {
            const KIND: Kind = Kind::Text;
            fn into_value(self) -> Option<Value> {
                self.to_value()
            }
        }

        impl Stored for $id {
            fn from_value(value: Value) -> Option<Self> {
                if let Value::Text(text) = value { Self::try_from(text).ok() } else { None }
            }

            // An id is bound many times for each row that is written: this copies it once.
            fn to_value(&self) -> Option<Value> {
                Some(Value::Text(self.as_str().to_owned()))
            }
        }
    )*};
}
stored_ids! {
    UserId, LoginId, PassportId, ApiKeyId, InvitationId, TrustedPublisherId, AuditEntryId, CategoryId, VersionId, ReviewEntryId,
    EntitlementId, CustomerId, ProductId, PriceId, CurrencyId, MethodId,
    PaymentLinkId, SessionId, PaymentIntentId, AttemptId, InvoiceId, InvoiceItemId, EntryId, EventId, RefundId, SubscriptionId,
    SubscriptionItemId, MandateId, UsageRecordId, ClockId, InvoicePaymentId, CreditNoteId, BalanceTransactionId, DisputeId, StakeId,
    SharePayoutId,
}

impl Value {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Null(kind) => *kind,
            Self::Text(_) | Self::Malformed(_) => Kind::Text,
            Self::Integer(_) => Kind::Integer,
            Self::Bool(_) => Kind::Bool,
            Self::Amount(_) => Kind::Amount,
            Self::Time(_) => Kind::Time,
            Self::Json(_) => Kind::Json,
            Self::Bytes(_) => Kind::Bytes,
        }
    }

    /// Returns the first characters of the value, for an error message.
    pub(super) fn shown(&self) -> String {
        format!("{self:?}").chars().take(80).collect()
    }

    /// Replaces NUL characters with the replacement character, because PostgreSQL cannot store NUL in text. SQLite values are treated
    /// alike so that both databases behave the same. A search for text with a NUL finds nothing; stored text stays almost unchanged.
    pub(super) fn without_nul(self) -> Self {
        match self {
            Self::Text(text) if text.contains('\0') => Self::Text(replace_nul(&text)),
            Self::Json(json) if has_nul(&json) => Self::Json(json_without_nul(json)),
            other => other,
        }
    }

    pub(super) fn add_to_sqlite(self, to: &mut SqliteArguments) -> Result<(), BoxDynError> {
        match self {
            Self::Null(_) => to.add(None::<i64>),
            Self::Text(text) | Self::Malformed(text) => to.add(text),
            Self::Integer(number) => to.add(number),
            Self::Bool(truth) => to.add(truth),
            Self::Amount(amount) => to.add(format!("{amount:039}", amount = amount.base_units())),
            Self::Time(at) => to.add(at.micros()),
            Self::Json(json) => to.add(json.to_string()),
            Self::Bytes(bytes) => to.add(bytes),
        }
    }

    pub(super) fn add_to_postgres(self, to: &mut PgArguments) -> Result<(), BoxDynError> {
        match self {
            Self::Null(Kind::Text) => to.add(None::<String>),
            Self::Null(Kind::Integer) => to.add(None::<i64>),
            Self::Null(Kind::Bool) => to.add(None::<bool>),
            Self::Null(Kind::Amount) => to.add(None::<BigDecimal>),
            Self::Null(Kind::Time) => to.add(None::<OffsetDateTime>),
            Self::Null(Kind::Json) => to.add(None::<serde_json::Value>),
            Self::Null(Kind::Bytes) => to.add(None::<Vec<u8>>),
            Self::Text(text) | Self::Malformed(text) => to.add(text),
            Self::Integer(number) => to.add(number),
            Self::Bool(truth) => to.add(truth),
            Self::Amount(amount) => to.add(BigDecimal::from(amount.base_units())),
            Self::Time(at) => to.add(at.to_calendar().ok_or("a time is outside the calendar")?),
            Self::Json(json) => to.add(json),
            Self::Bytes(bytes) => to.add(bytes),
        }
    }

    pub(super) fn of_sqlite(row: &SqliteRow, column: usize, kind: Kind) -> Result<Self, sqlx::Error> {
        if row.try_get_raw(column)?.is_null() {
            return Ok(Self::Null(kind));
        }
        Ok(match kind {
            Kind::Text => Self::Text(row.try_get(column)?),
            Kind::Integer => Self::Integer(row.try_get(column)?),
            Kind::Bool => Self::Bool(row.try_get(column)?),
            Kind::Amount => {
                let text: String = row.try_get(column)?;
                Amount::parse_base_units(&text).map_or(Self::Malformed(text), Self::Amount)
            }
            Kind::Time => Self::Time(Timestamp::from_micros(row.try_get(column)?)),
            Kind::Json => {
                let text: String = row.try_get(column)?;
                serde_json::from_str(&text).map_or(Self::Malformed(text), Self::Json)
            }
            Kind::Bytes => Self::Bytes(row.try_get(column)?),
        })
    }

    pub(super) fn of_postgres(row: &PgRow, column: usize, kind: Kind) -> Result<Self, sqlx::Error> {
        if row.try_get_raw(column)?.is_null() {
            return Ok(Self::Null(kind));
        }
        Ok(match kind {
            Kind::Text => Self::Text(row.try_get(column)?),
            Kind::Integer => match row.try_column(column)?.type_info().name() {
                // PostgreSQL's sum of BIGINTs is a NUMERIC.
                "NUMERIC" => {
                    let sum: BigDecimal = row.try_get(column)?;
                    sum.to_i64().filter(|_| sum.is_integer()).map_or_else(|| Self::Malformed(sum.to_string()), Self::Integer)
                }
                "INT2" | "INT4" | "INT8" => Self::Integer(row.try_get_unchecked(column)?),
                _ => Self::Integer(row.try_get(column)?),
            },
            Kind::Bool => Self::Bool(row.try_get(column)?),
            Kind::Amount => {
                let number: BigDecimal = row.try_get(column)?;
                let whole = number.to_u128().filter(|_| number.is_integer());
                whole.map_or_else(|| Self::Malformed(number.to_string()), |units| Self::Amount(Amount::new(units)))
            }
            Kind::Time => Self::Time(Timestamp::from_calendar(row.try_get(column)?)),
            Kind::Json => Self::Json(row.try_get(column)?),
            Kind::Bytes => Self::Bytes(row.try_get(column)?),
        })
    }
}

fn replace_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn has_nul(json: &serde_json::Value) -> bool {
    match json {
        serde_json::Value::String(text) => text.contains('\0'),
        serde_json::Value::Array(list) => list.iter().any(has_nul),
        serde_json::Value::Object(object) => object.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

fn json_without_nul(json: serde_json::Value) -> serde_json::Value {
    match json {
        serde_json::Value::String(text) if text.contains('\0') => serde_json::Value::String(replace_nul(&text)),
        serde_json::Value::Array(list) => list.into_iter().map(json_without_nul).collect(),
        serde_json::Value::Object(object) => {
            object.into_iter().map(|(name, value)| (replace_nul(&name), json_without_nul(value))).collect()
        }
        other => other,
    }
}
