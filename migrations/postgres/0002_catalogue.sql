-- Products, prices, stock, and the store's apps.
CREATE TABLE products (
    id                   TEXT        NOT NULL PRIMARY KEY,
    livemode             BOOLEAN     NOT NULL,
    active               BOOLEAN     NOT NULL,
    name                 TEXT        NOT NULL,
    name_zh              TEXT,
    description          TEXT        NOT NULL,
    description_zh       TEXT,
    images               JSONB       NOT NULL, -- ["address", ...]
    features             JSONB       NOT NULL, -- ["name", ...]
    unit_label           TEXT,
    unit_label_zh        TEXT,
    statement_descriptor TEXT,
    default_price_id     TEXT,
    app                  TEXT,             -- the app that a purchase grants
    cross_sells_to       TEXT, -- the product that checkout offers as a cross-sell
    metadata             JSONB       NOT NULL, -- {"name": "value", ...}
    search_text          TEXT        NOT NULL, -- lower-cased search text
    created_at           TIMESTAMPTZ NOT NULL,
    updated_at           TIMESTAMPTZ NOT NULL
);

CREATE TABLE prices (
    id                          TEXT          NOT NULL PRIMARY KEY,
    livemode                    BOOLEAN       NOT NULL,
    product_id                  TEXT          NOT NULL REFERENCES products (id),
    active                      BOOLEAN       NOT NULL,
    locked                      BOOLEAN       NOT NULL DEFAULT FALSE, -- its amounts are fixed, because something refers to it
    replaced_by                 TEXT, -- the price that new buyers get instead
    nickname                    TEXT          NOT NULL,
    lookup_key                  TEXT,
    currency_id                 TEXT          NOT NULL,
    unit_amount                 NUMERIC(78,0) NOT NULL CHECK (unit_amount >= 0),
    currency_options            JSONB         NOT NULL,           -- [{"currency_id": "pc_", "unit_amount": "base units", "tiers", "custom"}, ...]
    recurring                   JSONB,                            -- {"interval", "count", "anchoring", "metered": "sum"}; NULL: a one-time price
    tiers_mode                  TEXT CHECK (tiers_mode IN ('graduated', 'volume')),
    tiers                       JSONB         NOT NULL DEFAULT '[]', -- [{"up_to": 5, "unit_amount": "base units", "flat_amount"}, ...]
    custom                      JSONB,                            -- {"preset": "base units", "presets", "minimum", "maximum"}
    upsells_to                  TEXT,
    stock_of                    TEXT REFERENCES prices (id), -- the price whose stock it shares; NULL: it has its own
    quantity_available          BIGINT        NOT NULL DEFAULT 0, -- 0: unlimited
    quantity_sold               BIGINT        NOT NULL DEFAULT 0, -- sold or reserved
    quantity_limit_per_checkout BIGINT        NOT NULL DEFAULT 0, -- 0: unlimited
    metadata                    JSONB         NOT NULL,
    search_text                 TEXT          NOT NULL,
    created_at                  TIMESTAMPTZ   NOT NULL,
    updated_at                  TIMESTAMPTZ   NOT NULL,
    CHECK (quantity_available >= 0 AND quantity_sold >= 0 AND quantity_limit_per_checkout >= 0),
    CHECK (quantity_available = 0 OR quantity_sold <= quantity_available)
);

CREATE INDEX prices_product ON prices (product_id);
CREATE INDEX prices_stock ON prices (stock_of) WHERE stock_of IS NOT NULL;
CREATE UNIQUE INDEX prices_lookup_key ON prices (livemode, lookup_key) WHERE lookup_key IS NOT NULL;

-- Stock that a checkout session has taken. Only a reservation can be released or become a sale.
CREATE TABLE stock_reservations (
    session_id  TEXT COLLATE "C" NOT NULL,
    price_id    TEXT        NOT NULL REFERENCES prices (id),
    quantity    BIGINT      NOT NULL CHECK (quantity >= 0),
    state       TEXT        NOT NULL CHECK (state IN ('reserved', 'committed', 'released')),
    reserved_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (session_id, price_id)
);

CREATE INDEX stock_reservations_price ON stock_reservations (price_id);
-- Stock that returns if its order is not continued.
CREATE INDEX stock_reservations_reserved ON stock_reservations (reserved_at, session_id) WHERE state = 'reserved';

