-- Embedding vectors of messages, by model and by the SHA-256 of the text that
-- was embedded. An embedding server takes seconds for the texts that one search
-- needs, and may charge for them. message is the first message with the text: its
-- vectors are removed when it is erased or masked.
CREATE TABLE vectors (
    model   TEXT    NOT NULL,
    text    BLOB    NOT NULL,
    message INTEGER NOT NULL REFERENCES messages,
    vector  BLOB    NOT NULL, -- one signed byte for each dimension
    PRIMARY KEY (model, text)
) WITHOUT ROWID;
CREATE INDEX vectors_message ON vectors (message);
