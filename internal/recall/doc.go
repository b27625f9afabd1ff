// Package recall is a folder: the packages below it find stored messages again. lookup
// answers the requests of the public package recall, delegation answers questions with a
// sub-agent, secondhand tells which messages only repeat others. They import the record,
// internal/search and kit.
package recall
