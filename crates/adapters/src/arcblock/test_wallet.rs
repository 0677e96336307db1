//! A customer's wallet for tests and for the simulator. It signs every request.

use super::any::Itx;
use super::messages::{Multisig, TokenInput, Transaction, TransactionInput};
use super::transaction::DecodedTransaction;
use super::wire::Format;
use crate::identity::{AppKey, Role, decode_base58, encode_base58};
use serde_json::{Map, Value};
use souk_domain::access::Did;
use souk_domain::shared::{Amount, Timestamp};

/// An ed25519 account.
pub struct TestWallet {
    key: AppKey,
}

impl TestWallet {
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self { key: AppKey::with_role(seed, Role::Account) }
    }

    #[must_use]
    pub const fn did(&self) -> &Did {
        self.key.did()
    }

    #[must_use]
    pub fn public_key_base58(&self) -> String {
        self.key.public_key_base58()
    }

    /// Signs `userInfo`, the response to a request of DID Connect.
    #[must_use]
    pub fn sign_envelope(&self, body: Map<String, Value>, now: Timestamp) -> String {
        self.key.sign_envelope(body, now)
    }

    /// Adds the wallet's inputs to a requested transfer (base58) and signs it (base58), as wallets do. Returns `None` if `partial_tx` is
    /// not a transfer.
    #[must_use]
    pub fn sign_transfer(&self, partial_tx: &str, token: &str, amount: Amount) -> Option<String> {
        let DecodedTransaction { mut transaction, format } = Transaction::decode(&decode_base58(partial_tx)?).ok()?;
        let Some(Itx::TransferV3Tx(transfer)) = &mut transaction.itx else { return None };
        let tokens = vec![TokenInput { address: token.to_owned(), value: amount.to_string() }];
        transfer.inputs = vec![TransactionInput { owner: self.did().to_string(), tokens, assets: Vec::new() }];
        self.sign(&mut transaction, format);
        Some(encode_base58(&transaction.encode(format)))
    }

    /// Adds the wallet's inputs to a requested stake (base58) and signs it (base58). Returns `None` if `partial_tx` is not a stake.
    #[must_use]
    pub fn sign_stake(&self, partial_tx: &str, token: &str, amount: Amount) -> Option<String> {
        let DecodedTransaction { mut transaction, format } = Transaction::decode(&decode_base58(partial_tx)?).ok()?;
        let Some(Itx::StakeTx(stake)) = &mut transaction.itx else { return None };
        let tokens = vec![TokenInput { address: token.to_owned(), value: amount.to_string() }];
        stake.inputs = vec![TransactionInput { owner: self.did().to_string(), tokens, assets: Vec::new() }];
        self.sign(&mut transaction, format);
        Some(encode_base58(&transaction.encode(format)))
    }

    /// Responds to a `signature` claim: hashes and signs `origin` (base58) and returns the signature (base58). Returns `None` if `origin`
    /// is not base58.
    #[must_use]
    pub fn sign_origin(&self, origin: &str) -> Option<String> {
        Some(encode_base58(&self.key.sign(&decode_base58(origin)?)))
    }

    /// Builds and signs a transaction of this wallet, encoded for sending. For types that only the sender signs.
    #[must_use]
    pub fn send(&self, chain_id: &str, nonce: u64, itx: Itx) -> Vec<u8> {
        let pk = self.key.public_key().as_bytes().to_vec();
        let mut transaction = Transaction {
            from: self.did().to_string(),
            nonce,
            chain_id: chain_id.to_owned(),
            pk,
            itx: Some(itx),
            ..Transaction::default()
        };
        transaction.signature = self.key.sign(&transaction.signing_bytes(Format::Protobuf)).to_vec();
        transaction.encode(Format::Protobuf)
    }

    /// Adds the inner signature, as the only party, and the outer signature.
    pub fn sign(&self, transaction: &mut Transaction, format: Format) {
        let pk = self.key.public_key().as_bytes().to_vec();
        transaction.signatures = vec![Multisig { signer: self.did().to_string(), pk, ..Multisig::default() }];
        let signature = self.key.sign(&transaction.party_signing_bytes(format)).to_vec();
        transaction.signatures[0].signature = signature;
        transaction.signature = self.key.sign(&transaction.signing_bytes(format)).to_vec();
    }
}
