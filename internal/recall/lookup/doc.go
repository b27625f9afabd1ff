// Package lookup reads the record: [Service.Grep] searches messages and summaries,
// [Service.Describe] shows one message, summary or file, and [Service.Expand] opens
// summaries down to their messages.
//
// The tools, the command line and the MCP server all use this package, so a
// question has the same answer everywhere. Requests and answers have the field
// names that agents read in JSON; parentIds are the sources of a summary and
// childIds the summaries made from it.
//
// # Guarantees
//
// A pattern is matched against every message of any age: text, tool arguments,
// tool output, reasoning, payloads. An incomplete answer (a page, a count that
// stopped, a deadline) says so and how to get the rest. A cursor continues exactly where the page before it ended, and
// is refused for any other question. No message is cut without saying so: a
// full walk of Expand's cursors returns every byte of every message, once.
//
// # Scope
//
// An explicit conversation wins over all conversations, which wins over the
// default: the conversations of a project where the caller names one, else the
// current conversation and its family (the other segments of its session and
// the sessions it was forked from). Every answer names its scope. If the caller
// allows it, a search with few matches in its scope continues in all
// conversations and says so; otherwise it counts the matches of a wider search.
// The prompt of the current turn, lcm's own output and the bookkeeping of
// hosts are found only with [GrepRequest.Everything].
//
// # Sources
//
// A ranking puts what only repeats the record behind its source: calls of lcm and the
// replies that rest on them, and questions that were answered without a tool where an
// older conversation has their words (package secondhand). A pattern of plain words without
// a mode and an order has its best matches first and then all others; of many, those are best
// that say most beside the words.
//
// # Other packages
//
// Package store keeps the record and searches it; package search reads patterns
// and queries. Access control is left to the caller: package delegation narrows a
// request to a grant.
package lookup
