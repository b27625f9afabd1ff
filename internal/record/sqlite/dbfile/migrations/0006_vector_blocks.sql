-- The embedding vectors of all messages, for searches by meaning. A search
-- compares its question with every vector, and reading one row of vectors for
-- each takes longer than to compare them: a row here has those of 1,024 message
-- numbers. `lcm embed` writes it from the vectors of table vectors. It is removed
-- when one of its messages is erased or masked, and then written again.
CREATE TABLE vector_blocks (
    model   TEXT    NOT NULL,
    block   INTEGER NOT NULL, -- message / 1024
    through INTEGER NOT NULL, -- the last message that was looked at
    vectors INTEGER NOT NULL, -- how many there are
    data    BLOB    NOT NULL, -- see package vectors
    PRIMARY KEY (model, block)
);
