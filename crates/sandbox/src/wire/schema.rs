//! The messages of ArcBlock's chains (chains.md 3.1), taken from `spec.core.json` of the published packages.

use Kind::{BigUint, Bytes, Flag, Itx, Json, Message, Text, Uint32, Uint64};

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Text,
    Bytes,
    Uint64,
    Uint32,
    Flag,
    BigUint,
    Message(&'static Schema),
    /// An `Any` of type `json`.
    Json,
    /// An `Any` of one of [`INNER`].
    Itx,
}

#[derive(Debug)]
pub struct Field {
    pub number: u32,
    /// The name in JSON.
    pub name: &'static str,
    pub kind: Kind,
    pub repeated: bool,
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        (self.number, self.name) == (other.number, other.name)
    }
}

impl Eq for Field {}

/// Fields in ascending order of their numbers.
pub type Schema = [Field];

/// An inner transaction.
#[derive(Debug, PartialEq, Eq)]
pub struct Inner {
    pub type_url: &'static str,
    /// Whether each party signs inside the transaction (`signatures`).
    pub multisig: bool,
    pub schema: &'static Schema,
}

const fn one(number: u32, name: &'static str, kind: Kind) -> Field {
    Field { number, name, kind, repeated: false }
}

const fn many(number: u32, name: &'static str, kind: Kind) -> Field {
    Field { number, name, kind, repeated: true }
}

pub static TRANSACTION: [Field; 10] = [
    one(1, "from", Text),
    one(2, "nonce", Uint64),
    one(3, "chainId", Text),
    one(4, "pk", Bytes),
    one(5, "gas", Uint32),
    one(6, "delegator", Text),
    one(13, "signature", Bytes),
    many(14, "signatures", Message(&MULTISIG)),
    one(15, "itx", Itx),
    one(17, "serviceFee", Text),
];

static MULTISIG: [Field; 5] =
    [one(1, "signer", Text), one(2, "pk", Bytes), one(3, "signature", Bytes), one(4, "delegator", Text), one(15, "data", Json)];

static TOKEN_INPUT: [Field; 2] = [one(1, "address", Text), one(2, "value", Text)];

static TRANSACTION_INPUT: [Field; 3] = [one(1, "owner", Text), many(2, "tokens", Message(&TOKEN_INPUT)), many(3, "assets", Text)];

static TRANSFER_V2: [Field; 5] = [
    one(1, "to", Text),
    one(2, "value", BigUint),
    many(3, "assets", Text),
    many(4, "tokens", Message(&TOKEN_INPUT)),
    one(15, "data", Json),
];

static TRANSFER_V3: [Field; 3] =
    [many(1, "inputs", Message(&TRANSACTION_INPUT)), many(2, "outputs", Message(&TRANSACTION_INPUT)), one(15, "data", Json)];

static DELEGATE: [Field; 6] = [
    one(1, "address", Text),
    one(2, "to", Text),
    many(3, "ops", Message(&DELEGATE_OP)),
    many(4, "deny", Text),
    one(5, "validUntil", Uint64),
    one(15, "data", Json),
];

static DELEGATE_OP: [Field; 3] = [one(1, "typeUrl", Text), many(2, "rules", Text), one(3, "limit", Message(&DELEGATE_LIMIT))];

static DELEGATE_LIMIT: [Field; 2] = [many(1, "tokens", Message(&TOKEN_LIMIT)), many(2, "assets", Message(&ASSET_LIMIT))];

static TOKEN_LIMIT: [Field; 10] = [
    one(1, "address", Text),
    many(2, "to", Text),
    one(3, "txCount", Uint32),
    one(4, "txAllowance", Text),
    one(5, "totalAllowance", Text),
    one(6, "validUntil", Uint64),
    one(7, "rate", Message(&RATE_LIMIT)),
    one(8, "txSent", Uint32),
    one(9, "spentAllowance", Text),
    one(10, "lastTx", Uint64),
];

static ASSET_LIMIT: [Field; 7] = [
    many(1, "address", Text),
    many(2, "to", Text),
    one(3, "txCount", Uint32),
    one(4, "validUntil", Uint64),
    one(5, "rate", Message(&RATE_LIMIT)),
    one(6, "txSent", Uint32),
    one(7, "lastTx", Uint64),
];

// In the published descriptor, the number of `anchor` is 3.
static RATE_LIMIT: [Field; 2] = [one(1, "interval", Uint64), one(3, "anchor", Uint64)];

static REVOKE_DELEGATE: [Field; 4] = [one(1, "address", Text), one(2, "to", Text), many(3, "typeUrls", Text), one(15, "data", Json)];

static STAKE: [Field; 9] = [
    one(1, "address", Text),
    one(2, "receiver", Text),
    many(3, "inputs", Message(&TRANSACTION_INPUT)),
    one(4, "locked", Flag),
    one(5, "message", Text),
    one(6, "revokeWaitingPeriod", Uint32),
    many(7, "slashers", Text),
    one(8, "nonce", Text),
    one(50, "data", Json),
];

static REVOKE_STAKE: [Field; 3] = [one(1, "address", Text), many(2, "outputs", Message(&TRANSACTION_INPUT)), one(50, "data", Json)];

static CLAIM_STAKE: [Field; 3] = [one(1, "address", Text), one(2, "evidence", Message(&EVIDENCE)), one(50, "data", Json)];

static EVIDENCE: [Field; 1] = [one(1, "hash", Text)];

/// The body of a slash or a return.
static STAKE_OUTPUTS: [Field; 4] =
    [one(1, "address", Text), many(2, "outputs", Message(&TRANSACTION_INPUT)), one(3, "message", Text), one(50, "data", Json)];

const fn inner(type_url: &'static str, multisig: bool, schema: &'static Schema) -> Inner {
    Inner { type_url, multisig, schema }
}

/// The inner transactions that this ledger executes.
pub static INNER: [Inner; 9] = [
    inner("fg:t:transfer_v2", false, &TRANSFER_V2),
    inner("fg:t:transfer_v3", true, &TRANSFER_V3),
    inner("fg:t:delegate", false, &DELEGATE),
    inner("fg:t:revoke_delegate", false, &REVOKE_DELEGATE),
    inner("fg:t:stake", true, &STAKE),
    inner("fg:t:revoke_stake", false, &REVOKE_STAKE),
    inner("fg:t:claim_stake", false, &CLAIM_STAKE),
    inner("fg:t:slash_stake", false, &STAKE_OUTPUTS),
    inner("fg:t:return_stake", false, &STAKE_OUTPUTS),
];
