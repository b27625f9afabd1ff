-- The schema of version 8. The tables and columns are those of the SQLite backend
-- (internal/record/sqlite/dbfile/schema.sql, which explains them): both run the statements of
-- internal/record/sqldb. References are not declared as foreign keys: a writer refers only to
-- rows that it has just read or written, and Verify checks them.

CREATE TABLE projects (
    id     bigserial PRIMARY KEY,
    origin text COLLATE "C" NOT NULL,
    root   text COLLATE "C" NOT NULL,
    UNIQUE (origin, root)
);

CREATE TABLE conversations (
    id            bigserial PRIMARY KEY,
    key           text COLLATE "C" NOT NULL,
    segment       integer NOT NULL,
    agent         text    NOT NULL,
    project       bigint  NOT NULL,
    title         text    NOT NULL,
    parent        bigint,
    forked_from   bigint,
    forked_at     bigint,
    inherited     bytea,
    created_at    bigint  NOT NULL,
    updated_at    bigint  NOT NULL,
    archived_at   bigint,
    archive_cause text,
    messages      bigint  NOT NULL DEFAULT 0,
    summaries     bigint  NOT NULL DEFAULT 0,
    tokens        bigint  NOT NULL DEFAULT 0,
    bytes         bigint  NOT NULL DEFAULT 0,
    head          bytea   NOT NULL,
    base          bigint  NOT NULL DEFAULT 0,
    view_items    bigint  NOT NULL DEFAULT 0,
    view_tokens   bigint  NOT NULL DEFAULT 0,
    last_user     bigint  NOT NULL DEFAULT 0,
    erased_at     bigint,
    erased        bigint  NOT NULL DEFAULT 0,
    seal          bytea,
    UNIQUE (key, segment)
) WITH (fillfactor = 50); -- every append updates its row, which should stay in its page
CREATE UNIQUE INDEX conversations_active ON conversations (key) WHERE archived_at IS NULL;
CREATE INDEX conversations_recent ON conversations (updated_at);
CREATE INDEX conversations_origin ON conversations (forked_from) WHERE forked_from IS NOT NULL;

CREATE TABLE messages (
    id           bigserial PRIMARY KEY,
    conversation bigint   NOT NULL,
    seq          bigint   NOT NULL,
    stored       bigint   NOT NULL,
    said         bigint,
    size         bigint   NOT NULL,
    tokens       integer  NOT NULL,
    flags        integer  NOT NULL,
    role         smallint NOT NULL,
    native       text COLLATE "C",
    format       text     NOT NULL,
    sha256       bytea    NOT NULL,
    chain        bytea    NOT NULL,
    record       bytea    NOT NULL,
    cuts         text,
    body         bytea,
    seal         bytea
);
CREATE UNIQUE INDEX messages_seq ON messages (conversation, seq);
CREATE UNIQUE INDEX messages_native ON messages (conversation, native) WHERE native IS NOT NULL;
CREATE INDEX messages_redacted ON messages (conversation) WHERE flags & 32 <> 0;
CREATE INDEX messages_bookkeeping ON messages (id) WHERE flags & 4 <> 0 OR (flags & 80 = 64 AND role = 3);

CREATE TABLE summaries (
    num            bigserial PRIMARY KEY,
    id             text COLLATE "C" NOT NULL UNIQUE,
    conversation   bigint  NOT NULL,
    kind           text    NOT NULL,
    depth          integer NOT NULL,
    pos            bigint  NOT NULL,
    body           text    NOT NULL,
    tokens         bigint  NOT NULL,
    source_tokens  bigint  NOT NULL,
    descendants    bigint  NOT NULL,
    messages       bigint  NOT NULL,
    message_tokens bigint  NOT NULL,
    earliest       bigint  NOT NULL,
    latest         bigint  NOT NULL,
    files          text,
    level          text    NOT NULL,
    method         text    NOT NULL,
    model          text    NOT NULL,
    tokens_in      bigint  NOT NULL,
    tokens_out     bigint  NOT NULL,
    created_at     bigint  NOT NULL,
    revision       integer NOT NULL DEFAULT 0,
    retired        boolean NOT NULL DEFAULT FALSE,
    seal           bytea,
    sources        bigint  NOT NULL DEFAULT 0,
    earlier        bigint  NOT NULL DEFAULT 0
);
CREATE INDEX summaries_conversation ON summaries (conversation, pos);
CREATE INDEX summaries_erased ON summaries (depth) WHERE method = 'erased';

