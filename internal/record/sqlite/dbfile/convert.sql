-- From version 9 to 10. The rows are sealed afterwards; see seal.FillMaps.
ALTER TABLE map_runs DROP COLUMN done;
ALTER TABLE map_runs DROP COLUMN failed;
ALTER TABLE map_runs DROP COLUMN attempts;
ALTER TABLE map_runs DROP COLUMN tokens_in;
ALTER TABLE map_runs DROP COLUMN tokens_out;
ALTER TABLE map_runs ADD COLUMN seal BLOB;
ALTER TABLE map_items ADD COLUMN seal BLOB;
UPDATE map_runs SET key = 'map:' || key;
CREATE INDEX map_items_progress ON map_items (run, status, attempts, tokens_in, tokens_out);
