-- From version 6 to 7. The rows are sealed afterwards; see seal.FillMaps.
ALTER TABLE map_runs DROP COLUMN done, DROP COLUMN failed, DROP COLUMN attempts, DROP COLUMN tokens_in, DROP COLUMN tokens_out, ADD COLUMN seal bytea;
ALTER TABLE map_items ADD COLUMN seal bytea;
CREATE INDEX map_items_progress ON map_items (run, status, attempts, tokens_in, tokens_out);
ALTER TABLE map_runs ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE map_items ALTER COLUMN seal SET STATISTICS 0;
UPDATE map_runs SET key = 'map:' || key;
INSERT INTO lcm_schema VALUES (7);
