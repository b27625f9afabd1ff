// Package index is the search engine under recall: ranked full text and exact
// regular expressions over the messages of a store, from one index.
//
// # What it is
//
// Documents are built into immutable segments. A segment is a list of small
// byte sections that a store keeps as rows and that a query fetches one by one,
// so that it reads a small part of the index. A segment has two lanes:
//
//   - words: a dictionary of folded, stemmed words, parts of identifiers, pairs
//     of runes for scripts without spaces, and emoji, with the passages (at most
//     128 words) in which each occurs. Passages are numbered by conversation, so
//     that a search inside one conversation skips the rest and knows how rare a
//     word is there;
//   - trigrams: the three-byte sequences of the case-folded text, with the blocks
//     (about two kilobytes of consecutive documents) in which each occurs. The
//     trigrams that a regular expression requires choose the blocks that are read.
//
// # What it promises
//
// [Index.Grep] returns exactly the documents that the expression matches, newest
// first, whatever the index holds: candidates are always verified against their
// text. A pattern that requires no trigram reads every text, and says so.
//
// [Index.Search] reads a question as alternatives and ranks: BM25 of the best
// passage, words that stand side by side as in the query, the messages before
// and after, and the session around them (see [Rank]). Its work is bounded: words
// too common to look up are scored only among the candidates of rarer ones, and
// when all are that common the newest matches are ranked; [Result] says so. How
// documents are divided into segments does not show in any answer.
//
// Damaged sections are reported as [ErrCorrupt], never followed.
//
// # What it leaves to others
//
// The package reads and writes no files and knows no database. A store keeps the
// sections and the list of segments, hands over texts by id, and remembers up to
// which id documents are in segments:
//
//	append    write the rows; nothing else has to happen in the transaction
//	seal      when SealDocs or more documents lie past the last segment, Build
//	          one of them and store its sections, in one transaction with the
//	          row that makes the segment known
//	merge     while PlanMerge names a run of segments, store what Merge returns
//	          and remove the run, in one transaction
//	search    open the stored segments once (Open), keep the documents past them
//	          in a Tail, and search Index{Segments: stored followed by the tail's}
//	forget    remove the text; answers no longer show it, since every answer is
//	          read from the record. Then build the segment again from what remains of its
//	          range of ids, to be rid of the words too
//
// One index holds one kind of document, with ids of its own: messages in one,
// summaries in another.
package index
