package doctor_test

// schemas are changes that somebody else may make to the schema of a database.
var schemas = []kind{
	{"a trigger of somebody", with("CREATE TRIGGER spy AFTER INSERT ON messages BEGIN SELECT 1; END"), is("schema-code"), nil},
	{"a trigger with the name of a table", with("CREATE TRIGGER messages AFTER INSERT ON messages BEGIN SELECT 1; END"), is("schema-code"), nil},
	{"a view of somebody", with("CREATE VIEW spy AS SELECT * FROM messages"), is("schema-code"), nil},
	{"a view in the place of a table", with("ALTER TABLE state RENAME TO s; CREATE VIEW state AS SELECT * FROM s"), is("schema-code", "schema", "schema-foreign"), nil},
	{"a virtual table of somebody", with("PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES ('table', 'spy', 'spy', 0, 'CREATE VIRTUAL TABLE spy USING spy(x)')"),
		is("schema-code"), nil},
	{"a table of somebody", with("CREATE TABLE spy (x)"), is("schema-foreign"), is("schema-foreign")},
	{"an index of somebody", with("CREATE INDEX spy ON messages (abs(id))"), is("schema-foreign"), is("schema-foreign")},
	{"a constraint of somebody", with("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'segment       INTEGER', 'segment INTEGER CHECK (abs(segment) >= 0)') WHERE name = 'conversations'"),
		is("schema"), nil},
}
