// Package segment writes and reads the index on disk.
//
// Documents are built into immutable segments. A segment is a list of small
// byte sections that a store keeps as rows and that a query fetches one by one,
// so that it reads a small part of the index. A segment has two indexes:
//
//   - words: a dictionary of the terms of package analysis, with the passages
//     (at most 128 words) in which each occurs. Passages are numbered by
//     conversation, so that a search inside one conversation skips the rest and
//     knows how rare a word is there. Each occurrence has its position and its
//     form, as it was written, so that phrases need no texts;
//   - trigrams: the three-byte sequences of the case-folded text, with the
//     blocks (about two kilobytes of consecutive documents) in which each
//     occurs. The trigrams that a regular expression requires choose the blocks
//     that are read.
//
// [Build] makes a segment, [Open] reads one through [Blobs], [PlanMerge] says which
// are to be built again as one, and a [Tail] holds the newest documents in
// memory. Sections have checksums: damage is reported as [ErrCorrupt].
//
// The package reads and writes no files and knows nothing of ranking.
package segment
