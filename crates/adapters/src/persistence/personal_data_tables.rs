//! What an export of personal data contains: every column of the tables that belong to a user.

use super::Kind;

/// The rows of a user in one table.
pub(super) struct Exported {
    pub table: &'static str,
    /// The columns of a unique key, by which the rows are ordered.
    pub key: &'static [&'static str],
    /// The next rows: `$1` is the DID of the user, followed by the key of the last row before, and the number of rows.
    pub page: &'static str,
    pub fields: &'static [(&'static str, Kind)],
}

/// Columns that would let the holder of an export act as the user, or that name an administrator or a reviewer. `attempts.bytes` may be a
/// transaction that the store has signed and its network has declined for lack of gas: its holder could send it again.
#[cfg(test)]
pub(super) const WITHHELD: [&str; 12] = [
    "browser_sessions.token",
    "invitations.token",
    "invitations.created_by",
    "attempts.connect_token",
    "attempts.client_secret",
    "attempts.bytes",
    "found_payments.handled_by",
    "uploaded_versions.claimed_by",
    "uploaded_versions.claimed_until",
    "uploaded_versions.decided_by",
    "uploaded_versions.excluded_reviewer",
    "share_payouts.recorded_by",
];

/// Tables without personal data, or whose rows repeat exported ones: of the store and its catalogue, its journal, and messages in delivery.
/// `mail_addresses` and `hourly_counts` belong to addresses, which anyone can
/// enter into their profile: an export would tell them what the holder of an address did. `app_instances` names operators as the instances
/// say, which nobody has proved.
#[cfg(test)]
pub(super) const NOT_EXPORTED: [&str; 48] = [
    "outbox",
    "clock_state",
    "clock_doubts",
    "owner_links",
    "owner_notices",
    "process_reports",
    "mail_addresses",
    "hourly_counts",
    "preferences",
    "request_nonces",
    "used_ci_tokens",
    "used_app_proofs",
    "restores",
    "store_secrets",
    "api_keys",
    "audit_objects",
    "audit_retention",
    "connect_sessions",
    "tool_sessions",
    "idempotency_keys",
    "payment_methods",
    "currencies",
    "payment_links",
    "session_starts",
    "number_series",
    "number_gaps",
    "journal_entries",
    "journal_postings",
    "products",
    "prices",
    "stock_reservations",
    "categories",
    "apps",
    "app_versions",
    "app_downloads_daily",
    "app_instances",
    "app_sales",
    "payees",
    "bundle_files",
    "version_files",
    "stored_files",
    "version_checks",
    "blocked_digests",
    "publication_log",
    "publication_log_head",
    "charge_counts",
    "mandate_subscriptions",
    "mandate_invoices",
];

/// The fields of a table with their kinds.
macro_rules! fields {
    ($($name:ident: $kind:ident),*) => { &[$((stringify!($name), Kind::$kind)),*] };
}

/// The next rows of a table that fulfill a condition.
macro_rules! page {
    ($table:literal, $key:literal => $($condition:tt)+) => {
        concat!("SELECT * FROM ", $table, " WHERE ", $($condition)+, " AND ", $key, " > $2 ORDER BY ", $key, " LIMIT $3")
    };
    ($table:literal, $first:literal, $second:literal => $($condition:tt)+) => {
        concat!(
            "SELECT * FROM ", $table, " WHERE ", $($condition)+,
            " AND (", $first, ", ", $second, ") > ($2, $3) ORDER BY ", $first, ", ", $second, " LIMIT $4"
        )
    };
}

/// The checkout sessions of a user. A condition with OR would read the whole table.
macro_rules! of_payer {
    () => {
        "id IN (SELECT id FROM checkout_sessions WHERE payer = $1
                UNION SELECT id FROM checkout_sessions WHERE customer_id IN (SELECT id FROM customers WHERE did = $1))"
    };
}
pub(super) use of_payer;

/// The objects of a user that attempts are made for.
macro_rules! attempts_of_user {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " (SELECT id FROM payment_intents WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)
               UNION ALL SELECT id FROM mandates WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)
               UNION ALL SELECT id FROM stakes WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)
               UNION ALL SELECT id FROM subscriptions WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)
               UNION ALL SELECT id FROM refunds WHERE customer_id IN (SELECT id FROM customers WHERE did = $1))",
            $after
        )
    };
}

