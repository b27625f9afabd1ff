// Package kit is a folder of small tools that know nothing of the record.
// They import each other at most.
package kit
