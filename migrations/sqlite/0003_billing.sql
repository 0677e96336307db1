-- Permissions to charge customers who are not there, and what is charged by them.

CREATE TABLE mandates (
    id          TEXT    NOT NULL PRIMARY KEY,
    livemode    INTEGER NOT NULL,
    customer_id TEXT    NOT NULL REFERENCES customers (id),
    method_id   TEXT    NOT NULL REFERENCES payment_methods (id),
    status      TEXT    NOT NULL,
    given       TEXT, -- the delegation or the kept card
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX mandates_active ON mandates (customer_id, method_id) WHERE status = 'active';

-- A test-mode customer's own time.
CREATE TABLE test_clocks (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    customer_id TEXT    NOT NULL UNIQUE REFERENCES customers (id),
    now_at      INTEGER NOT NULL,
    target      INTEGER, -- while it is being advanced
    touched_at  INTEGER NOT NULL,
    story       TEXT    NOT NULL, -- [{"at", "what", "subject"}, ...], newest last
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE subscriptions (
    id                   TEXT    NOT NULL PRIMARY KEY,
    livemode             INTEGER NOT NULL,
    status               TEXT    NOT NULL,
    description          TEXT    NOT NULL,
    customer_id          TEXT    NOT NULL REFERENCES customers (id),
    method_id            TEXT    NOT NULL REFERENCES payment_methods (id),
    currency_id          TEXT    NOT NULL REFERENCES currencies (id),
    mandate_id           TEXT,
    session_id           TEXT,
    cycle                TEXT    NOT NULL,
    anchor               INTEGER NOT NULL, -- where period 0 begins
    period_index         INTEGER, -- of the current period; none during the trial
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
    stake                TEXT,
    stake_seen_at        INTEGER NOT NULL DEFAULT 0, -- when the network was last asked what it holds
    latest_invoice_id    TEXT,
    clock_id             TEXT    REFERENCES test_clocks (id),
    due_at               INTEGER, -- when the engine has something to do
    parked               TEXT, -- why the engine has stopped with it
    parked_detail        TEXT,
    metadata             TEXT    NOT NULL,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    version              INTEGER NOT NULL
) STRICT;
CREATE INDEX subscriptions_due ON subscriptions (due_at, id) WHERE due_at IS NOT NULL AND clock_id IS NULL;
CREATE INDEX subscriptions_due_by_clock ON subscriptions (clock_id, due_at, id) WHERE due_at IS NOT NULL AND clock_id IS NOT NULL;
CREATE INDEX subscriptions_staked ON subscriptions (stake_seen_at, id)
    WHERE stake ->> 'status' IN ('held', 'revoked') AND (status <> 'canceled' OR stake ->> 'return_at' IS NOT NULL)
       OR stake -> 'earlier' -> 0 ->> 'status' = 'waiting';
CREATE INDEX subscriptions_newest ON subscriptions (livemode, id DESC);
CREATE INDEX subscriptions_of_customer ON subscriptions (customer_id, id DESC);

CREATE TABLE subscription_items (
    id              TEXT    NOT NULL PRIMARY KEY,
    subscription_id TEXT    NOT NULL REFERENCES subscriptions (id),
    position        INTEGER NOT NULL,
    price_id        TEXT    NOT NULL,
    quantity        INTEGER NOT NULL,
    billed          TEXT, -- {"from", "until", "amount", "carried"}: usage of the period that is on invoices already
    UNIQUE (subscription_id, position)
) STRICT;

-- The free trials that customers have had: one for each product.
CREATE TABLE trials (
    customer_id     TEXT NOT NULL REFERENCES customers (id),
    product_id      TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    started_at      INTEGER NOT NULL,
    PRIMARY KEY (customer_id, product_id)
) STRICT;

-- What metered items were used; the sender's identifier makes a record count once.
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

-- Subscriptions that are charged by a mandate once it is given.
CREATE TABLE mandate_promises (
    mandate_id      TEXT NOT NULL REFERENCES mandates (id),
    subscription_id TEXT NOT NULL REFERENCES subscriptions (id),
    PRIMARY KEY (mandate_id, subscription_id)
) STRICT;
CREATE INDEX mandate_promises_of_subscription ON mandate_promises (subscription_id);

-- Invoices that a mandate pays once, when it is given.
CREATE TABLE mandate_debts (
    mandate_id TEXT NOT NULL REFERENCES mandates (id),
    invoice_id TEXT NOT NULL REFERENCES invoices (id),
    PRIMARY KEY (mandate_id, invoice_id)
) STRICT;
CREATE INDEX mandate_debts_of_invoice ON mandate_debts (invoice_id);

-- What is left of changes of plan, for the next invoices.
CREATE TABLE credits (
    customer_id TEXT NOT NULL REFERENCES customers (id),
    currency_id TEXT NOT NULL REFERENCES currencies (id),
    amount      TEXT NOT NULL,
    PRIMARY KEY (customer_id, currency_id)
) STRICT;

-- Credit that is owed once an invoice is paid.
CREATE TABLE promised_credits (
    invoice_id TEXT NOT NULL PRIMARY KEY REFERENCES invoices (id),
    amount     TEXT NOT NULL
) STRICT;

-- Money that went back.
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
    invoice_id      TEXT,
    subscription_id TEXT,
    reason          TEXT    NOT NULL,
    description     TEXT    NOT NULL,
    reference       TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX refunds_newest ON refunds (livemode, id DESC);
CREATE INDEX refunds_of_customer ON refunds (customer_id, id DESC);
CREATE INDEX refunds_of_intent ON refunds (intent_id) WHERE intent_id IS NOT NULL;
CREATE INDEX refunds_as_credit ON refunds (invoice_id) WHERE kind = 'credit';
