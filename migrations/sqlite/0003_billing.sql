-- Mandates for off-session charges, and the subscriptions and invoices that are charged by them.

CREATE TABLE mandates (
    id          TEXT    NOT NULL PRIMARY KEY,
    livemode    INTEGER NOT NULL,
    customer_id TEXT    NOT NULL REFERENCES customers (id),
    method_id   TEXT    NOT NULL REFERENCES payment_methods (id),
    status      TEXT    NOT NULL,
    details     TEXT, -- the delegation, or the saved card
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX mandates_of_customer ON mandates (customer_id);
CREATE INDEX mandates_active ON mandates (customer_id, method_id) WHERE status = 'active';

-- Test clocks: the time of test-mode customers.
CREATE TABLE test_clocks (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    customer_id TEXT    NOT NULL UNIQUE REFERENCES customers (id),
    now_at      INTEGER NOT NULL,
    target      INTEGER, -- the time to which it is being advanced; NULL: it is not advancing
    touched_at  INTEGER NOT NULL,
    timeline    TEXT    NOT NULL, -- [{"at", "what", "subject"}, ...], newest last
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE subscriptions (
    id                   TEXT    NOT NULL PRIMARY KEY,
    livemode             INTEGER NOT NULL,
    status               TEXT    NOT NULL,
    description          TEXT    NOT NULL, -- the store's text; empty: it is called by its products
    name                 TEXT    NOT NULL, -- of its products
    name_zh              TEXT    NOT NULL,
    name_others          INTEGER NOT NULL, -- products besides the named one
    customer_id          TEXT    NOT NULL REFERENCES customers (id),
    method_id            TEXT    NOT NULL REFERENCES payment_methods (id),
    currency_id          TEXT    NOT NULL REFERENCES currencies (id),
    mandate_id           TEXT,
    session_id           TEXT,
    cycle                TEXT    NOT NULL,
    anchor               INTEGER NOT NULL, -- the start of period 0
    period_index         INTEGER, -- of the current period; NULL during the trial
    period_start         INTEGER NOT NULL,
    period_end           INTEGER NOT NULL,
    trial_start          INTEGER,
    trial_end            INTEGER,
    cancel_at_period_end INTEGER NOT NULL,
    cancel_at            INTEGER,
    canceled_at          INTEGER,
    ended_at             INTEGER,
    cancellation         TEXT,
    past_due_since       INTEGER,
    paused_at            INTEGER,
    days_until_cancel    INTEGER NOT NULL,
    billing_threshold    TEXT,
    resets_anchor        INTEGER NOT NULL,
    stake_id             TEXT, -- pays its overdue invoices when it ends
    overdraft_stake_id   TEXT, -- pays renewals that could not be charged
    overdraft_at         INTEGER, -- when that stake pays overdue invoices
    latest_invoice_id    TEXT,
    clock_id             TEXT    REFERENCES test_clocks (id),
    due_at               INTEGER, -- when the engine processes it next
    on_hold              TEXT, -- why the engine does not bill it
    on_hold_detail       TEXT,
    held_at              INTEGER, -- since when it is on hold
    approved_until       INTEGER, -- an owner decided that every period that began by this time is billed
    resumes_at           INTEGER, -- when a limit no longer holds it
    invoiced_on          INTEGER, -- the last day (UTC) with automatic invoices, and their number
    invoiced_count       INTEGER NOT NULL,
    metadata             TEXT    NOT NULL,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL
) STRICT;
CREATE INDEX subscriptions_due ON subscriptions (due_at, id) WHERE due_at IS NOT NULL AND clock_id IS NULL;
CREATE INDEX subscriptions_due_by_clock ON subscriptions (clock_id, due_at, id) WHERE due_at IS NOT NULL AND clock_id IS NOT NULL;
CREATE INDEX subscriptions_of_stake ON subscriptions (stake_id, id) WHERE stake_id IS NOT NULL;
CREATE INDEX subscriptions_of_overdraft_stake ON subscriptions (overdraft_stake_id, id) WHERE overdraft_stake_id IS NOT NULL;
CREATE INDEX subscriptions_of_mandate ON subscriptions (mandate_id) WHERE mandate_id IS NOT NULL;
CREATE INDEX subscriptions_on_hold ON subscriptions (id DESC) WHERE on_hold IS NOT NULL;
CREATE INDEX subscriptions_newest ON subscriptions (livemode, id DESC);
CREATE INDEX subscriptions_of_customer ON subscriptions (customer_id, id DESC);

-- Automatic charges per customer: those of the last hour (UTC) with one.
CREATE TABLE charge_counts (
    customer_id  TEXT NOT NULL PRIMARY KEY REFERENCES customers (id),
    hour         INTEGER NOT NULL,
    charges      INTEGER NOT NULL,
    charge_limit INTEGER NOT NULL
) STRICT;

-- Stakes: refundable deposits that networks hold for this store. The id is the nonce of the stake's address at its network.
-- Amounts are text here, so a CHECK cannot add them: forfeited + returned + reserved is guarded by the compare-and-set under the row's lock.
CREATE TABLE stakes (
    id                TEXT    NOT NULL PRIMARY KEY,
    livemode          INTEGER NOT NULL,
    customer_id       TEXT    NOT NULL REFERENCES customers (id),
    payer             TEXT    NOT NULL, -- the account that paid it and to which it returns
    method_id         TEXT    NOT NULL REFERENCES payment_methods (id),
    currency_id       TEXT    NOT NULL REFERENCES currencies (id),
    subject           TEXT    NOT NULL, -- the subscription that it was placed for; a checkout allocates subscription ids in advance
    purpose           TEXT    NOT NULL CHECK (purpose IN ('security', 'overdraft', 'membership', 'publication')),
    amount_requested  TEXT    NOT NULL, -- the amount that the payer should have placed
    amount            TEXT    NOT NULL, -- the sum of all payments into it
    amount_forfeited  TEXT    NOT NULL,
    amount_returned   TEXT    NOT NULL,
    amount_reserved   TEXT    NOT NULL, -- the amount that an open attempt takes out of it
    reserved_by       TEXT, -- that attempt
    reserved_for      TEXT CHECK (reserved_for IN ('return', 'forfeit')),
    status            TEXT    NOT NULL CHECK (status IN ('pending', 'held', 'releasing', 'final')),
    release_reason    TEXT,
    released_at       INTEGER,
    return_at         INTEGER, -- when the store processes it next
    failure_count     INTEGER NOT NULL, -- consecutive declines by its network
    failure           TEXT, -- {"code", "message"}: the reason of the last of them
    reference         TEXT, -- the network's reference of the last payment into it
    return_reference  TEXT, -- the network's reference of the last return by the store
    checked_at        INTEGER NOT NULL, -- when the network was last queried about it
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    CHECK (amount_forfeited <= amount),
    CHECK (amount_returned <= amount),
    CHECK (amount_reserved <= amount),
    CHECK ((reserved_by IS NULL) = (reserved_for IS NULL))
) STRICT;
-- A second payment into a stake raises the same row.
CREATE UNIQUE INDEX stakes_open ON stakes (subject, purpose, payer, currency_id) WHERE status <> 'final';
CREATE INDEX stakes_due ON stakes (return_at, id) WHERE return_at IS NOT NULL AND reserved_by IS NULL;
CREATE INDEX stakes_unchecked ON stakes (checked_at, id) WHERE status = 'held' OR (status = 'releasing' AND release_reason = 'revoked');
CREATE INDEX stakes_newest ON stakes (livemode, id DESC);
CREATE INDEX stakes_of_customer ON stakes (customer_id, id DESC);
CREATE INDEX stakes_of_subject ON stakes (subject, id DESC);

CREATE TABLE subscription_items (
    id              TEXT    NOT NULL PRIMARY KEY,
    subscription_id TEXT    NOT NULL REFERENCES subscriptions (id),
    position        INTEGER NOT NULL,
    price_id        TEXT    NOT NULL,
    quantity        INTEGER NOT NULL,
    billed          TEXT, -- {"from", "until", "amount", "carried"}: usage of the period that is billed already
    UNIQUE (subscription_id, position)
) STRICT;

-- The free trials that customers have used: one per product.
CREATE TABLE trials (
    customer_id     TEXT NOT NULL REFERENCES customers (id),
    product_id      TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    started_at      INTEGER NOT NULL,
    PRIMARY KEY (customer_id, product_id)
) STRICT;

-- Usage of metered items. Records with the same sender identifier count once.
CREATE TABLE usage_records (
    id         TEXT    NOT NULL PRIMARY KEY,
    item_id    TEXT    NOT NULL REFERENCES subscription_items (id),
    identifier TEXT    NOT NULL,
    quantity   INTEGER NOT NULL,
    action     TEXT    NOT NULL,
    used_at    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (item_id, identifier)
) STRICT;
CREATE INDEX usage_records_of_item ON usage_records (item_id, used_at, id, quantity);
CREATE INDEX usage_records_set ON usage_records (item_id, used_at, id) WHERE action = 'set';

-- Subscriptions that are charged by a mandate once it is active.
CREATE TABLE mandate_subscriptions (
    mandate_id      TEXT NOT NULL REFERENCES mandates (id),
    subscription_id TEXT NOT NULL REFERENCES subscriptions (id),
    PRIMARY KEY (mandate_id, subscription_id)
) STRICT;
CREATE INDEX mandate_subscriptions_of_subscription ON mandate_subscriptions (subscription_id);

-- Plan changes that customers have ordered and that wait for the network, or that have failed.
CREATE TABLE pending_plan_changes (
    subscription_id  TEXT NOT NULL PRIMARY KEY REFERENCES subscriptions (id),
    price_id         TEXT             NOT NULL,
    quantity         INTEGER, -- absent: the current one
    item_id          TEXT, -- absent: the item of the same product
    previewed_at     INTEGER NOT NULL,
    expected         TEXT NOT NULL, -- the previewed amount due
    credited         TEXT, -- the previewed increase of the balance
    mandate_id       TEXT             REFERENCES mandates (id), -- the delegation that was signed for it
    stake_id         TEXT             REFERENCES stakes (id), -- the stake that was paid into for it
    deposit_hash     TEXT, -- the transaction of that payment
    requested_before TEXT, -- the requested amount of the stake before the payment
    failure          TEXT, -- why it does not take place
    decline          TEXT, -- {"code", "message"}: the network's decline, if that is the reason
    check_at         INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    CHECK ((stake_id IS NULL) = (deposit_hash IS NULL) AND (stake_id IS NULL) = (requested_before IS NULL)),
    CHECK ((failure IS NULL) = (check_at IS NOT NULL))
) STRICT;
CREATE INDEX pending_plan_changes_due ON pending_plan_changes (check_at, subscription_id) WHERE check_at IS NOT NULL;
CREATE INDEX pending_plan_changes_of_mandate ON pending_plan_changes (mandate_id) WHERE mandate_id IS NOT NULL;
CREATE INDEX pending_plan_changes_of_stake ON pending_plan_changes (stake_id) WHERE stake_id IS NOT NULL;

-- Invoices that a mandate pays once, when it becomes active.
CREATE TABLE mandate_invoices (
    mandate_id TEXT NOT NULL REFERENCES mandates (id),
    invoice_id TEXT NOT NULL REFERENCES invoices (id),
    PRIMARY KEY (mandate_id, invoice_id)
) STRICT;
CREATE INDEX mandate_invoices_of_invoice ON mandate_invoices (invoice_id);

-- Credit notes. They never change.
CREATE TABLE credit_notes (
    id              TEXT    NOT NULL PRIMARY KEY,
    livemode        INTEGER NOT NULL,
    number          INTEGER NOT NULL,
    invoice_id      TEXT    NOT NULL REFERENCES invoices (id),
    subscription_id TEXT,
    customer_id     TEXT    NOT NULL REFERENCES customers (id),
    currency_id     TEXT    NOT NULL,
    method_id       TEXT    NOT NULL,
    reason          TEXT    NOT NULL,
    memo            TEXT    NOT NULL,
    total           TEXT    NOT NULL, -- the sum of the next three
    due_reduced     TEXT    NOT NULL,
    to_balance      TEXT    NOT NULL,
    refunded        TEXT    NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX credit_notes_number ON credit_notes (livemode, number);
CREATE INDEX credit_notes_newest ON credit_notes (livemode, id DESC);
CREATE INDEX credit_notes_of_customer ON credit_notes (customer_id, id DESC);
CREATE INDEX credit_notes_of_invoice ON credit_notes (invoice_id, id DESC);
CREATE INDEX credit_notes_of_subscription ON credit_notes (subscription_id, id DESC) WHERE subscription_id IS NOT NULL;

CREATE TABLE credit_note_items (
    note_id         TEXT    NOT NULL REFERENCES credit_notes (id),
    position        INTEGER NOT NULL,
    invoice_item_id TEXT    NOT NULL,
    amount          TEXT    NOT NULL,
    discount        TEXT    NOT NULL DEFAULT '000000000000000000000000000000000000000', -- the parts of the line's discount and tax
    tax             TEXT    NOT NULL DEFAULT '000000000000000000000000000000000000000',
    revokes         INTEGER NOT NULL, -- whether access to what the line paid for ends
    pricing_formula TEXT, -- as in invoice_items, if unused time was credited
    PRIMARY KEY (note_id, position)
) STRICT;

-- The customers' balances, which pay their next invoices.
CREATE TABLE customer_balances (
    customer_id TEXT    NOT NULL REFERENCES customers (id),
    currency_id TEXT    NOT NULL REFERENCES currencies (id),
    amount      TEXT    NOT NULL,
    sequence    INTEGER NOT NULL, -- of the last transaction
    PRIMARY KEY (customer_id, currency_id)
) STRICT;

CREATE TABLE balance_transactions (
    id            TEXT    NOT NULL PRIMARY KEY,
    livemode      INTEGER NOT NULL,
    customer_id   TEXT    NOT NULL REFERENCES customers (id),
    currency_id   TEXT    NOT NULL,
    sequence      INTEGER NOT NULL, -- the order of writing
    type          TEXT    NOT NULL, -- determines whether it increases or decreases the balance
    amount        TEXT    NOT NULL,
    balance_after TEXT    NOT NULL,
    source        TEXT    NOT NULL, -- the id of the object that changed the balance
    created_at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX balance_transactions_sequence ON balance_transactions (customer_id, currency_id, sequence);
CREATE INDEX balance_transactions_newest ON balance_transactions (customer_id, created_at, sequence, id);

-- Refunds: money that returns over a network.
CREATE TABLE refunds (
    id              TEXT    NOT NULL PRIMARY KEY,
    livemode        INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    amount          TEXT    NOT NULL,
    currency_id     TEXT    NOT NULL,
    method_id       TEXT    NOT NULL,
    customer_id     TEXT    NOT NULL REFERENCES customers (id),
    intent_id       TEXT    REFERENCES payment_intents (id),
    payment_id      TEXT    REFERENCES invoice_payments (id), -- the invoice payment whose amount is reserved
    credit_note_id  TEXT    REFERENCES credit_notes (id),
    invoice_id      TEXT,
    subscription_id TEXT,
    reason          TEXT    NOT NULL,
    description     TEXT    NOT NULL,
    reference       TEXT    NOT NULL,
    failure         TEXT, -- {"code", "message"}: the reason of the last failure
    failure_count   INTEGER NOT NULL,
    ordered_at      INTEGER, -- when the store last ordered it; NULL: made in the provider's dashboard
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX refunds_newest ON refunds (livemode, id DESC);
CREATE INDEX refunds_in_currency ON refunds (livemode, currency_id, ordered_at) WHERE ordered_at IS NOT NULL;
CREATE INDEX refunds_of_customer ON refunds (customer_id, id DESC);
CREATE INDEX refunds_of_invoice ON refunds (invoice_id, id DESC) WHERE invoice_id IS NOT NULL;
CREATE INDEX refunds_of_intent ON refunds (intent_id) WHERE intent_id IS NOT NULL;
CREATE INDEX refunds_of_note ON refunds (credit_note_id) WHERE credit_note_id IS NOT NULL;
CREATE INDEX refunds_failed ON refunds (id) WHERE status = 'failed';
CREATE INDEX refunds_reference ON refunds (method_id, reference) WHERE reference <> '';

-- Disputes of payments.
CREATE TABLE disputes (
    id              TEXT    NOT NULL PRIMARY KEY,
    livemode        INTEGER NOT NULL,
    method_id       TEXT    NOT NULL,
    provider_id     TEXT    NOT NULL,
    intent_id       TEXT    NOT NULL REFERENCES payment_intents (id),
    customer_id     TEXT    NOT NULL REFERENCES customers (id),
    amount          TEXT    NOT NULL,
    currency_id     TEXT    NOT NULL,
    fee             TEXT    NOT NULL,
    fee_currency_id TEXT,
    status          TEXT    NOT NULL,
    funds_withdrawn INTEGER NOT NULL,
    movements       INTEGER NOT NULL, -- movements of funds and fees; each is a journal entry
    reason          TEXT    NOT NULL,
    respond_by      INTEGER,
    credit_note_ids TEXT    NOT NULL, -- ["cn_...", ...]
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX disputes_provider ON disputes (method_id, provider_id);
CREATE INDEX disputes_newest ON disputes (livemode, id DESC);
CREATE INDEX disputes_of_customer ON disputes (customer_id, id DESC);
CREATE INDEX disputes_of_intent ON disputes (intent_id, id DESC);
