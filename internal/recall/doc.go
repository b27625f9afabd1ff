// Package recall is a folder: the packages below it find stored messages again.
//
//   - lookup: answers the requests of the public package recall
//   - delegation: answers a question with a sub-agent, or with evidence
//   - brief, reminder: what a session is told when it starts, and with a prompt
//   - why: the prompt and the call behind a line of a file
//   - support, gonefiles, secondhand: what of an answer was never read, which quoted
//     files are gone, which messages only repeat others
//
// They import the record, internal/search, internal/view and kit.
package recall