CREATE TABLE edges (
    summary bigint NOT NULL,
    ord     bigint NOT NULL,
    message bigint,
    source  bigint,
    PRIMARY KEY (summary, ord),
    CHECK ((message IS NULL) <> (source IS NULL))
);
CREATE INDEX edges_message ON edges (message) WHERE message IS NOT NULL;
CREATE INDEX edges_source ON edges (source) WHERE source IS NOT NULL;

CREATE TABLE revisions (
    summary     bigint  NOT NULL,
    revision    integer NOT NULL,
    body        text    NOT NULL,
    tokens      bigint  NOT NULL,
    level       text    NOT NULL,
    method      text    NOT NULL,
    model       text    NOT NULL,
    tokens_in   bigint  NOT NULL,
    tokens_out  bigint  NOT NULL,
    replaced_at bigint  NOT NULL,
    seal        bytea,
    PRIMARY KEY (summary, revision)
);

CREATE TABLE view (
    conversation bigint   NOT NULL,
    pos          bigint   NOT NULL,
    message      bigint,
    summary      bigint,
    tokens       bigint   NOT NULL,
    depth        integer  NOT NULL,
    role         smallint NOT NULL,
    stub         boolean  NOT NULL DEFAULT FALSE,
    links        text,
    PRIMARY KEY (conversation, pos),
    CHECK ((message IS NULL) <> (summary IS NULL))
);

CREATE TABLE branches (
    id           bigserial PRIMARY KEY,
    conversation bigint NOT NULL,
    after        bigint,
    cause        text   NOT NULL,
    created_at   bigint NOT NULL,
    seal         bytea
);
CREATE INDEX branches_conversation ON branches (conversation);
CREATE TABLE branch_items (
    branch  bigint NOT NULL,
    pos     bigint NOT NULL,
    message bigint,
    summary bigint,
    PRIMARY KEY (branch, pos),
    CHECK ((message IS NULL) <> (summary IS NULL))
);
CREATE INDEX branch_items_message ON branch_items (message) WHERE message IS NOT NULL;
CREATE INDEX branch_items_summary ON branch_items (summary) WHERE summary IS NOT NULL;

CREATE TABLE payloads (
    num        bigserial PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    sha256     bytea  NOT NULL UNIQUE,
    size       bigint NOT NULL,
    mime       text   NOT NULL,
    name       text   NOT NULL,
    path       text   NOT NULL,
    kind       text   NOT NULL,
    summary    text   NOT NULL,
    tokens     bigint NOT NULL,
    created_at bigint NOT NULL,
    seal       bytea
);
CREATE TABLE chunks (
    payload    bigint  NOT NULL,
    n          bigint  NOT NULL,
    compressed boolean NOT NULL,
    data       bytea   NOT NULL,
    PRIMARY KEY (payload, n)
);
CREATE TABLE message_payloads (
    message bigint NOT NULL,
    payload bigint NOT NULL,
    PRIMARY KEY (message, payload)
);
CREATE INDEX message_payloads_payload ON message_payloads (payload);

CREATE TABLE state (
    space   text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    expires bigint,
    data    bytea  NOT NULL,
    seal    bytea,
    PRIMARY KEY (space, key)
);

CREATE TABLE segments (
    id         bigserial PRIMARY KEY,
    lane       integer NOT NULL,
    docs       bigint  NOT NULL,
    first_id   bigint  NOT NULL,
    last_id    bigint  NOT NULL,
    text_bytes bigint  NOT NULL,
    word_bytes bigint  NOT NULL,
    gram_bytes bigint  NOT NULL,
    doc_bytes  bigint  NOT NULL,
    seal       bytea
);
CREATE UNIQUE INDEX segments_lane ON segments (lane, last_id);
CREATE TABLE sections (
    segment bigint NOT NULL,
    n       bigint NOT NULL,
    data    bytea  NOT NULL,
    PRIMARY KEY (segment, n)
);
CREATE TABLE lanes (
    lane  integer PRIMARY KEY,
    epoch bigint NOT NULL,
    seal  bytea
);
INSERT INTO lanes (lane, epoch) VALUES (1, 0), (2, 0);