pub(super) const EXPORTED: &[Exported] = &[
    Exported {
        table: "users",
        key: &["did"],
        page: page!("users", "did" => "did = $1"),
        fields: fields!(
            did: Text, public_key: Text, full_name: Text, email: Text, phone: Text, address: Json, language: Text, created_at: Time,
            updated_at: Time, examined_at: Time, blocked_at: Time, picture: Text, picture_format: Text, picture_updated_at: Time
        ),
    },
    Exported {
        table: "passports",
        key: &["id"],
        page: page!("passports", "id" => "holder = $1"),
        fields: fields!(id: Text, holder: Text, role: Text, issued_at: Time, revoked_at: Time, stake_id: Text),
    },
    Exported {
        table: "developer_agreements",
        key: &["user_did", "version"],
        page: page!("developer_agreements", "user_did", "version" => "user_did = $1"),
        fields: fields!(user_did: Text, version: Integer, agreed_at: Time),
    },
    Exported {
        table: "audit_log",
        key: &["id"],
        page: page!("audit_log", "id" => "actor_kind = 'user' AND actor = $1"),
        fields: fields!(id: Text, at: Time, actor_kind: Text, actor: Text, operation: Text, livemode: Bool, objects: Json, address: Text),
    },
    Exported {
        table: "browser_sessions",
        key: &["id"],
        page: page!("browser_sessions", "id" => "user_did = $1"),
        fields: fields!(id: Text, user_did: Text, device: Text, created_at: Time, signed_in_at: Time, used_at: Time, expires_at: Time),
    },
    Exported {
        table: "devices",
        key: &["id"],
        page: page!("devices", "id" => "user_did = $1"),
        fields: fields!(id: Text, user_did: Text, name: Text, public_key: Text, created_at: Time, used_at: Time, expires_at: Time),
    },
    Exported {
        table: "invitations",
        key: &["id"],
        page: page!("invitations", "id" => "used_by = $1"),
        fields: fields!(id: Text, role: Text, created_at: Time, expires_at: Time, used_by: Text, used_at: Time, revoked_at: Time),
    },
    Exported {
        table: "review_entries",
        key: &["id"],
        page: page!("review_entries", "id" => "actor = $1"),
        fields: fields!(
            id: Text, version_id: Text, position: Integer, kind: Text, actor: Text, role: Text, comment: Text, created_at: Time
        ),
    },
    Exported {
        table: "access_tokens",
        key: &["id"],
        page: page!("access_tokens", "id" => "user_did = $1"),
        fields: fields!(
            id: Text, user_did: Text, passport_id: Text, name: Text, public_key: Text, scopes: Json, apps: Json, created_at: Time,
            expires_at: Time, remind_at: Time, last_used_at: Time, publisher_id: Text
        ),
    },
    Exported {
        table: "trusted_publishers",
        key: &["id"],
        page: page!("trusted_publishers", "id" => "owner = $1"),
        fields: fields!(
            id: Text, owner: Text, passport_id: Text, issuer: Text, repository: Text, repository_key: Text, repository_id: Text,
            workflow: Text, environment: Text, protected_refs_only: Bool, scopes: Json, apps: Json, created_at: Time, last_used_at: Time
        ),
    },
    Exported {
        table: "customers",
        key: &["id"],
        page: page!("customers", "id" => "did = $1"),
        fields: fields!(
            id: Text, livemode: Bool, did: Text, name: Text, email: Text, phone: Text, address: Json, language: Text, created_at: Time,
            updated_at: Time, links_revoked_at: Time
        ),
    },
    Exported {
        table: "provider_customers",
        key: &["customer_id", "method_id"],
        page: page!("provider_customers", "customer_id", "method_id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(customer_id: Text, method_id: Text, provider_id: Text, erased: Bool),
    },
    Exported {
        table: "checkout_sessions",
        key: &["id"],
        page: page!("checkout_sessions", "id" => of_payer!()),
        fields: fields!(
            id: Text, livemode: Bool, kind: Text, status: Text, payment_status: Text, link_id: Text, items: Json, currency_id: Text,
            form: Json, terms: Json, requires_cross_sell: Bool, success_url: Text, cancel_url: Text, browser: Text, visitor: Text,
            payer: Text, customer_id: Text, contact: Json, method_id: Text, intent_id: Text, invoice_id: Text, subscription_ids: Json,
            mandate_id: Text, stake_id: Text, trial_end: Time, amount_total: Amount, metadata: Json, expires_at: Time, created_at: Time,
            updated_at: Time, version: Integer
        ),
    },
    Exported {
        table: "payment_intents",
        key: &["id"],
        page: page!("payment_intents", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, livemode: Bool, status: Text, description: Text, name: Text, name_zh: Text, name_others: Integer, amount: Amount,
            amount_received: Amount, amount_refunded: Amount, currency_id: Text, method_id: Text, customer_id: Text, subscription_id:
            Text, session_id: Text, invoices: Json, last_error: Json, reference: Text, payer: Text, held_attempt_id: Text, metadata:
            Json, created_at: Time, updated_at: Time
        ),
    },
    Exported {
        table: "attempts",
        key: &["id"],
        page: page!("attempts", "id" => attempts_of_user!("subject IN", "")),
        fields: fields!(
            id: Text, purpose: Text, subject: Text, session_id: Text, kind: Text, method_id: Text, currency_id: Text, amount: Amount,
            status: Text, payer: Text, hash: Text, provider_id: Text, card: Json, period: Json, last_error: Json, moved_amount: Amount,
            moved_reference: Text, checks: Integer, check_at: Time, sent_at: Time, recheck_at: Time, doubted: Bool, reversed_at: Time,
            created_at: Time, updated_at: Time
        ),
    },
    Exported {
        table: "attempt_invoices",
        key: &["attempt_id", "invoice_id"],
        page: page!("attempt_invoices", "attempt_id", "invoice_id" => attempts_of_user!("attempt_id IN (SELECT id FROM attempts WHERE subject IN", ")")),
        fields: fields!(attempt_id: Text, invoice_id: Text, amount: Amount, open: Bool),
    },
    Exported {
        table: "mandates",
        key: &["id"],
        page: page!("mandates", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, livemode: Bool, customer_id: Text, method_id: Text, status: Text, details: Json, created_at: Time, updated_at:
            Time
        ),
    },
    Exported {
        table: "invoices",
        key: &["id"],
        page: page!("invoices", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, livemode: Bool, document: Text, number: Integer, status: Text, reason: Text, description: Text, name: Text,
            name_zh: Text, name_others: Integer, customer_id: Text, currency_id: Text, method_id: Text, session_id: Text,
            subscription_id: Text, period_start: Time, period_end: Time, intent_id: Text, reference: Text, bill_to: Json, discount:
            Amount, tax: Amount, total: Amount, amount_paid: Amount, amount_credited: Amount, failure_count: Integer, retry_at: Time,
            clock_id: Text, created_at: Time, finalized_at: Time, paid_at: Time, updated_at: Time
        ),
    },
    Exported {
        table: "invoice_items",
        key: &["id"],
        page: page!("invoice_items", "id" => "invoice_id IN (SELECT id FROM invoices WHERE customer_id IN (SELECT id FROM customers WHERE did = $1))"),
        fields: fields!(
            id: Text, invoice_id: Text, position: Integer, subscription_item_id: Text, price_id: Text, description: Text, name: Text,
            name_zh: Text, name_others: Integer, quantity: Integer, unit_amount: Amount, amount: Amount, discount: Amount, tax: Amount,
            credited: Amount, period_start: Time, period_end: Time, covers_until: Time, pricing_formula: Json
        ),
    },
    Exported {
        table: "invoice_payments",
        key: &["id"],
        page: page!("invoice_payments", "id" => "invoice_id IN (SELECT id FROM invoices WHERE customer_id IN (SELECT id FROM customers WHERE did = $1))"),
        fields: fields!(
            id: Text, invoice_id: Text, source: Text, attempt_id: Text, intent_id: Text, balance_transaction_id: Text, amount: Amount,
            refunded: Amount, disputed: Amount, reversed: Amount, created_at: Time
        ),
    },
    Exported {
        table: "subscriptions",
        key: &["id"],
        page: page!("subscriptions", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, livemode: Bool, status: Text, description: Text, name: Text, name_zh: Text, name_others: Integer, customer_id:
            Text, method_id: Text, currency_id: Text, mandate_id: Text, session_id: Text, cycle: Json, anchor: Time, period_index:
            Integer, period_start: Time, period_end: Time, trial_start: Time, trial_end: Time, cancel_at_period_end: Bool, cancel_at:
            Time, canceled_at: Time, ended_at: Time, cancellation: Json, past_due_since: Time, paused_at: Time, days_until_cancel:
            Integer, billing_threshold: Amount, resets_anchor: Bool, stake_id: Text, overdraft_stake_id: Text, overdraft_at: Time,
            latest_invoice_id: Text, clock_id: Text, due_at: Time, on_hold: Text, on_hold_detail: Text, held_at: Time, approved_until:
            Time, resumes_at: Time, invoiced_on: Time, invoiced_count: Integer, metadata: Json, created_at: Time, updated_at: Time,
            version: Integer
        ),
    },
    Exported {
        table: "subscription_items",
        key: &["id"],
        page: page!("subscription_items", "id" => "subscription_id IN (SELECT id FROM subscriptions WHERE customer_id IN (SELECT id FROM customers WHERE did = $1))"),
        fields: fields!(id: Text, subscription_id: Text, position: Integer, price_id: Text, quantity: Integer, billed: Json),
    },
    Exported {
        table: "usage_records",
        key: &["id"],
        page: page!("usage_records", "id" => "item_id IN (SELECT id FROM subscription_items WHERE subscription_id IN (SELECT id FROM subscriptions WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)))"),
        fields: fields!(id: Text, item_id: Text, identifier: Text, quantity: Integer, action: Text, used_at: Time, created_at: Time),
    },
    Exported {
        table: "pending_plan_changes",
        key: &["subscription_id"],
        page: page!("pending_plan_changes", "subscription_id" => "subscription_id IN (SELECT id FROM subscriptions WHERE customer_id IN (SELECT id FROM customers WHERE did = $1))"),
        fields: fields!(
            subscription_id: Text, price_id: Text, quantity: Integer, item_id: Text, previewed_at: Time, expected: Amount, credited:
            Amount, mandate_id: Text, stake_id: Text, deposit_hash: Text, requested_before: Amount, failure: Text, decline: Json,
            check_at: Time, created_at: Time, updated_at: Time
        ),
    },
    Exported {
        table: "trials",
        key: &["customer_id", "product_id"],
        page: page!("trials", "customer_id", "product_id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(customer_id: Text, product_id: Text, subscription_id: Text, started_at: Time),
    },
    Exported {
        table: "test_clocks",
        key: &["id"],
        page: page!("test_clocks", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, name: Text, customer_id: Text, now_at: Time, target: Time, touched_at: Time, timeline: Json, created_at: Time
        ),
    },
    Exported {
        table: "stakes",
        key: &["id"],
        page: page!("stakes", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, livemode: Bool, customer_id: Text, payer: Text, method_id: Text, currency_id: Text, subject: Text, purpose: Text,
            amount_requested: Amount, amount: Amount, amount_forfeited: Amount, amount_returned: Amount, amount_reserved: Amount,
            reserved_by: Text, reserved_for: Text, status: Text, release_reason: Text, released_at: Time, return_at: Time,
            failure_count: Integer, failure: Json, reference: Text, return_reference: Text, checked_at: Time, created_at: Time,
            updated_at: Time, waiting_days: Integer
        ),
    },
    Exported {
        table: "credit_notes",
        key: &["id"],
        page: page!("credit_notes", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, livemode: Bool, number: Integer, invoice_id: Text, subscription_id: Text, customer_id: Text, currency_id: Text,
            method_id: Text, reason: Text, memo: Text, total: Amount, due_reduced: Amount, to_balance: Amount, refunded: Amount,
            created_at: Time
        ),
    },
    Exported {
        table: "credit_note_items",
        key: &["note_id", "position"],
        page: page!("credit_note_items", "note_id", "position" => "note_id IN (SELECT id FROM credit_notes WHERE customer_id IN (SELECT id FROM customers WHERE did = $1))"),
        fields: fields!(
            note_id: Text, position: Integer, invoice_item_id: Text, amount: Amount, discount: Amount, tax: Amount, revokes: Bool,
            pricing_formula: Json
        ),
    },
    Exported {
        table: "customer_balances",
        key: &["customer_id", "currency_id"],
        page: page!("customer_balances", "customer_id", "currency_id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(customer_id: Text, currency_id: Text, amount: Amount, sequence: Integer),
    },
    Exported {
        table: "balance_transactions",
        key: &["id"],
        page: page!("balance_transactions", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, livemode: Bool, customer_id: Text, currency_id: Text, sequence: Integer, type: Text, amount: Amount,
            balance_after: Amount, source: Text, created_at: Time
        ),
    },
    Exported {
        table: "found_payments",
        key: &["method_id", "reference"],
        page: page!("found_payments", "method_id", "reference" => "account = $1"),
        fields: fields!(
            method_id: Text, reference: Text, livemode: Bool, incoming: Bool, account: Text, amount: Amount, currency_id: Text,
            moved_at: Time, found_at: Time, handled_at: Time
        ),
    },
    Exported {
        table: "refunds",
        key: &["id"],
        page: page!("refunds", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, livemode: Bool, kind: Text, status: Text, amount: Amount, currency_id: Text, method_id: Text, customer_id: Text,
            intent_id: Text, payment_id: Text, credit_note_id: Text, invoice_id: Text, subscription_id: Text, reason: Text, description:
            Text, reference: Text, failure: Json, failure_count: Integer, ordered_at: Time, created_at: Time, updated_at: Time
        ),
    },
    Exported {
        table: "disputes",
        key: &["id"],
        page: page!("disputes", "id" => "customer_id IN (SELECT id FROM customers WHERE did = $1)"),
        fields: fields!(
            id: Text, livemode: Bool, method_id: Text, provider_id: Text, intent_id: Text, customer_id: Text, amount: Amount,
            currency_id: Text, fee: Amount, fee_currency_id: Text, status: Text, funds_withdrawn: Bool, movements: Integer, reason:
            Text, respond_by: Time, credit_note_ids: Json, created_at: Time, updated_at: Time
        ),
    },
    Exported {
        table: "entitlements",
        key: &["id"],
        page: page!("entitlements", "id" => "holder = $1"),
        fields: fields!(
            id: Text, livemode: Bool, holder: Text, app: Text, session_id: Text, subscription_id: Text, invoice_id: Text,
            invoice_item_id: Text, acquired_at: Time, revoked_at: Time, suspended_at: Time
        ),
    },
    Exported {
        table: "uploaded_apps",
        key: &["did"],
        page: page!("uploaded_apps", "did" => "owner = $1"),
        fields: fields!(
            did: Text, name: Text, owner: Text, latest_version: Text, block_reason: Text, category_id: Text, review_type: Text,
            auto_publish_until: Time, rolled_back_to: Text, is_private: Bool, created_at: Time, updated_at: Time
        ),
    },
    Exported {
        table: "uploaded_versions",
        key: &["id"],
        page: page!("uploaded_versions", "id" => "app IN (SELECT did FROM uploaded_apps WHERE owner = $1)"),
        fields: fields!(
            id: Text, app: Text, version: Text, status: Text, document: Text, content: Text, bundle: Text, tarball: Text, integrity:
            Text, size: Integer, entries: Integer, unpacked: Integer, source: Text, signer: Text, uploaded_at: Time, risks: Json,
            requested_at: Time, changes_requested: Bool, appeal: Text, replaced_by: Text, yanked_by: Text, published_at: Time,
            publish_at: Time, review_need: Text, app_group: Text, checks_ordered_at: Time, files_total: Integer
        ),
    },
    Exported {
        table: "price_shares",
        key: &["price_id", "beneficiary"],
        page: page!("price_shares", "price_id", "beneficiary" => "beneficiary = $1"),
        fields: fields!(price_id: Text, beneficiary: Text, position: Integer, millionths: Integer),
    },
    Exported {
        table: "sale_shares",
        key: &["invoice_item_id", "beneficiary"],
        page: page!("sale_shares", "invoice_item_id", "beneficiary" => "beneficiary = $1"),
        fields: fields!(
            invoice_item_id: Text, beneficiary: Text, invoice_id: Text, livemode: Bool, app: Text, price_id: Text, currency_id: Text,
            amount: Amount, booking: Integer, created_at: Time, updated_at: Time
        ),
    },
    Exported {
        table: "share_payouts",
        key: &["id"],
        page: page!("share_payouts", "id" => "beneficiary = $1"),
        fields: fields!(
            id: Text, livemode: Bool, beneficiary: Text, currency_id: Text, method_id: Text, amount: Amount, paid_before: Amount,
            reverses: Text, reason: Text, created_at: Time
        ),
    },
];
