// Package recall is the way back into the record: it finds what was said
// ([Service.Grep]), shows one thing whole ([Service.Describe]) and climbs from
// a summary down to the messages it was made from ([Service.Expand]).
//
// Every face of the product (tools, command line, MCP) enters here, so that a
// question has one answer wherever it is asked. Requests and answers carry the
// names that agents read in JSON; parentIds are what a summary was made from
// and childIds what was made from it.
//
// # What it promises
//
// A pattern is matched against everything that was ever said, at any age: text,
// tool arguments, tool output, reasoning, payloads. Where an answer is not the
// whole answer (a page, a count that stopped, a deadline) it says so and how to
// see the rest. A cursor continues exactly where the page before it ended, and
// is refused for any other question. No message is cut without saying so: a
// full walk of Expand's cursors returns every byte of every message, once.
//
// # Scope
//
// An explicit conversation wins over all conversations, which wins over the
// default: the conversations of a project where the caller names one, else the
// current conversation and its family (the other segments of its session and
// what it was forked from). Every answer names the scope it looked at. Where
// the caller allows it, a search whose scope has little goes on to all
// conversations and says so; otherwise it says what a wider one would find.
// The prompt of the current turn, lcm's own output and the bookkeeping of
// hosts are found only when everything is asked for.
//
// # What is left to others
//
// Package store keeps and searches; package index reads patterns and queries.
// Who may ask for what is decided by whoever fills in the request: package
// delegation narrows it to a grant.
package recall
