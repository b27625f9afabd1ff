-- Hashes of what no hash chain covers: see package seal.
CREATE TABLE seals (
    name    text COLLATE "C" PRIMARY KEY,
    entries bigint NOT NULL,
    digest  bigint NOT NULL
) WITH (fillfactor = 50);
ALTER TABLE conversations ADD COLUMN seal bytea;
ALTER TABLE summaries ADD COLUMN seal bytea;
ALTER TABLE revisions ADD COLUMN seal bytea;
