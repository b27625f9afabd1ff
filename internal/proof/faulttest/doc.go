// Package faulttest injects faults below the record and checks that nothing is lost.
//
// It tries four kinds of faults, each in a short form in every test run and in a long
// form (make torture):
//
//   - A process that works on the record (it stores, compacts, indexes, rewinds, forks,
//     erases) is killed at random points, hundreds of times.
//   - The disk fails under SQLite: faultyDisk is a VFS that writes half of the data, is
//     full, is read-only, or does not sync.
//   - The power fails: faultyDisk tracks written and synced data separately, and loses
//     any part of the unsynced data, by sectors. It keeps only the data that a
//     journalling file system guarantees after a power cut.
//   - Sixteen processes share one file.
//
// After each fault, expected.Check checks the same: SQLite's own integrity check
// passes, every conversation verifies, every acknowledged message is there byte for byte
// and only once, search finds it, and every message that was acknowledged as erased is
// gone.
//
// The content of a message is a function of its id (record), so only ids need to come
// from a killed process.
package faulttest
