// Package search finds documents: ranked full text and exact regular
// expressions over the messages of a store, from one index.
//
// It has two packages below it. Package analysis cuts text into terms and
// trigrams. Package segment writes and reads the index. This package
// parses queries and patterns, and ranks.
//
// # Promises
//
// [Index.Grep] returns exactly the documents that the expression matches,
// newest first: every candidate is verified against its text. A pattern that
// requires no trigram reads every text. A search that
// wants no more matches stops reading.
//
// [Index.Search] reads a question as alternatives and ranks the documents by
// BM25 of the best passage, by words that stand side by side as in the query, by
// the messages before and after, and by the turn and the session around them (see [Rank]).
// Its work is bounded: of the candidates that are ranked only the best are scored
// against their texts, and the others keep the score of their postings; words too
// common to look up are scored only among the candidates of rarer ones, and when
// all are that common the newest matches are ranked; [Result] says so. A phrase is
// found and counted by the positions of its words. The division of documents into segments does not
// change an answer.
//
// Damaged sections are reported as [segment.ErrCorrupt].
//
// # Left to others
//
// The package reads and writes no files and knows no database. A store keeps
// the sections and the list of segments, hands over texts by id, and remembers
// the last id that is in a segment:
//
//	append    write the rows; nothing else has to happen in the transaction
//	seal      when segment.SealDocs or more documents lie past the last segment,
//	          Build one of them and store its sections, in one transaction with
//	          the row that makes the segment known
//	merge     while PlanMerge names a run of segments, Build one of all their
//	          documents and put it in their place, in one transaction
//	search    open the stored segments once (Open), keep the documents past them
//	          in a Tail, and search Index{Segments: stored followed by the tail's}
//	forget    remove the text; answers no longer show it, since every answer is
//	          read from the record. Then build the segment again from the
//	          documents that remain in its range of ids, to remove the words too
//
// One index holds one kind of document, with ids of its own: messages in one,
// summaries in another.
package search
