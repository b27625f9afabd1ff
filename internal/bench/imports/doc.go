// Package imports measures how agents' transcripts come in: it writes
// transcripts in the hosts' formats, as large as one likes, imports them into a
// fresh database, and imports them again.
//
// The transcripts consist of the bundled session's sentences, with the
// bookkeeping and the repetitions that the real programs write beside them. The
// same records are also stored from memory, to show the cost of reading them.
package imports
