-- The record: conversations, messages, the summary DAG, the view, payloads.
-- Times are milliseconds since 1970, UTC. Nothing here is ever updated in a
-- message row: what changes (the view, branches) has tables of its own.

CREATE TABLE projects (
    id     INTEGER PRIMARY KEY,
    origin TEXT NOT NULL,
    root   TEXT NOT NULL,
    UNIQUE (origin, root)
);

CREATE TABLE conversations (
    id            INTEGER PRIMARY KEY,
    key           TEXT    NOT NULL,
    segment       INTEGER NOT NULL,
    agent         TEXT    NOT NULL,
    project       INTEGER NOT NULL REFERENCES projects,
    title         TEXT    NOT NULL,
    parent        INTEGER REFERENCES conversations,
    forked_from   INTEGER REFERENCES conversations,
    forked_at     INTEGER REFERENCES messages,
    -- inherited is the digest of the messages that a fork's view started with.
    inherited     BLOB,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    archived_at   INTEGER,
    archive_cause TEXT,
    messages      INTEGER NOT NULL DEFAULT 0,
    summaries     INTEGER NOT NULL DEFAULT 0,
    tokens        INTEGER NOT NULL DEFAULT 0,
    bytes         INTEGER NOT NULL DEFAULT 0,
    head          BLOB    NOT NULL,
    -- A message's position in the view is base + its seq, for good.
    base          INTEGER NOT NULL DEFAULT 0,
    view_items    INTEGER NOT NULL DEFAULT 0,
    view_tokens   INTEGER NOT NULL DEFAULT 0,
    last_user     INTEGER NOT NULL DEFAULT 0,
    UNIQUE (key, segment)
);
CREATE UNIQUE INDEX conversations_active ON conversations (key) WHERE archived_at IS NULL;
CREATE INDEX conversations_recent ON conversations (updated_at);

CREATE TABLE messages (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations,
    seq          INTEGER NOT NULL,
    role         INTEGER NOT NULL,
    flags        INTEGER NOT NULL,
    stored       INTEGER NOT NULL,
    said         INTEGER,          -- null where nobody knows
    tokens       INTEGER NOT NULL,
    native       TEXT,
    format       TEXT    NOT NULL,
    size         INTEGER NOT NULL, -- bytes of the original record
    sha256       BLOB    NOT NULL, -- of the original record, taken on arrival
    chain        BLOB    NOT NULL,
    record       BLOB    NOT NULL, -- the original record, less what cuts names
    cuts         TEXT,             -- JSON: where payloads belong in the record
    body         BLOB              -- where decoding record does not give it
);
CREATE UNIQUE INDEX messages_seq ON messages (conversation, seq);
CREATE UNIQUE INDEX messages_native ON messages (conversation, native) WHERE native IS NOT NULL;

CREATE TABLE summaries (
    num            INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    conversation   INTEGER NOT NULL REFERENCES conversations,
    kind           TEXT    NOT NULL,
    depth          INTEGER NOT NULL,
    pos            INTEGER NOT NULL,
    body           TEXT    NOT NULL,
    tokens         INTEGER NOT NULL,
    source_tokens  INTEGER NOT NULL,
    descendants    INTEGER NOT NULL,
    messages       INTEGER NOT NULL,
    message_tokens INTEGER NOT NULL,
    earliest       INTEGER NOT NULL,
    latest         INTEGER NOT NULL,
    files          TEXT,
    level          TEXT    NOT NULL,
    method         TEXT    NOT NULL,
    model          TEXT    NOT NULL,
    tokens_in      INTEGER NOT NULL,
    tokens_out     INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    revision       INTEGER NOT NULL DEFAULT 0,
    retired        INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX summaries_conversation ON summaries (conversation, pos);

-- A source of a summary: a message or another summary, never both.
CREATE TABLE edges (
    summary INTEGER NOT NULL REFERENCES summaries,
    ord     INTEGER NOT NULL, -- the position that the source had in the view
    message INTEGER REFERENCES messages,
    source  INTEGER REFERENCES summaries,
    PRIMARY KEY (summary, ord),
    CHECK ((message IS NULL) <> (source IS NULL))
) WITHOUT ROWID;
CREATE INDEX edges_message ON edges (message) WHERE message IS NOT NULL;
CREATE INDEX edges_source ON edges (source) WHERE source IS NOT NULL;

CREATE TABLE revisions (
    summary     INTEGER NOT NULL REFERENCES summaries,
    revision    INTEGER NOT NULL,
    body        TEXT    NOT NULL,
    tokens      INTEGER NOT NULL,
    level       TEXT    NOT NULL,
    method      TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    tokens_in   INTEGER NOT NULL,
    tokens_out  INTEGER NOT NULL,
    replaced_at INTEGER NOT NULL,
    PRIMARY KEY (summary, revision)
) WITHOUT ROWID;

CREATE TABLE view (
    conversation INTEGER NOT NULL REFERENCES conversations,
    pos          INTEGER NOT NULL,
    message      INTEGER REFERENCES messages,
    summary      INTEGER REFERENCES summaries,
    tokens       INTEGER NOT NULL,
    role         INTEGER NOT NULL,
    depth        INTEGER NOT NULL,
    stub         INTEGER NOT NULL DEFAULT 0,
    links        TEXT, -- JSON: ids of the tool calls made and answered
    PRIMARY KEY (conversation, pos),
    CHECK ((message IS NULL) <> (summary IS NULL))
) WITHOUT ROWID;

-- What a rewind took out of the view.
CREATE TABLE branches (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations,
    after        INTEGER REFERENCES messages,
    cause        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL
);
CREATE INDEX branches_conversation ON branches (conversation);
CREATE TABLE branch_items (
    branch  INTEGER NOT NULL REFERENCES branches,
    pos     INTEGER NOT NULL,
    message INTEGER REFERENCES messages,
    summary INTEGER REFERENCES summaries,
    PRIMARY KEY (branch, pos),
    CHECK ((message IS NULL) <> (summary IS NULL))
) WITHOUT ROWID;
CREATE INDEX branch_items_message ON branch_items (message) WHERE message IS NOT NULL;
CREATE INDEX branch_items_summary ON branch_items (summary) WHERE summary IS NOT NULL;

CREATE TABLE payloads (
    num        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    sha256     BLOB    NOT NULL UNIQUE,
    size       INTEGER NOT NULL,
    mime       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    summary    TEXT    NOT NULL,
    tokens     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);
-- Content in chunks of equal size before compression, so that a range is read
-- without the rest. A chunk that did not shrink is stored as it is.
CREATE TABLE chunks (
    payload    INTEGER NOT NULL REFERENCES payloads,
    n          INTEGER NOT NULL,
    compressed INTEGER NOT NULL,
    data       BLOB    NOT NULL,
    PRIMARY KEY (payload, n)
);
CREATE TABLE message_payloads (
    message INTEGER NOT NULL REFERENCES messages,
    payload INTEGER NOT NULL REFERENCES payloads,
    PRIMARY KEY (message, payload)
) WITHOUT ROWID;
CREATE INDEX message_payloads_payload ON message_payloads (payload);

CREATE TABLE state (
    space   TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    version INTEGER NOT NULL,
    expires INTEGER, -- null: never
    data    BLOB    NOT NULL,
    PRIMARY KEY (space, key)
) WITHOUT ROWID;
