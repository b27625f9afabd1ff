package segment

// SealDocs is how many documents a store lets gather before it seals them: few,
// so that sealing never holds a writer up for long and the tail stays small.
const SealDocs = 1024

// tiers say which segments are merged: so many neighbours of fewer documents
// than a size become one of the next tier, and those of the last are left alone.
// Of messages that are sealed as they come, a document is written three times
// in all, and a million lie in about forty segments, as the tests reckon it.
var tiers = []struct{ below, members int }{
	{SealDocs * 6, 12},
	{SealDocs * 24, 3},
}

// maxMerged and maxMergedBytes are the most that a merged segment may hold. A
// merge has its outcome in memory, and a search needs room by the largest
// segment: with 147,456 documents in one, a process that had been at work for an
// hour held 8 MB more, and a gigabyte of transcripts with large records
// took 800 MB when only documents were counted.
const (
	maxMerged      = 36 * SealDocs
	maxMergedBytes = 16 << 20
)

// fewest is how many segments are worth a merge where more would be too large.
const fewest = 2

// bytes is the size of a segment.
func (i Info) bytes() int64 { return i.WordBytes + i.GramBytes + i.DocBytes }

// PlanMerge chooses segments to merge: the first run of neighbours, in order of
// ids, with enough members of one tier; smaller ones among them go along. A run
// that would be too large ends early. It returns the half-open range of their places, or false when none are due.
// Followed after each seal until it returns false, it keeps the number of
// segments small.
func PlanMerge(infos []Info) (from, to int, ok bool) {
	least := 0
	for _, tier := range tiers {
		run := mergeRun{start: -1}
		for i, info := range infos {
			if run.start >= 0 && run.isFull(info) {
				if run.members >= fewest {
					return run.start, i, true
				}
				run = mergeRun{start: -1}
			}
			switch {
			case info.Docs >= tier.below:
				run = mergeRun{start: -1}
			case info.Docs >= least:
				if run.members++; run.start < 0 {
					run.start = i
				}
			}
			if run.start >= 0 {
				run.docs += info.Docs
				run.bytes += info.bytes()
			}
			if run.members == tier.members {
				return run.start, i + 1, true
			}
		}
		least = tier.below
	}
	return 0, 0, false
}

// mergeRun is a run of neighbours that may be merged.
type mergeRun struct {
	start, members int
	docs           int
	bytes          int64
}

// isFull reports whether one more segment would be too much.
func (r mergeRun) isFull(next Info) bool {
	return r.docs+next.Docs > maxMerged || r.bytes+next.bytes() > maxMergedBytes
}
