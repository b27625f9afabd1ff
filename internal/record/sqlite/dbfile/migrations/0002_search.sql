-- The search index: immutable segments over runs of messages (lane 1) and
-- summaries (lane 2), built behind the data. What lies past the last id of a
-- lane's segments is not indexed yet and is searched in memory. Segment ids
-- are never used twice, because processes cache sections by them.

CREATE TABLE segments (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    lane       INTEGER NOT NULL,
    docs       INTEGER NOT NULL,
    first_id   INTEGER NOT NULL,
    last_id    INTEGER NOT NULL,
    text_bytes INTEGER NOT NULL,
    word_bytes INTEGER NOT NULL,
    gram_bytes INTEGER NOT NULL,
    doc_bytes  INTEGER NOT NULL
);
CREATE UNIQUE INDEX segments_lane ON segments (lane, last_id);

CREATE TABLE sections (
    segment INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
    n       INTEGER NOT NULL,
    data    BLOB    NOT NULL,
    PRIMARY KEY (segment, n)
);

-- The epoch of a lane grows when documents that were indexed have changed, so
-- that processes drop what they hold of them in memory.
CREATE TABLE lanes (
    lane  INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL
);
INSERT INTO lanes VALUES (1, 0), (2, 0);