CREATE TABLE categories (
    id       TEXT   NOT NULL PRIMARY KEY,
    slug     TEXT   NOT NULL,
    name_en  TEXT   NOT NULL,
    name_zh  TEXT   NOT NULL,
    position BIGINT NOT NULL
);

CREATE UNIQUE INDEX categories_slug ON categories (slug);

CREATE TABLE apps (
    did                TEXT        NOT NULL PRIMARY KEY,
    name               TEXT        NOT NULL,
    title_en           TEXT        NOT NULL,
    title_zh           TEXT        NOT NULL,
    description_en     TEXT        NOT NULL,
    description_zh     TEXT        NOT NULL,
    category_id        TEXT        NOT NULL REFERENCES categories (id),
    developer_did      TEXT        NOT NULL,
    developer_name     TEXT        NOT NULL,
    developer_verified BOOLEAN     NOT NULL,
    logo               TEXT        NOT NULL, -- SHA-256 of the content
    screenshots        JSONB       NOT NULL, -- [{"file", "width", "height", "alt": {"en", "zh"}}, ...]
    license            TEXT        NOT NULL,
    website            TEXT,
    test_link          TEXT,             -- the payment link of each mode; NULL in both: it is free
    live_link          TEXT,
    downloads          BIGINT      NOT NULL DEFAULT 0,
    version            TEXT        NOT NULL,
    size               BIGINT      NOT NULL, -- bytes
    search_text        TEXT        NOT NULL, -- lower-cased search text; each name is on its own line
    sort_name          TEXT        NOT NULL, -- lower-cased
    created_at         TIMESTAMPTZ NOT NULL,
    updated_at         TIMESTAMPTZ NOT NULL
);

CREATE INDEX apps_category ON apps (category_id);
CREATE INDEX apps_downloads ON apps (downloads DESC, did);
CREATE INDEX apps_updated ON apps (updated_at DESC, did);
CREATE INDEX apps_created ON apps (created_at DESC, did);
CREATE INDEX apps_name ON apps (sort_name, did);

CREATE TABLE app_versions (
    id           TEXT        NOT NULL PRIMARY KEY,
    app          TEXT        NOT NULL REFERENCES apps (did),
    version      TEXT        NOT NULL,
    readme_en    TEXT        NOT NULL,
    readme_zh    TEXT        NOT NULL,
    changelog_en TEXT        NOT NULL,
    changelog_zh TEXT        NOT NULL,
    sha256       TEXT        NOT NULL, -- of the bundle, in hex
    size         BIGINT      NOT NULL, -- bytes
    published_at TIMESTAMPTZ NOT NULL
);

CREATE UNIQUE INDEX app_versions_version ON app_versions (app, version);
CREATE INDEX app_versions_published ON app_versions (app, published_at DESC);

CREATE TABLE app_downloads_daily (
    app       TEXT   NOT NULL REFERENCES apps (did),
    day       BIGINT NOT NULL, -- days since 1970-01-01, UTC
    downloads BIGINT NOT NULL,
    PRIMARY KEY (app, day)
);

-- The right to download an app, one per purchase.
CREATE TABLE entitlements (
    id              TEXT        NOT NULL PRIMARY KEY,
    livemode        BOOLEAN     NOT NULL,
    holder          TEXT        NOT NULL,
    app             TEXT        NOT NULL REFERENCES apps (did),
    session_id      TEXT        NOT NULL,
    subscription_id TEXT, -- the subscription that grants it; NULL: a one-time purchase
    invoice_id      TEXT,
    invoice_item_id TEXT, -- the invoice line that paid for it
    acquired_at     TIMESTAMPTZ NOT NULL,
    revoked_at      TIMESTAMPTZ, -- when its invoice line was credited
    suspended_at    TIMESTAMPTZ -- while its payment is disputed
);

CREATE UNIQUE INDEX entitlements_purchase ON entitlements (session_id, app, coalesce(subscription_id, ''));
CREATE INDEX entitlements_holder ON entitlements (holder, livemode, app);
CREATE INDEX entitlements_of_item ON entitlements (invoice_item_id) WHERE invoice_item_id IS NOT NULL;
CREATE INDEX entitlements_of_invoice ON entitlements (invoice_id) WHERE invoice_id IS NOT NULL;
CREATE INDEX entitlements_of_subscription ON entitlements (subscription_id) WHERE subscription_id IS NOT NULL;
