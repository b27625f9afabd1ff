// Package view is a folder: the packages below it make the bounded view of a
// conversation. compact decides what is folded, summary writes the summaries,
// assemble makes the messages of a request. They import the record and kit.
package view
