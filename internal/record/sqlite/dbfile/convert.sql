-- From version 8 to 9.
-- Unfinished maps over many items: see store.Maps. They are not part of the record: what a map
-- has made is a message.
CREATE TABLE map_runs (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations,
    key          TEXT    NOT NULL,
    job          BLOB    NOT NULL, -- the SHA-256 of what is asked
    items        INTEGER NOT NULL,
    done         INTEGER NOT NULL DEFAULT 0,
    failed       INTEGER NOT NULL DEFAULT 0,
    attempts     INTEGER NOT NULL DEFAULT 0,
    tokens_in    INTEGER NOT NULL DEFAULT 0,
    tokens_out   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (conversation, key)
);
CREATE TABLE map_items (
    run        INTEGER NOT NULL REFERENCES map_runs,
    n          INTEGER NOT NULL,
    status     INTEGER NOT NULL DEFAULT 0, -- 0 waits, 1 runs, 2 is done, 3 has failed
    attempts   INTEGER NOT NULL DEFAULT 0,
    owner      TEXT,
    lease      INTEGER, -- until when it runs
    output     TEXT,
    error      TEXT,
    tokens_in  INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, n)
) WITHOUT ROWID;
CREATE INDEX map_items_open ON map_items (run, n, status, lease) WHERE status < 2;
