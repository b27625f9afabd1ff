-- The embedding vectors of all messages, 1,024 message numbers in a row; see the
-- migration of the same name in internal/sqlite.
CREATE TABLE vector_blocks (
    model   text COLLATE "C" NOT NULL,
    block   bigint NOT NULL,
    through bigint NOT NULL,
    vectors bigint NOT NULL,
    data    bytea  NOT NULL,
    PRIMARY KEY (model, block)
);
ALTER TABLE vector_blocks ALTER COLUMN data SET STORAGE EXTERNAL;