CREATE TABLE erasures (
    id         bigserial PRIMARY KEY,
    cause      text    NOT NULL,
    created_at bigint  NOT NULL,
    messages   bigint  NOT NULL,
    bytes      bigint  NOT NULL,
    finished   boolean NOT NULL DEFAULT FALSE
);
CREATE TABLE forgotten (
    key      text COLLATE "C" NOT NULL,
    erasure  bigint NOT NULL,
    messages bigint NOT NULL,
    through  bigint,
    PRIMARY KEY (key, erasure)
);
CREATE INDEX forgotten_erasure ON forgotten (erasure);
CREATE TABLE tombstones (
    hash    bytea  NOT NULL,
    erasure bigint NOT NULL,
    n       bigint NOT NULL,
    PRIMARY KEY (hash, erasure)
);
CREATE INDEX tombstones_erasure ON tombstones (erasure);
-- The first salt is that of this database; others came with tombstones.
CREATE TABLE tombstone_salt (rowid bigserial PRIMARY KEY, salt bytea NOT NULL);

CREATE TABLE vectors (
    model   text COLLATE "C" NOT NULL,
    text    bytea  NOT NULL,
    message bigint NOT NULL,
    vector  bytea  NOT NULL,
    PRIMARY KEY (model, text)
);
CREATE INDEX vectors_message ON vectors (message);
CREATE TABLE vector_blocks (
    model   text COLLATE "C" NOT NULL,
    block   bigint NOT NULL,
    through bigint NOT NULL,
    vectors bigint NOT NULL,
    data    bytea  NOT NULL,
    PRIMARY KEY (model, block)
);

CREATE TABLE seals (
    name    text COLLATE "C" PRIMARY KEY,
    entries bigint NOT NULL,
    digest  bigint NOT NULL
) WITH (fillfactor = 50);

-- These are compressed already.
ALTER TABLE chunks ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE sections ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE vector_blocks ALTER COLUMN data SET STORAGE EXTERNAL;

-- ANALYZE copies values of columns into pg_statistic, where an erasure does not reach them.
-- A hash is such a value too: it confirms a text that somebody guesses. No query plan
-- depends on the values of these columns.
ALTER TABLE projects ALTER COLUMN origin SET STATISTICS 0, ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE conversations ALTER COLUMN title SET STATISTICS 0;
ALTER TABLE messages ALTER COLUMN native SET STATISTICS 0, ALTER COLUMN sha256 SET STATISTICS 0, ALTER COLUMN record SET STATISTICS 0,
    ALTER COLUMN cuts SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE summaries ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN files SET STATISTICS 0, ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE revisions ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE view ALTER COLUMN links SET STATISTICS 0;
ALTER TABLE payloads ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN sha256 SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0,
    ALTER COLUMN path SET STATISTICS 0, ALTER COLUMN summary SET STATISTICS 0, ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE chunks ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE state ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE sections ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE vectors ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN vector SET STATISTICS 0;
ALTER TABLE vector_blocks ALTER COLUMN data SET STATISTICS 0;

CREATE TABLE map_runs (
    id           bigserial PRIMARY KEY,
    conversation bigint NOT NULL,
    key          text COLLATE "C" NOT NULL,
    job          bytea  NOT NULL,
    items        bigint NOT NULL,
    seal         bytea,
    UNIQUE (conversation, key)
);
CREATE TABLE map_items (
    run        bigint NOT NULL,
    n          bigint NOT NULL,
    status     bigint NOT NULL DEFAULT 0,
    attempts   bigint NOT NULL DEFAULT 0,
    owner      text COLLATE "C",
    lease      bigint,
    output     text COLLATE "C",
    error      text COLLATE "C",
    tokens_in  bigint NOT NULL DEFAULT 0,
    tokens_out bigint NOT NULL DEFAULT 0,
    seal       bytea,
    PRIMARY KEY (run, n)
);
CREATE INDEX map_items_open ON map_items (run, n, status, lease) WHERE status < 2;
CREATE INDEX map_items_progress ON map_items (run, status, attempts, tokens_in, tokens_out);
ALTER TABLE map_runs ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN job SET STATISTICS 0, ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE map_items ALTER COLUMN output SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0, ALTER COLUMN seal SET STATISTICS 0;

CREATE TABLE lcm_schema (version integer PRIMARY KEY);
INSERT INTO lcm_schema VALUES (8);
