//! The messages of ArcBlock's chains, by field number (`@ocap/proto` 1.30.24, `spec.core.json`).

use super::any::{BigUint, Itx, Payload};
use super::wire::messages;

messages! {
    /// A transaction. `pk` is the key of `delegator` if that is set, else of `from`.
    Transaction {
        1 from: String,
        2 nonce: u64,
        3 chain_id: String,
        4 pk: Vec<u8>,
        5 gas: u32,
        6 delegator: String,
        13 signature: Vec<u8>,
        14 signatures: Vec<Multisig>,
        15 itx: Option<Itx>,
        17 service_fee: String,
    }

    /// The signature of one party inside a transaction that several parties sign.
    Multisig {
        1 signer: String,
        2 pk: Vec<u8>,
        3 signature: Vec<u8>,
        4 delegator: String,
        15 data: Option<Payload>,
    }

    /// An amount of a token; `value` is a decimal string of base units.
    TokenInput {
        1 address: String,
        2 value: String,
    }

    /// The tokens and assets that one party gives or receives.
    TransactionInput {
        1 owner: String,
        2 tokens: Vec<TokenInput>,
        3 assets: Vec<String>,
    }

    /// A transfer from the sender to one receiver. `value` is in the chain's primary token.
    TransferV2Tx {
        1 to: String,
        2 value: Option<BigUint>,
        3 assets: Vec<String>,
        4 tokens: Vec<TokenInput>,
        15 data: Option<Payload>,
    }

    /// A transfer between several parties. The inputs and the outputs have the same totals.
    TransferV3Tx {
        1 inputs: Vec<TransactionInput>,
        2 outputs: Vec<TransactionInput>,
        15 data: Option<Payload>,
    }

    /// Grants `to` the right to send transactions of some types on behalf of the sender.
    DelegateTx {
        1 address: String,
        2 to: String,
        3 ops: Vec<DelegateOp>,
        4 deny: Vec<String>,
        5 valid_until: u64,
        15 data: Option<Payload>,
    }

    DelegateOp {
        1 type_url: String,
        2 rules: Vec<String>,
        3 limit: Option<DelegateLimit>,
    }

    DelegateLimit {
        1 tokens: Vec<TokenLimit>,
        2 assets: Vec<AssetLimit>,
    }

    TokenLimit {
        1 address: String,
        2 to: Vec<String>,
        3 tx_count: u32,
        4 tx_allowance: String,
        5 total_allowance: String,
        6 valid_until: u64,
        7 rate: Option<RateLimit>,
        8 tx_sent: u32,
        9 spent_allowance: String,
        10 last_tx: u64,
    }

    AssetLimit {
        1 address: Vec<String>,
        2 to: Vec<String>,
        3 tx_count: u32,
        4 valid_until: u64,
        5 rate: Option<RateLimit>,
        6 tx_sent: u32,
        7 last_tx: u64,
    }

    RateLimit {
        1 interval: u64,
        3 anchor: u64,
    }

    RevokeDelegateTx {
        1 address: String,
        2 to: String,
        3 type_urls: Vec<String>,
        15 data: Option<Payload>,
    }

    StakeTx {
        1 address: String,
        2 receiver: String,
        3 inputs: Vec<TransactionInput>,
        4 locked: bool,
        5 message: String,
        6 revoke_waiting_period: u32,
        7 slashers: Vec<String>,
        8 nonce: String,
        50 data: Option<Payload>,
    }

    RevokeStakeTx {
        1 address: String,
        2 outputs: Vec<TransactionInput>,
        50 data: Option<Payload>,
    }

    ClaimStakeTx {
        1 address: String,
        2 evidence: Option<Evidence>,
        50 data: Option<Payload>,
    }

    Evidence {
        1 hash: String,
    }

    SlashStakeTx {
        1 address: String,
        2 outputs: Vec<TransactionInput>,
        3 message: String,
        50 data: Option<Payload>,
    }

    ReturnStakeTx {
        1 address: String,
        2 outputs: Vec<TransactionInput>,
        3 message: String,
        50 data: Option<Payload>,
    }

    AcquireAssetV2Tx {
        1 factory: String,
        2 address: String,
        3 assets: Vec<String>,
        4 variables: Vec<VariableInput>,
        5 issuer: Option<NftIssuer>,
        15 data: Option<Payload>,
    }

    AcquireAssetV3Tx {
        1 factory: String,
        2 address: String,
        3 inputs: Vec<TransactionInput>,
        4 owner: String,
        5 variables: Vec<VariableInput>,
        6 issuer: Option<NftIssuer>,
        15 data: Option<Payload>,
    }

    VariableInput {
        1 name: String,
        2 value: String,
        3 description: String,
        4 required: bool,
    }

    NftIssuer {
        1 id: String,
        2 pk: String,
        3 name: String,
    }
}
