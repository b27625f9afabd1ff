// Package recall has the requests and answers of searches in the record. Package lcm
// answers them: lcm.Session and lcm.Engine have the methods Grep, Describe, Expand and
// Ask.
//
//   - [GrepRequest] finds messages and summaries by a regular expression or by words; the
//     answer is a [GrepAnswer] with a page of [Match]es.
//   - [DescribeRequest] shows one message, summary or file; the answer is a
//     [DescribeAnswer].
//   - [ExpandRequest] opens summaries down to their messages; the answer is an
//     [ExpandAnswer] with a page of [Piece]s, byte for byte.
//   - [Question] asks a question about the record; the [Answer] cites messages.
//
// Each request embeds a [Where], which says in which conversations to look, and each
// answer has a [Scope], which says where it looked. In a session both may be left empty:
// it looks in its own conversations.
//
// An incomplete answer (a page, a count that stopped, a deadline) says so. NextCursor of
// an answer, as Cursor of the same request, leads to the next page. The method Text of an
// answer returns it for people and models to read.
package recall
