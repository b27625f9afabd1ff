// Package record is a folder: the packages below it keep every message as it
// arrived. They know nothing of views, recall or hosts.
//
//   - store: the types of the record and the contract of a backend
//   - sqldb, sqlite, postgres: the record in SQL tables, in a file, on a server
//   - ingest, explore: what happens to a message before it is stored
//   - proof: the hash of each row, and the walk that proves a record
//   - scope, project: what a caller may see
//   - move, archive: a record goes into another database; the archive format
//   - lease, spend, mapjob: one process at a time; the use of models; maps
package record
