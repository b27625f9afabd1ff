-- From version 10 to 11. See seal.Convert for the rest.
ALTER TABLE segments ADD COLUMN seal BLOB;
ALTER TABLE lanes ADD COLUMN seal BLOB;
