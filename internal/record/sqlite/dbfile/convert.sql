-- From version 7 to 8. The rows are sealed afterwards, in the same transaction.
ALTER TABLE messages ADD COLUMN seal BLOB;
ALTER TABLE summaries ADD COLUMN sources INTEGER NOT NULL DEFAULT 0;
ALTER TABLE summaries ADD COLUMN earlier INTEGER NOT NULL DEFAULT 0;
ALTER TABLE branches ADD COLUMN seal BLOB;
ALTER TABLE payloads ADD COLUMN seal BLOB;
ALTER TABLE state ADD COLUMN seal BLOB;
