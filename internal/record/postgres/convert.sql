-- From version 4 to 5. The rows are sealed afterwards, in the same transaction.
ALTER TABLE messages ADD COLUMN seal bytea;
ALTER TABLE messages ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE summaries ADD COLUMN sources bigint NOT NULL DEFAULT 0, ADD COLUMN earlier bigint NOT NULL DEFAULT 0;
ALTER TABLE summaries ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE branches ADD COLUMN seal bytea;
ALTER TABLE payloads ADD COLUMN seal bytea;
ALTER TABLE payloads ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE state ADD COLUMN seal bytea;
INSERT INTO lcm_schema VALUES (5);
