// Package record is a folder: the packages below it keep every message as it
// arrived. They know nothing of views, recall or hosts.
//
//   - store: the types of the record and the contract of a backend
//   - sqldb, sqlite, postgres: the record in SQL tables, in a file, on a server
//   - ingest, redact, explore: what happens to a message before it is stored
//   - scope, project: what a caller may see
//   - portable: the archive format
//   - lease, spend: one process at a time; the use of models
package record
