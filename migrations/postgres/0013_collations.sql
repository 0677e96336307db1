-- Columns with ids get the collation of the ids that they refer to. PostgreSQL uses no index for a join of columns whose collations
-- differ, so that `souk verify` read whole tables for each row.

ALTER TABLE currencies ALTER COLUMN method_id TYPE TEXT COLLATE "C";
ALTER TABLE attempts ALTER COLUMN subject TYPE TEXT COLLATE "C",
    ALTER COLUMN method_id TYPE TEXT COLLATE "C",
    ALTER COLUMN currency_id TYPE TEXT COLLATE "C";
ALTER TABLE found_payments ALTER COLUMN method_id TYPE TEXT COLLATE "C",
    ALTER COLUMN currency_id TYPE TEXT COLLATE "C";
ALTER TABLE journal_entries ALTER COLUMN subject TYPE TEXT COLLATE "C";
ALTER TABLE journal_postings ALTER COLUMN entry_id TYPE TEXT COLLATE "C";
ALTER TABLE mandates ALTER COLUMN method_id TYPE TEXT COLLATE "C";
ALTER TABLE subscriptions ALTER COLUMN method_id TYPE TEXT COLLATE "C",
    ALTER COLUMN currency_id TYPE TEXT COLLATE "C",
    ALTER COLUMN clock_id TYPE TEXT COLLATE "C";
ALTER TABLE stakes ALTER COLUMN method_id TYPE TEXT COLLATE "C",
    ALTER COLUMN currency_id TYPE TEXT COLLATE "C";
ALTER TABLE mandate_subscriptions ALTER COLUMN subscription_id TYPE TEXT COLLATE "C";
ALTER TABLE mandate_invoices ALTER COLUMN invoice_id TYPE TEXT COLLATE "C";
ALTER TABLE credit_notes ALTER COLUMN invoice_id TYPE TEXT COLLATE "C";
ALTER TABLE refunds ALTER COLUMN intent_id TYPE TEXT COLLATE "C",
    ALTER COLUMN payment_id TYPE TEXT COLLATE "C",
    ALTER COLUMN credit_note_id TYPE TEXT COLLATE "C";
ALTER TABLE disputes ALTER COLUMN intent_id TYPE TEXT COLLATE "C";
ALTER TABLE access_tokens ALTER COLUMN passport_id TYPE TEXT COLLATE "C";
