-- ANALYZE copies values of columns into pg_statistic, where an erasure does not reach them.
-- A hash is such a value too: it confirms a text that somebody guesses. No query plan
-- depends on the values of these columns. Setting the type that a column has removes its
-- statistics and does not rewrite the table; the index messages_native is built again.
ALTER TABLE projects ALTER COLUMN origin TYPE text COLLATE "C", ALTER COLUMN root TYPE text COLLATE "C";
ALTER TABLE projects ALTER COLUMN origin SET STATISTICS 0, ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE conversations ALTER COLUMN title TYPE text;
ALTER TABLE conversations ALTER COLUMN title SET STATISTICS 0;
ALTER TABLE messages ALTER COLUMN native TYPE text COLLATE "C", ALTER COLUMN sha256 TYPE bytea, ALTER COLUMN record TYPE bytea,
    ALTER COLUMN cuts TYPE text, ALTER COLUMN body TYPE bytea;
ALTER TABLE messages ALTER COLUMN native SET STATISTICS 0, ALTER COLUMN sha256 SET STATISTICS 0, ALTER COLUMN record SET STATISTICS 0,
    ALTER COLUMN cuts SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE summaries ALTER COLUMN body TYPE text, ALTER COLUMN files TYPE text;
ALTER TABLE summaries ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN files SET STATISTICS 0;
ALTER TABLE revisions ALTER COLUMN body TYPE text;
ALTER TABLE revisions ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE view ALTER COLUMN links TYPE text;
ALTER TABLE view ALTER COLUMN links SET STATISTICS 0;
ALTER TABLE payloads ALTER COLUMN id TYPE text COLLATE "C", ALTER COLUMN sha256 TYPE bytea, ALTER COLUMN name TYPE text, ALTER COLUMN path TYPE text,
    ALTER COLUMN summary TYPE text;
ALTER TABLE payloads ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN sha256 SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0,
    ALTER COLUMN path SET STATISTICS 0, ALTER COLUMN summary SET STATISTICS 0;
ALTER TABLE chunks ALTER COLUMN data TYPE bytea;
ALTER TABLE chunks ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE state ALTER COLUMN data TYPE bytea;
ALTER TABLE state ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE sections ALTER COLUMN data TYPE bytea;
ALTER TABLE sections ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE vectors ALTER COLUMN text TYPE bytea, ALTER COLUMN vector TYPE bytea;
ALTER TABLE vectors ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN vector SET STATISTICS 0;
ALTER TABLE vector_blocks ALTER COLUMN data TYPE bytea;
ALTER TABLE vector_blocks ALTER COLUMN data SET STATISTICS 0;
-- Setting a type has set the default storage.
ALTER TABLE chunks ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE sections ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE vector_blocks ALTER COLUMN data SET STORAGE EXTERNAL;
