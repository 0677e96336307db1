-- Users, API keys, and everything between a payment link and a posted payment.

-- Users who have signed in with a wallet.
CREATE TABLE users (
    did        TEXT        NOT NULL PRIMARY KEY,
    public_key TEXT        NOT NULL,
    full_name  TEXT        NOT NULL,
    email      TEXT        NOT NULL,
    phone      TEXT        NOT NULL,
    address    JSONB,
    language   TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    examined_at TIMESTAMPTZ NOT NULL -- when the store last checked whether the user has anything in it
);
CREATE INDEX users_examined ON users (examined_at, did);

CREATE TABLE passports (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder     TEXT             NOT NULL REFERENCES users (did),
    role       TEXT             NOT NULL,
    issued_at  TIMESTAMPTZ      NOT NULL,
    revoked_at TIMESTAMPTZ
);
CREATE INDEX passports_of_holder ON passports (holder);
CREATE INDEX passports_valid ON passports (holder) WHERE revoked_at IS NULL;

-- Signed-in browsers. Only hashes of tokens are stored, here and below.
CREATE TABLE browser_sessions (
    token        BYTEA NOT NULL PRIMARY KEY,
    id           TEXT NOT NULL, -- by which its user names it
    user_did     TEXT NOT NULL REFERENCES users (did),
    device       TEXT NOT NULL, -- the browser's description of itself
    created_at   TIMESTAMPTZ NOT NULL,
    signed_in_at TIMESTAMPTZ NOT NULL, -- when the user last proved their identity in it
    used_at      TIMESTAMPTZ NOT NULL, -- to ten minutes
    expires_at   TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX browser_sessions_id ON browser_sessions (id);
CREATE INDEX browser_sessions_of_user ON browser_sessions (user_did, used_at DESC);
CREATE INDEX browser_sessions_expiry ON browser_sessions (expires_at);

-- One-time links that make the user who opens them the owner.
CREATE TABLE owner_links (
    token      BYTEA       NOT NULL PRIMARY KEY,
    created_at TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ
);

CREATE TABLE api_keys (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash         BYTEA            NOT NULL UNIQUE,
    name         TEXT             NOT NULL,
    livemode     BOOLEAN          NOT NULL,
    scopes       JSONB            NOT NULL, -- ["resource:verb", ...]
    created_at   TIMESTAMPTZ      NOT NULL,
    last_used_at TIMESTAMPTZ,
    revoked_at   TIMESTAMPTZ
);

-- What administrators, API keys and commands have done. Rows never change, and are deleted only when they are old.
CREATE TABLE audit_log (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at         TIMESTAMPTZ NOT NULL,
    actor_kind TEXT NOT NULL CHECK (actor_kind IN ('user', 'key', 'command')),
    actor      TEXT NOT NULL, -- a DID, the id of a key, or empty
    operation  TEXT NOT NULL,
    livemode   BOOLEAN, -- NULL: it concerns both modes
    objects    JSONB NOT NULL, -- ["id", ...]
    address    TEXT
);
CREATE INDEX audit_log_of_actor ON audit_log (actor, id DESC);
CREATE INDEX audit_log_of_actor_and_operation ON audit_log (actor, operation, id DESC);
CREATE INDEX audit_log_of_kind ON audit_log (actor_kind, id DESC);
CREATE INDEX audit_log_of_kind_and_operation ON audit_log (actor_kind, operation, id DESC);
CREATE INDEX audit_log_of_operation ON audit_log (operation, id DESC);

-- Entries from before this time may be deleted. One row at most.
CREATE TABLE audit_retention (
    id         BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    kept_since TIMESTAMPTZ NOT NULL
);
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < (SELECT kept_since FROM audit_retention) THEN RETURN OLD; END IF;
    RAISE EXCEPTION 'the audit log is append-only';
END $$;
CREATE TRIGGER audit_log_is_append_only BEFORE UPDATE OR DELETE ON audit_log
FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();

-- The entries of each object.
CREATE TABLE audit_objects (
    object_id TEXT NOT NULL,
    entry_id  TEXT COLLATE "C" NOT NULL REFERENCES audit_log (id),
    PRIMARY KEY (object_id, entry_id)
);
CREATE INDEX audit_objects_of_entry ON audit_objects (entry_id);

-- Connect sessions between a browser and a wallet.
CREATE TABLE connect_sessions (
    token           TEXT        NOT NULL PRIMARY KEY,
    action          TEXT        NOT NULL,
    status          TEXT        NOT NULL,
    step            TEXT        NOT NULL,
    challenge       TEXT        NOT NULL,
    browser         BYTEA       NOT NULL,
    params          JSONB       NOT NULL,
    wallet_did      TEXT,
    wallet_key      TEXT,
    nonce           BIGINT      NOT NULL, -- an unsigned 64-bit number, stored as a signed one
    error           TEXT        NOT NULL,
    error_code      TEXT        NOT NULL,
    error_params    JSONB       NOT NULL, -- {"name": "value", ...}
    browser_session BYTEA, -- the hash of the login that it was used for
    visitor         TEXT        NOT NULL, -- the pseudonym of the network that began it
    created_at      TIMESTAMPTZ NOT NULL,
    updated_at      TIMESTAMPTZ NOT NULL,
    expires_at      TIMESTAMPTZ NOT NULL
);
CREATE INDEX connect_sessions_of_visitor ON connect_sessions (visitor, created_at, token);
CREATE INDEX connect_sessions_of_wallet ON connect_sessions (wallet_did) WHERE wallet_did IS NOT NULL;
CREATE INDEX connect_sessions_expiry ON connect_sessions (expires_at);

-- Stored responses to writes with an Idempotency-Key; status is NULL while the first call is running.
CREATE TABLE idempotency_keys (
    caller      TEXT        NOT NULL,
    key         TEXT        NOT NULL,
    fingerprint TEXT        NOT NULL,
    fenced      BOOLEAN     NOT NULL DEFAULT FALSE, -- the call has committed a unit of work
    objects     TEXT        NOT NULL DEFAULT '', -- ids, separated by spaces
    status      BIGINT,
    body        BYTEA, -- encrypted
    claimed_at  TIMESTAMPTZ NOT NULL,
    lease_until TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (caller, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (claimed_at);

CREATE TABLE customers (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    livemode   BOOLEAN          NOT NULL,
    did        TEXT             NOT NULL,
    name       TEXT             NOT NULL,
    email      TEXT             NOT NULL,
    phone      TEXT             NOT NULL,
    address    JSONB,
    language   TEXT             NOT NULL,
    created_at TIMESTAMPTZ      NOT NULL,
    updated_at TIMESTAMPTZ      NOT NULL,
    links_revoked_at TIMESTAMPTZ -- links in emails from before are not valid
);
CREATE UNIQUE INDEX customers_user ON customers (did, livemode);

CREATE TABLE payment_methods (
    id                     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    livemode               BOOLEAN          NOT NULL,
    kind                   TEXT             NOT NULL,
    active                 BOOLEAN          NOT NULL,
    name                   TEXT             NOT NULL,
    description            TEXT             NOT NULL,
    logo                   TEXT             NOT NULL,
    settings               JSONB            NOT NULL, -- without secrets
    secret_key             BYTEA, -- encrypted
    webhook_signing_secret BYTEA, -- encrypted
    default_currency_id    TEXT,
    created_at             TIMESTAMPTZ      NOT NULL,
    updated_at             TIMESTAMPTZ      NOT NULL,
    events_claimed_at      TIMESTAMPTZ      NOT NULL, -- when a process last began to read the provider's list of events
    events_read_until      TIMESTAMPTZ      NOT NULL  -- all events until then have been read from it
);

CREATE TABLE currencies (
    id                TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    method_id         TEXT             NOT NULL REFERENCES payment_methods (id),
    livemode          BOOLEAN          NOT NULL,
    active            BOOLEAN          NOT NULL,
    name              TEXT             NOT NULL,
    symbol            TEXT             NOT NULL,
    logo              TEXT             NOT NULL,
    decimals          BIGINT           NOT NULL,
    maximum_precision BIGINT           NOT NULL,
    contract          TEXT             NOT NULL,
    is_base           BOOLEAN          NOT NULL,
    created_at        TIMESTAMPTZ      NOT NULL,
    updated_at        TIMESTAMPTZ      NOT NULL
);

CREATE TABLE payment_links (
    id                  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    livemode            BOOLEAN          NOT NULL,
    active              BOOLEAN          NOT NULL,
    name                TEXT             NOT NULL,
    items               JSONB            NOT NULL, -- [{"price_id", "quantity", "adjustable"}, ...]
    currency_id         TEXT             NOT NULL,
    form                JSONB            NOT NULL,
    terms               JSONB            NOT NULL, -- the terms of the session's subscriptions
    requires_cross_sell BOOLEAN          NOT NULL,
    custom_message      JSONB            NOT NULL,
    redirect_url        TEXT,
    metadata            JSONB            NOT NULL,
    created_at          TIMESTAMPTZ      NOT NULL,
    updated_at          TIMESTAMPTZ      NOT NULL
);
CREATE INDEX payment_links_newest ON payment_links (livemode, id DESC);

CREATE TABLE checkout_sessions (
    id                  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    livemode            BOOLEAN          NOT NULL,
    kind                TEXT             NOT NULL, -- payment, subscription or setup
    status              TEXT             NOT NULL,
    payment_status      TEXT             NOT NULL,
    link_id             TEXT,
    items               JSONB            NOT NULL, -- as in payment_links
    currency_id         TEXT             NOT NULL,
    form                JSONB            NOT NULL,
    terms               JSONB            NOT NULL,
    requires_cross_sell BOOLEAN          NOT NULL,
    success_url         TEXT,
    cancel_url          TEXT,
    browser             TEXT, -- a hash of the visitor cookie of the browser that started or last submitted it
    visitor             TEXT             NOT NULL, -- the pseudonym of the network that started it from a link
    payer               TEXT,
    customer_id         TEXT COLLATE "C" REFERENCES customers (id),
    contact             JSONB,
    method_id           TEXT,
    intent_id           TEXT,
    invoice_id          TEXT,
    subscription_ids    JSONB            NOT NULL, -- allocated at submit; the subscriptions are inserted at completion
    mandate_id          TEXT COLLATE "C",
    stake_id            TEXT, -- the stake that secures its subscriptions
    trial_end           TIMESTAMPTZ,
    amount_total        NUMERIC(78,0)    NOT NULL,
    metadata            JSONB            NOT NULL,
    expires_at          TIMESTAMPTZ      NOT NULL,
    created_at          TIMESTAMPTZ      NOT NULL,
    updated_at          TIMESTAMPTZ      NOT NULL,
    version             BIGINT           NOT NULL
);
CREATE INDEX checkout_sessions_newest ON checkout_sessions (livemode, id DESC);
CREATE INDEX checkout_sessions_of_link ON checkout_sessions (link_id, id DESC) WHERE link_id IS NOT NULL;
CREATE INDEX checkout_sessions_of_payer ON checkout_sessions (payer) WHERE payer IS NOT NULL;
CREATE INDEX checkout_sessions_of_customer ON checkout_sessions (customer_id) WHERE customer_id IS NOT NULL;
CREATE INDEX checkout_sessions_of_mandate ON checkout_sessions (mandate_id) WHERE mandate_id IS NOT NULL;
CREATE INDEX checkout_sessions_due ON checkout_sessions (expires_at, id) WHERE status = 'open';
-- Sessions that a visitor started and never submitted; they are deleted.
CREATE INDEX checkout_sessions_unsubmitted ON checkout_sessions (created_at, id)
    WHERE status = 'expired' AND link_id IS NOT NULL AND payer IS NULL AND intent_id IS NULL;
-- Orders that were submitted and have expired unpaid; they are deleted.
CREATE INDEX checkout_sessions_unpaid ON checkout_sessions (created_at, id)
    WHERE status = 'expired' AND link_id IS NOT NULL AND intent_id IS NOT NULL;
CREATE INDEX checkout_sessions_of_visitor ON checkout_sessions (visitor, created_at, id)
    WHERE link_id IS NOT NULL AND payer IS NULL AND intent_id IS NULL;
-- Submitted orders that wait for their payment. A changed order has no method until it is submitted again, but it has its intent.
CREATE INDEX checkout_sessions_waiting_of_payer ON checkout_sessions (payer) WHERE status = 'open' AND intent_id IS NOT NULL;
CREATE INDEX checkout_sessions_waiting_of_visitor ON checkout_sessions (visitor)
    WHERE status = 'open' AND intent_id IS NOT NULL AND visitor <> '';

-- The last start of a link by each visitor.
CREATE TABLE session_starts (
    start_key  TEXT        NOT NULL PRIMARY KEY,
    session_id TEXT        NOT NULL,
    started_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX session_starts_age ON session_starts (started_at);

CREATE TABLE payment_intents (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    livemode        BOOLEAN          NOT NULL,
    status          TEXT             NOT NULL,
    description     TEXT             NOT NULL, -- a code: payment/description.rs
    name            TEXT             NOT NULL, -- of products; empty if the code has none
    name_zh         TEXT             NOT NULL,
    name_others     BIGINT           NOT NULL, -- products besides the named one
    amount          NUMERIC(78,0)    NOT NULL,
    amount_received NUMERIC(78,0)    NOT NULL,
    amount_refunded NUMERIC(78,0)    NOT NULL, -- refunds and payouts, pending ones included
    currency_id     TEXT             NOT NULL,
    method_id       TEXT             NOT NULL,
    customer_id     TEXT COLLATE "C" NOT NULL REFERENCES customers (id),
    subscription_id TEXT,
    session_id      TEXT COLLATE "C" REFERENCES checkout_sessions (id),
    invoices        JSONB            NOT NULL, -- ["in_...", ...]
    last_error      JSONB,
    reference       TEXT             NOT NULL,
    payer           TEXT             NOT NULL,
    held_attempt_id TEXT COLLATE "C",         -- the payment on hold whose money this intent received
    metadata        JSONB            NOT NULL DEFAULT '{}',
    created_at      TIMESTAMPTZ      NOT NULL,
    updated_at      TIMESTAMPTZ      NOT NULL,
    CHECK (amount_refunded <= amount_received)
);
CREATE INDEX payment_intents_newest ON payment_intents (livemode, id DESC);
CREATE INDEX payment_intents_of_customer ON payment_intents (customer_id, id DESC);
CREATE INDEX payment_intents_of_session ON payment_intents (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX payment_intents_reference ON payment_intents (method_id, reference) WHERE reference <> '';
CREATE UNIQUE INDEX payment_intents_held ON payment_intents (held_attempt_id) WHERE held_attempt_id IS NOT NULL;

-- The customers at the providers of card methods: one for each customer and method.
CREATE TABLE provider_customers (
    customer_id TEXT COLLATE "C" NOT NULL REFERENCES customers (id),
    method_id   TEXT COLLATE "C" NOT NULL REFERENCES payment_methods (id),
    provider_id TEXT             NOT NULL,
    erased      BOOLEAN          NOT NULL, -- it is deleted there, or will be: it must not be used again
    PRIMARY KEY (customer_id, method_id)
);

-- Attempts to move money; committed before anything is sent.
CREATE TABLE attempts (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    purpose       TEXT             NOT NULL,
    subject       TEXT COLLATE "C" NOT NULL, -- the id of its object: an intent, a mandate, a stake, a subscription, a refund
    session_id    TEXT COLLATE "C",
    connect_token TEXT, -- the connect session that waits for its outcome
    kind          TEXT             NOT NULL,
    method_id     TEXT             NOT NULL REFERENCES payment_methods (id),
    currency_id   TEXT             NOT NULL REFERENCES currencies (id),
    amount        NUMERIC(78,0)    NOT NULL,
    status        TEXT             NOT NULL,
    payer         TEXT, -- of a signed transaction: payer, bytes and hash
    bytes         BYTEA,
    hash          TEXT,
    provider_id   TEXT, -- for cards: the provider's intent
    client_secret BYTEA, -- encrypted
    card          JSONB, -- the saved card, or the holder for whom it will be saved
    period        JSONB, -- the period that an automatic charge pays: {"invoice", "subscription", "period_start"}
    last_error    JSONB,
    checks        BIGINT           NOT NULL,
    check_at      TIMESTAMPTZ      NOT NULL,
    sent_at       TIMESTAMPTZ,
    recheck_at    TIMESTAMPTZ, -- of settled payments by wallets: the next look whether the network still has it
    doubted       BOOLEAN NOT NULL DEFAULT FALSE, -- the previous look did not find it
    reversed_at   TIMESTAMPTZ, -- the network reported later that it has failed
    created_at    TIMESTAMPTZ      NOT NULL,
    updated_at    TIMESTAMPTZ      NOT NULL
);
-- Charged at most once: each purpose and subject has one open attempt, and a transaction belongs to one attempt.
CREATE UNIQUE INDEX attempts_open ON attempts (subject, purpose) WHERE status IN ('open', 'unknown');
CREATE UNIQUE INDEX attempts_hash ON attempts (method_id, hash) WHERE hash IS NOT NULL;
CREATE UNIQUE INDEX attempts_provider ON attempts (method_id, provider_id) WHERE provider_id IS NOT NULL;
CREATE INDEX attempts_due ON attempts (method_id, check_at, id) WHERE status IN ('open', 'unknown');
CREATE INDEX attempts_of_subject ON attempts (subject);
CREATE INDEX attempts_of_session ON attempts (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX attempts_connect ON attempts (connect_token) WHERE connect_token IS NOT NULL;
CREATE INDEX attempts_recheck ON attempts (recheck_at, id) WHERE recheck_at IS NOT NULL;

-- The planned payments of attempts. An invoice has at most one open attempt.
CREATE TABLE attempt_invoices (
    attempt_id TEXT COLLATE "C" NOT NULL,
    invoice_id TEXT COLLATE "C" NOT NULL,
    amount     NUMERIC(78,0)    NOT NULL, -- the invoice's remaining amount when the attempt was written
    open       BOOLEAN          NOT NULL,
    PRIMARY KEY (attempt_id, invoice_id)
);
CREATE UNIQUE INDEX attempt_invoices_open ON attempt_invoices (invoice_id) WHERE open;

-- The last allocated number of each series: one for each mode and document type.
CREATE TABLE number_series (
    livemode    BOOLEAN NOT NULL,
    document    TEXT    NOT NULL,
    last_number BIGINT  NOT NULL,
    PRIMARY KEY (livemode, document)
);
INSERT INTO number_series (livemode, document, last_number)
VALUES (FALSE, 'invoice', 0), (FALSE, 'credit_note', 0), (FALSE, 'statement', 0), (TRUE, 'invoice', 0), (TRUE, 'credit_note', 0), (TRUE, 'statement', 0);

-- Numbers that no document has: a restored store skips those that its original may have used.
CREATE TABLE number_gaps (
    livemode     BOOLEAN NOT NULL,
    document     TEXT NOT NULL,
    first_number BIGINT NOT NULL,
    last_number  BIGINT NOT NULL,
    restored_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (livemode, document, first_number)
);

-- Movements of money that a restored store has found at its networks and that belong to nothing it knows. An owner decides about them.
CREATE TABLE found_payments (
    method_id   TEXT NOT NULL REFERENCES payment_methods (id),
    reference   TEXT NOT NULL, -- a transaction hash, a card payment intent
    livemode    BOOLEAN NOT NULL,
    incoming    BOOLEAN NOT NULL, -- whether the store received it
    account     TEXT NOT NULL, -- the other account; empty for cards
    amount      NUMERIC(78,0) NOT NULL,
    currency_id TEXT NOT NULL REFERENCES currencies (id),
    moved_at    TIMESTAMPTZ NOT NULL,
    found_at    TIMESTAMPTZ NOT NULL,
    handled_at  TIMESTAMPTZ, -- when an owner had dealt with it
    handled_by  TEXT,
    PRIMARY KEY (method_id, reference)
);
CREATE INDEX found_payments_of_account ON found_payments (account);
CREATE INDEX found_payments_open ON found_payments (livemode, moved_at) WHERE handled_at IS NULL;

CREATE TABLE invoices (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    livemode        BOOLEAN          NOT NULL,
    document        TEXT             NOT NULL, -- invoice or statement: determines its number series
    number          BIGINT,
    status          TEXT             NOT NULL,
    reason          TEXT             NOT NULL,
    description     TEXT             NOT NULL, -- a code: payment/description.rs
    name            TEXT             NOT NULL, -- of products; empty if the code has none
    name_zh         TEXT             NOT NULL,
    name_others     BIGINT           NOT NULL, -- products besides the named one
    customer_id     TEXT COLLATE "C" NOT NULL REFERENCES customers (id),
    currency_id     TEXT             NOT NULL,
    method_id       TEXT             NOT NULL,
    session_id      TEXT COLLATE "C",
    subscription_id TEXT,
    period_start    TIMESTAMPTZ,
    period_end      TIMESTAMPTZ,
    intent_id       TEXT,
    reference       TEXT, -- the network transaction of a statement
    bill_to         JSONB            NOT NULL,
    discount        NUMERIC(78,0)    NOT NULL DEFAULT 0, -- the sums of the lines' discounts and taxes; the subtotal is total + discount - tax
    tax             NUMERIC(78,0)    NOT NULL DEFAULT 0,
    total           NUMERIC(78,0)    NOT NULL,
    amount_paid     NUMERIC(78,0)    NOT NULL, -- payments less reversals
    amount_credited NUMERIC(78,0)    NOT NULL, -- credit that reduced the amount due
    failure_count   BIGINT           NOT NULL,
    retry_at        TIMESTAMPTZ,
    clock_id        TEXT,
    created_at      TIMESTAMPTZ      NOT NULL,
    finalized_at    TIMESTAMPTZ,
    paid_at         TIMESTAMPTZ,
    updated_at      TIMESTAMPTZ      NOT NULL,
    CHECK (amount_paid <= total),
    CHECK (amount_credited <= total),
    CHECK (amount_paid + amount_credited <= total)
);
CREATE UNIQUE INDEX invoices_number ON invoices (livemode, document, number);
CREATE INDEX invoices_newest ON invoices (livemode, id DESC);
-- Counts the lists of a whole store from the index alone.
CREATE INDEX invoices_counted ON invoices (livemode, reason, status, currency_id, total, number, id);
CREATE INDEX invoices_of_customer ON invoices (customer_id, id DESC);
-- One period, one invoice (invariant 2).
CREATE UNIQUE INDEX invoices_period ON invoices (subscription_id, period_start, reason) WHERE status <> 'void';
CREATE INDEX invoices_of_session ON invoices (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX invoices_of_subscription ON invoices (subscription_id, id DESC) WHERE subscription_id IS NOT NULL;
CREATE INDEX invoices_unpaid ON invoices (customer_id, currency_id, id) WHERE status IN ('open', 'uncollectible');
CREATE INDEX invoices_overdue ON invoices (customer_id, id) WHERE status = 'uncollectible';
CREATE INDEX invoices_retry ON invoices (retry_at, id) WHERE retry_at IS NOT NULL AND clock_id IS NULL;
CREATE INDEX invoices_retry_by_clock ON invoices (clock_id, retry_at, id) WHERE retry_at IS NOT NULL AND clock_id IS NOT NULL;

-- Invoice lines. Credit notes over a line never exceed its amount.
CREATE TABLE invoice_items (
    id                   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    invoice_id           TEXT COLLATE "C" NOT NULL REFERENCES invoices (id),
    position             BIGINT           NOT NULL,
    subscription_item_id TEXT, -- the subscription item that it bills for
    price_id             TEXT,
    description          TEXT             NOT NULL, -- a code: payment/description.rs
    name                 TEXT             NOT NULL, -- of products; empty if the code has none
    name_zh              TEXT             NOT NULL,
    name_others          BIGINT           NOT NULL, -- products besides the named one
    quantity             BIGINT           NOT NULL,
    unit_amount          NUMERIC(78,0)    NOT NULL,
    amount               NUMERIC(78,0)    NOT NULL,
    discount             NUMERIC(78,0)    NOT NULL DEFAULT 0,
    tax                  NUMERIC(78,0)    NOT NULL DEFAULT 0,
    credited             NUMERIC(78,0)    NOT NULL, -- the sum of credit notes over it
    period_start         TIMESTAMPTZ,
    period_end           TIMESTAMPTZ,
    covers_until         TIMESTAMPTZ, -- when its cover ends; credit notes over unused time shorten it
    pricing_formula      JSONB            NOT NULL, -- the inputs and the formula of its amount
    UNIQUE (invoice_id, position),
    CHECK (credited <= amount)
);
CREATE INDEX invoice_items_billing ON invoice_items (subscription_item_id, period_start) WHERE subscription_item_id IS NOT NULL;

-- What one source paid towards one invoice.
CREATE TABLE invoice_payments (
    id                     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    invoice_id             TEXT COLLATE "C" NOT NULL REFERENCES invoices (id),
    source                 TEXT             NOT NULL CHECK (source IN ('network', 'balance', 'stake')),
    attempt_id             TEXT, -- for network and stake payments
    intent_id              TEXT, -- for network payments
    balance_transaction_id TEXT, -- for balance payments
    amount                 NUMERIC(78,0)    NOT NULL,
    refunded               NUMERIC(78,0)    NOT NULL, -- refunds, pending ones included
    disputed               NUMERIC(78,0)    NOT NULL, -- withdrawn by undecided disputes
    reversed               NUMERIC(78,0)    NOT NULL, -- reversed: the invoice does not count it as paid
    created_at             TIMESTAMPTZ      NOT NULL,
    CHECK (refunded <= amount),
    CHECK (disputed <= amount),
    CHECK (reversed <= amount),
    CONSTRAINT invoice_payments_used CHECK (refunded + disputed + reversed <= amount)
);
CREATE INDEX invoice_payments_of_invoice ON invoice_payments (invoice_id, id);
CREATE INDEX invoice_payments_of_intent ON invoice_payments (intent_id) WHERE intent_id IS NOT NULL;

CREATE TABLE journal_entries (
    id        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    livemode  BOOLEAN          NOT NULL,
    subject   TEXT             NOT NULL,
    type      TEXT             NOT NULL,
    posted_at TIMESTAMPTZ      NOT NULL
);
CREATE UNIQUE INDEX journal_entries_subject ON journal_entries (subject, type);

CREATE TABLE journal_postings (
    entry_id    TEXT          NOT NULL REFERENCES journal_entries (id),
    position    BIGINT        NOT NULL,
    account     TEXT          NOT NULL,
    side        TEXT          NOT NULL CHECK (side IN ('debit', 'credit')),
    amount      NUMERIC(78,0) NOT NULL,
    currency_id TEXT          NOT NULL,
    PRIMARY KEY (entry_id, position)
);
CREATE INDEX journal_postings_of_account ON journal_postings (account, currency_id);
