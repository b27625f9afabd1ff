-- From version 7 to 8. See seal.Convert for the rest.
ALTER TABLE segments ADD COLUMN seal bytea;
ALTER TABLE lanes ADD COLUMN seal bytea;
ALTER TABLE segments ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE lanes ALTER COLUMN seal SET STATISTICS 0;
INSERT INTO lcm_schema VALUES (8);
