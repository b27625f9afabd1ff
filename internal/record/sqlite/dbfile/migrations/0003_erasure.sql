-- What was erased on a user's order. An erased message keeps its row, its
-- place and its link of the chain, with the flag 128 and nothing else. A
-- conversation that was erased whole keeps its row, so that its number is not
-- given again.

ALTER TABLE conversations ADD COLUMN erased_at INTEGER;
-- How many of its messages were erased.
ALTER TABLE conversations ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;

CREATE TABLE erasures (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    cause      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    messages   INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    finished   INTEGER NOT NULL DEFAULT 0 -- free pages and the log are clean
);
-- The sessions that something was erased from. What was said up to through is
-- refused where a whole conversation was erased.
CREATE TABLE forgotten (
    key      TEXT    NOT NULL,
    erasure  INTEGER NOT NULL REFERENCES erasures,
    messages INTEGER NOT NULL,
    through  INTEGER,
    PRIMARY KEY (key, erasure)
) WITHOUT ROWID;
CREATE INDEX forgotten_erasure ON forgotten (erasure);
-- Salted hashes of what single messages are known by; n is how often a record
-- without id and time was erased.
CREATE TABLE tombstones (
    hash    BLOB    NOT NULL,
    erasure INTEGER NOT NULL REFERENCES erasures,
    n       INTEGER NOT NULL,
    PRIMARY KEY (hash, erasure)
) WITHOUT ROWID;
CREATE INDEX tombstones_erasure ON tombstones (erasure);
CREATE TABLE tombstone_salt (salt BLOB NOT NULL);
INSERT INTO tombstone_salt VALUES (randomblob(32));

-- Messages from which secrets or private blocks were kept out, to be counted.
CREATE INDEX messages_redacted ON messages (conversation) WHERE flags & 32 <> 0;
-- Summaries whose text is to be written anew.
CREATE INDEX summaries_erased ON summaries (depth) WHERE method = 'erased';
