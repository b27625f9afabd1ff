// Package engine answers hosts that let a plugin own their context: `lcm engine`. docs/ENGINE.md
// has the protocol.
//
// An adapter in the host starts one process and speaks JSON lines with it: each line that it
// writes is a request with an id, and each line that it reads is the answer to one, in any order.
// The process ends with its input.
//
// It is the same engine as everywhere. Messages come from the host's transcript where lcm reads
// it, and from the adapter elsewhere. Which messages give way to which summaries is decided as
// for a request through `lcm run` (package proxy): the summaries that are shown stay the same,
// byte for byte, until the messages would be above the budget.
//
// # Promises
//
//   - A line that cannot be read, an unknown verb and a failure of the record are answered with an
//     error, and the next request is answered as if nothing had happened.
//   - assemble does not wait for the database: where the record is behind or locked, the
//     answer keeps all messages or shows the last summaries.
//   - What ingest has acknowledged is in the record. Messages have the host's ids, so that
//     repeating it, also after a kill, stores nothing twice; nor does the host's own row, when it
//     comes later.
//   - Messages of one session are stored in the order in which they came. Otherwise no request
//     waits for another.
//
// A database that cannot be opened is opened again with a later request.
package engine
