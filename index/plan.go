package index

// SealDocs is how many documents a store lets gather before it seals them: few,
// so that sealing never holds a writer up for long and the tail stays small.
const SealDocs = 1024

// tiers say which segments are merged: so many neighbours of fewer documents
// than a size become one of the next tier, and those of the last are left alone.
// Measured: a document is written three times in all, and a million documents
// lie in about forty segments. Larger ones would be fewer, but what a merge and
// a search take would grow with the record for longer: with segments of 147,456
// documents a process that had been at work for an hour held 8 MB more.
var tiers = []struct{ below, members int }{
	{SealDocs * 6, 12},
	{SealDocs * 24, 3},
}

// maxMergedBytes is the most that a merged segment may hold. A merge has its
// outcome in memory: a gigabyte of transcripts with large records took 800 MB
// when only documents were counted.
const maxMergedBytes = 16 << 20

// fewest is how many segments are worth a merge where more would be too large.
const fewest = 4

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
		start, members, bytes := -1, 0, int64(0)
		for i, info := range infos {
			if start >= 0 && bytes+info.bytes() > maxMergedBytes {
				if members >= fewest {
					return start, i, true
				}
				start, members, bytes = -1, 0, 0
			}
			switch {
			case info.Docs >= tier.below:
				start, members, bytes = -1, 0, 0
			case info.Docs >= least:
				if members++; start < 0 {
					start = i
				}
			}
			if start >= 0 {
				bytes += info.bytes()
			}
			if members == tier.members {
				return start, i + 1, true
			}
		}
		least = tier.below
	}
	return 0, 0, false
}
