#[path = "contract/attempts.rs"]
mod attempts;
#[path = "contract/balances.rs"]
mod balances;
#[path = "contract/catalogue.rs"]
mod catalogue;
#[path = "contract/credit_notes.rs"]
mod credit_notes;
#[path = "contract/disputes.rs"]
mod disputes;
#[path = "contract/entitlements.rs"]
mod entitlements;
#[path = "contract/intents.rs"]
mod intents;
#[path = "contract/invoice_payments.rs"]
mod invoice_payments;
#[path = "contract/invoices.rs"]
mod invoices;
#[path = "contract/journal.rs"]
mod journal;
#[path = "contract/parity.rs"]
mod parity;
#[path = "contract/refunds.rs"]
mod refunds;
#[path = "contract/till.rs"]
mod till;
