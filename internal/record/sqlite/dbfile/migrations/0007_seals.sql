-- Hashes of what no hash chain covers: see package seal. A row of seals covers a
-- set of rows: how many there are, and the sum of their hashes.
CREATE TABLE seals (
    name    TEXT    PRIMARY KEY,
    entries INTEGER NOT NULL,
    digest  INTEGER NOT NULL
);
-- What a conversation is called and belongs to.
ALTER TABLE conversations ADD COLUMN seal BLOB;
-- The text of a summary, and the texts before it.
ALTER TABLE summaries ADD COLUMN seal BLOB;
ALTER TABLE revisions ADD COLUMN seal BLOB;
