package index

// SealDocs is how many documents a store lets gather before it seals them: few,
// so that sealing never holds a writer up for long and the tail stays small.
const SealDocs = 1024

// fanIn is how many segments of one size are merged into one of the next.
// Measured: with twelve, a document is written three times in all, and a million
// documents lie in about twenty segments.
const fanIn = 12

// maxMerged is the size, in documents, that merging stops short of, so that no
// single merge takes long.
const maxMerged = SealDocs * fanIn * fanIn

// maxMergedBytes is the most that a merged segment may hold. A merge has its
// parts and its outcome in memory: a gigabyte of transcripts with large records
// took 800 MB when only documents were counted.
const maxMergedBytes = 32 << 20

// fewest is how many segments are worth a merge where more would be too large.
const fewest = 4

// bytes is the size of a segment.
func (i Info) bytes() int64 { return i.WordBytes + i.GramBytes + i.DocBytes }

// PlanMerge chooses segments to merge: the first run of neighbours, in order of
// ids, with enough members of one size; smaller ones among them go along. A run
// that would be too large ends early. It returns the half-open range of their places, or false when none are due.
// Followed after each seal until it returns false, it keeps the number of
// segments logarithmic.
func PlanMerge(infos []Info) (from, to int, ok bool) {
	least := 0
	for size := SealDocs * fanIn / 2; size < maxMerged; least, size = size, size*fanIn {
		start, members, bytes := -1, 0, int64(0)
		for i, info := range infos {
			if start >= 0 && bytes+info.bytes() > maxMergedBytes {
				if members >= fewest {
					return start, i, true
				}
				start, members, bytes = -1, 0, 0
			}
			switch {
			case info.Docs >= size:
				start, members, bytes = -1, 0, 0
			case info.Docs >= least:
				if members++; start < 0 {
					start = i
				}
			}
			if start >= 0 {
				bytes += info.bytes()
			}
			if members == fanIn {
				return start, i + 1, true
			}
		}
	}
	return 0, 0, false
}
