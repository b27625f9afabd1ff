-- From version 5 to 6.
CREATE TABLE map_runs (
    id           bigserial PRIMARY KEY,
    conversation bigint NOT NULL,
    key          text COLLATE "C" NOT NULL,
    job          bytea  NOT NULL,
    items        bigint NOT NULL,
    done         bigint NOT NULL DEFAULT 0,
    failed       bigint NOT NULL DEFAULT 0,
    attempts     bigint NOT NULL DEFAULT 0,
    tokens_in    bigint NOT NULL DEFAULT 0,
    tokens_out   bigint NOT NULL DEFAULT 0,
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
    PRIMARY KEY (run, n)
);
CREATE INDEX map_items_open ON map_items (run, n, status, lease) WHERE status < 2;
ALTER TABLE map_runs ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN job SET STATISTICS 0;
ALTER TABLE map_items ALTER COLUMN output SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0;
INSERT INTO lcm_schema VALUES (6);
