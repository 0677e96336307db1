//! The registry of identifiers. The prefix names the kind of object; the rest sorts by creation.

use super::Timestamp;
use std::fmt;

/// The source of randomness, a port so that tests are reproducible.
pub trait Random: Send + Sync {
    /// Fills `bytes` from a cryptographically secure source.
    fn fill(&self, bytes: &mut [u8]);
}

impl dyn Random + '_ {
    /// `N` random bytes.
    #[must_use]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}

/// The text is not an id of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an id that begins with {0}")]
pub struct IdError(pub &'static str);

/// Common operations of all ids, for generic code in persistence and on the wire.
pub trait Id: Sized + Clone + fmt::Display {
    const PREFIX: &'static str;
    fn parse(text: &str) -> Result<Self, IdError>;
    fn as_str(&self) -> &str;
}

/// The longest id in characters, which are letters, digits and `_`.
pub const MAX_ID_LENGTH: usize = 64;

/// The bits of a ULID after its milliseconds. The first of them hold the microseconds, and the others are random.
const REST_BITS: u32 = 80;
const MICROS_BITS: u32 = 10;

/// A ULID that sorts by the microsecond, so that the rows of one batch go to the end of each index.
fn sortable(prefix: &str, now: Timestamp, random: &dyn Random) -> String {
    let micros = u64::try_from(now.micros()).unwrap_or(0);
    let random_part = (u128::from_le_bytes(random.bytes()) % (1 << REST_BITS)) >> MICROS_BITS;
    let rest = (u128::from(micros % 1_000) << (REST_BITS - MICROS_BITS)) | random_part;
    let mut digits = [0; ulid::ULID_LEN];
    let digits = ulid::Ulid::from_parts(micros / 1_000, rest).array_to_str(&mut digits);
    digits.make_ascii_lowercase();
    [prefix, digits].concat()
}

struct Zeros;

impl Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

fn well_formed(text: &str, prefix: &str) -> bool {
    text.len() <= MAX_ID_LENGTH
        && text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            #[must_use]
            pub fn new(now: Timestamp, random: &dyn Random) -> Self {
                Self(sortable($prefix, now, random))
            }

            /// The least id of all that are created at this millisecond or later.
            #[must_use]
            pub fn first_at(at: Timestamp) -> Self {
                Self(sortable($prefix, at, &Zeros))
            }

            pub fn parse(text: &str) -> Result<Self, IdError> {
                Self::try_from(text.to_owned())
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                if well_formed(&text, $prefix) { Ok(Self(text)) } else { Err(IdError($prefix)) }
            }
        }

        impl Id for $name {
            const PREFIX: &'static str = $prefix;
            fn parse(text: &str) -> Result<Self, IdError> { Self::parse(text) }
            fn as_str(&self) -> &str { &self.0 }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
    )*};
}

ids! {
    UserId = "usr_";
    LoginId = "lgn_";
    PassportId = "pass_";
    ApiKeyId = "key_";
    InvitationId = "inv_";
    TrustedPublisherId = "tp_";
    AuditEntryId = "aud_";
    CategoryId = "cat_";
    VersionId = "ver_";
    ReviewEntryId = "rev_";
    EntitlementId = "ent_";
    CustomerId = "cus_";
    ProductId = "prod_";
    PriceId = "price_";
    CurrencyId = "pc_";
    MethodId = "pm_";
    PaymentLinkId = "plink_";
    SessionId = "cs_";
    PaymentIntentId = "pi_";
    /// Also the attempt's idempotency key at the provider: retries send the same one.
    AttemptId = "att_";
    InvoiceId = "in_";
    InvoiceItemId = "ii_";
    InvoicePaymentId = "inpay_";
    CreditNoteId = "cn_";
    BalanceTransactionId = "cbtxn_";
    DisputeId = "dp_";
    /// Also the stake's nonce at its network, so that no two stakes share an address there.
    StakeId = "stk_";
    EntryId = "je_";
    EventId = "evt_";
    RefundId = "re_";
    SubscriptionId = "sub_";
    SubscriptionItemId = "si_";
    MandateId = "man_";
    UsageRecordId = "ur_";
    ClockId = "clock_";
    SharePayoutId = "po_";
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(std::sync::atomic::AtomicU8);
    impl Random for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
    }

    #[test]
    fn ids_sort_by_creation() {
        let random = Counting(250.into());
        let earlier = SessionId::new(Timestamp::from_seconds(1), &random);
        let later = SessionId::new(Timestamp::from_seconds(2), &random);
        assert!(earlier < later);
        let next = SessionId::new(Timestamp::from_micros(2_000_001), &random);
        assert!(later < next, "within a millisecond, whatever the random bits are");
        assert!(earlier.as_str().starts_with("cs_"));
        let first = SessionId::first_at(Timestamp::from_seconds(2));
        assert!(earlier < first && first <= later);
        assert_eq!(SessionId::parse(earlier.as_str()), Ok(earlier));
    }

    #[test]
    fn text_of_other_kinds_or_with_invalid_characters_is_no_id() {
        for text in ["", "cs_", "plink_1", "cs_../etc", "cs_ä", &format!("cs_{}", "a".repeat(62))] {
            assert_eq!(SessionId::parse(text), Err(IdError("cs_")), "{text}");
        }
    }
}
