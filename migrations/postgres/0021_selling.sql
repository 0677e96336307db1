-- What developers sell: the shares of prices, the terms of apps, what sales have brought to beneficiaries, and what was paid out to them.

-- The parts of each sale that do not stay with the store. They are fixed with the price.
CREATE TABLE price_shares (
    price_id    TEXT             NOT NULL REFERENCES prices (id),
    beneficiary TEXT COLLATE "C" NOT NULL,
    position    BIGINT           NOT NULL, -- as its developer has ordered them
    millionths  BIGINT           NOT NULL CHECK (millionths BETWEEN 1 AND 1000000), -- of what the sale brings
    PRIMARY KEY (price_id, beneficiary)
);
CREATE INDEX price_shares_of_beneficiary ON price_shares (beneficiary, price_id);

-- How the store sells an app that was uploaded.
CREATE TABLE app_sales (
    app        TEXT COLLATE "C" NOT NULL REFERENCES uploaded_apps (did),
    livemode   BOOLEAN          NOT NULL,
    product_id TEXT             REFERENCES products (id),
    link_id    TEXT COLLATE "C" REFERENCES payment_links (id),
    proposed   JSONB,           -- {"currency_id", "amount": "base units", "shares": [{"beneficiary", "millionths"}, ...]}, or {}: free; NULL: nothing
    updated_at TIMESTAMPTZ      NOT NULL,
    PRIMARY KEY (app, livemode)
);

-- What a line of an invoice has brought to a beneficiary, after refunds and disputes.
CREATE TABLE sale_shares (
    invoice_item_id TEXT COLLATE "C" NOT NULL REFERENCES invoice_items (id),
    beneficiary     TEXT COLLATE "C" NOT NULL,
    invoice_id      TEXT COLLATE "C" NOT NULL REFERENCES invoices (id),
    livemode        BOOLEAN          NOT NULL,
    app             TEXT COLLATE "C", -- NULL: the product grants none
    price_id        TEXT             NOT NULL,
    currency_id     TEXT COLLATE "C" NOT NULL,
    amount          NUMERIC(78,0)    NOT NULL,
    booking         BIGINT           NOT NULL, -- the last booking of the invoice that has changed it
    created_at      TIMESTAMPTZ      NOT NULL,
    updated_at      TIMESTAMPTZ      NOT NULL,
    PRIMARY KEY (invoice_item_id, beneficiary)
);
CREATE INDEX sale_shares_of_invoice ON sale_shares (invoice_id);
-- Covers the sums of what a beneficiary has earned.
CREATE INDEX sale_shares_of_beneficiary ON sale_shares (beneficiary, livemode, currency_id, app, amount);
-- For the export of a beneficiary, page by page.
CREATE INDEX sale_shares_in_order ON sale_shares (beneficiary, invoice_item_id);

-- Beneficiaries. What was paid out to them is what was recorded, less what was reversed.
CREATE TABLE payees (
    livemode    BOOLEAN          NOT NULL,
    beneficiary TEXT COLLATE "C" NOT NULL,
    currency_id TEXT COLLATE "C" NOT NULL REFERENCES currencies (id),
    recorded    NUMERIC(78,0)    NOT NULL, -- the sum of all payouts; it never shrinks
    reversed    NUMERIC(78,0)    NOT NULL, -- what of it was reversed
    PRIMARY KEY (livemode, beneficiary, currency_id)
);

-- Payouts to beneficiaries, which an owner has made and recorded, and reversals of those that were recorded by mistake. They never change.
CREATE TABLE share_payouts (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    livemode    BOOLEAN          NOT NULL,
    beneficiary TEXT COLLATE "C" NOT NULL,
    currency_id TEXT COLLATE "C" NOT NULL REFERENCES currencies (id),
    method_id   TEXT COLLATE "C" NOT NULL REFERENCES payment_methods (id), -- whose funds have become less
    amount      NUMERIC(78,0)    NOT NULL,
    paid_before NUMERIC(78,0)    NOT NULL, -- the sum of the payouts before it, those that were reversed included
    reverses    TEXT COLLATE "C" REFERENCES share_payouts (id), -- the payout that this row takes back; NULL: it is a payout
    reason      TEXT             NOT NULL,
    recorded_by TEXT COLLATE "C" NOT NULL,
    created_at  TIMESTAMPTZ      NOT NULL
);
-- Each payout follows one state, so that no payout is recorded twice.
CREATE UNIQUE INDEX share_payouts_follow ON share_payouts (livemode, beneficiary, currency_id, paid_before) WHERE reverses IS NULL;
CREATE UNIQUE INDEX share_payouts_reversed ON share_payouts (reverses) WHERE reverses IS NOT NULL;
CREATE INDEX share_payouts_newest ON share_payouts (livemode, id DESC);
CREATE INDEX share_payouts_of_beneficiary ON share_payouts (beneficiary, livemode, id DESC);
