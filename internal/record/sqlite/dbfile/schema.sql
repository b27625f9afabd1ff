-- The schema of version 11. The seals are explained in package seal. Times are milliseconds since 1970, UTC. A message row is written
-- once: what changes (the view, branches) has tables of its own. An erased message keeps its
-- row, its place and its link of the chain, with the flag 128 and nothing else.

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
    -- A conversation that was erased whole keeps its row, so that its number is not given again.
    erased_at     INTEGER,
    erased        INTEGER NOT NULL DEFAULT 0, -- how many of its messages were erased
    seal          BLOB,
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
    record       BLOB    NOT NULL, -- the original record, less what cuts names, see sqldb.Pack
    cuts         TEXT,             -- JSON: where payloads belong in the record
    body         BLOB,             -- where decoding record does not give it
    seal         BLOB
);
CREATE UNIQUE INDEX messages_seq ON messages (conversation, seq);
CREATE UNIQUE INDEX messages_native ON messages (conversation, native) WHERE native IS NOT NULL;
-- Messages from which secrets or private blocks were kept out, to be counted.
CREATE INDEX messages_redacted ON messages (conversation) WHERE flags & 32 <> 0;
-- Records that searches leave out unless they are asked for: those that a host wrote on
-- somebody's behalf (flag 4), and its own bookkeeping: hidden (64), of a known type (not 16),
-- with the role system. The condition is the one that bookkeeping.go queries by.
CREATE INDEX messages_bookkeeping ON messages (id) WHERE flags & 4 <> 0 OR (flags & 80 = 64 AND role = 3);

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
    retired        INTEGER NOT NULL DEFAULT 0,
    seal           BLOB,
    sources        INTEGER NOT NULL DEFAULT 0, -- the sum of the hashes of its edges
    earlier        INTEGER NOT NULL DEFAULT 0  -- how many rows of revisions it has
);
CREATE INDEX summaries_conversation ON summaries (conversation, pos);
-- Summaries whose text is to be written anew.
CREATE INDEX summaries_erased ON summaries (depth) WHERE method = 'erased';

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
    seal        BLOB,
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
    created_at   INTEGER NOT NULL,
    seal         BLOB
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
    created_at INTEGER NOT NULL,
    seal       BLOB
);
-- Content in chunks of equal size before compression, so that a range is read without the
-- rest. A chunk that did not shrink is stored as it is.
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
    seal    BLOB,
    PRIMARY KEY (space, key)
) WITHOUT ROWID;

-- What was erased on a user's order.
CREATE TABLE erasures (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    cause      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    messages   INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    finished   INTEGER NOT NULL DEFAULT 0 -- free pages and the log are clean
);
-- The sessions that something was erased from. What was said up to through is refused where
-- a whole conversation was erased.
CREATE TABLE forgotten (
    key      TEXT    NOT NULL,
    erasure  INTEGER NOT NULL REFERENCES erasures,
    messages INTEGER NOT NULL,
    through  INTEGER,
    PRIMARY KEY (key, erasure)
) WITHOUT ROWID;
CREATE INDEX forgotten_erasure ON forgotten (erasure);
-- Salted hashes of what single messages are known by; n is how often a record without id and
-- time was erased.
CREATE TABLE tombstones (
    hash    BLOB    NOT NULL,
    erasure INTEGER NOT NULL REFERENCES erasures,
    n       INTEGER NOT NULL,
    PRIMARY KEY (hash, erasure)
) WITHOUT ROWID;
CREATE INDEX tombstones_erasure ON tombstones (erasure);
-- The first salt is that of this database; others came with tombstones.
CREATE TABLE tombstone_salt (salt BLOB NOT NULL);
INSERT INTO tombstone_salt VALUES (randomblob(32));

-- A seal of a set of rows: how many there are, and the sum of their hashes.
CREATE TABLE seals (
    name    TEXT    PRIMARY KEY,
    entries INTEGER NOT NULL,
    digest  INTEGER NOT NULL
);

-- The search index: immutable segments over runs of messages (lane 1) and summaries (lane 2),
-- built behind the data. What lies past the last id of a lane's segments is not indexed yet
-- and is searched in memory. Segment ids are never used twice, because processes cache
-- sections by them.
CREATE TABLE segments (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    lane       INTEGER NOT NULL,
    docs       INTEGER NOT NULL,
    first_id   INTEGER NOT NULL,
    last_id    INTEGER NOT NULL,
    text_bytes INTEGER NOT NULL,
    word_bytes INTEGER NOT NULL,
    gram_bytes INTEGER NOT NULL,
    doc_bytes  INTEGER NOT NULL,
    seal       BLOB
);
CREATE UNIQUE INDEX segments_lane ON segments (lane, last_id);
CREATE TABLE sections (
    segment INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
    n       INTEGER NOT NULL,
    data    BLOB    NOT NULL,
    PRIMARY KEY (segment, n)
);
-- The epoch of a lane grows when documents that were indexed have changed, so that processes
-- drop what they hold of them in memory.
CREATE TABLE lanes (
    lane  INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    seal  BLOB
);
INSERT INTO lanes (lane, epoch) VALUES (1, 0), (2, 0);

-- Embedding vectors of messages, by model and by the SHA-256 of the text that was embedded. An
-- embedding server takes seconds for the texts that one search needs, and may charge for them.
-- message is the first message with the text: its vectors go when it is erased or masked.
CREATE TABLE vectors (
    model   TEXT    NOT NULL,
    text    BLOB    NOT NULL,
    message INTEGER NOT NULL REFERENCES messages,
    vector  BLOB    NOT NULL, -- one signed byte for each dimension
    PRIMARY KEY (model, text)
) WITHOUT ROWID;
CREATE INDEX vectors_message ON vectors (message);
-- The vectors of 1,024 message numbers in one row, for searches by meaning, which compare a
-- question with every vector. `lcm db embed` writes it from the vectors of table vectors. It is
-- removed when one of its messages is erased or masked, and then written again.
CREATE TABLE vector_blocks (
    model   TEXT    NOT NULL,
    block   INTEGER NOT NULL, -- message / 1024
    through INTEGER NOT NULL, -- the last message that was looked at
    vectors INTEGER NOT NULL, -- how many there are
    data    BLOB    NOT NULL, -- see package vectors
    PRIMARY KEY (model, block)
);

-- Unfinished maps over many items: see store.Maps. What a map has made is a message.
CREATE TABLE map_runs (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations,
    key          TEXT    NOT NULL,
    job          BLOB    NOT NULL, -- the SHA-256 of what is asked
    items        INTEGER NOT NULL,
    seal         BLOB,
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
    seal       BLOB,
    PRIMARY KEY (run, n)
) WITHOUT ROWID;
CREATE INDEX map_items_open ON map_items (run, n, status, lease) WHERE status < 2;
-- Progress is counted from this index.
CREATE INDEX map_items_progress ON map_items (run, status, attempts, tokens_in, tokens_out);
