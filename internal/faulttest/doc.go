// Package faulttest breaks things under the record and proves that it holds.
//
// Four kinds of misfortune are tried, each in a short form that is part of
// every test run and in a long one (make torture):
//
//   - A process that works on the record (stores, folds, indexes, rewinds,
//     forks, forgets) is killed at random points, hundreds of times.
//   - The disk fails under SQLite: [Disk] is a file system layer that writes
//     half of what it should, is full, is read-only, or does not sync.
//   - The power goes: Disk keeps what was written apart from what was synced,
//     and loses any part of the rest, by sectors. What survives is what a
//     journalling file system owes after a power cut, and no more.
//   - Sixteen processes share one file.
//
// After each of them the same is asked, by [Ledger.Check]: SQLite's own
// integrity check passes, every conversation verifies, every message that was
// acknowledged is there byte for byte, none is there twice, search finds it,
// and what was acknowledged as forgotten is gone.
//
// What a message says is a function of its id ([Record]), so whoever knows the
// ids knows the bytes; nothing but ids crosses from a process that is killed.
package faulttest
