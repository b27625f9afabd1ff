package segment

// SealDocs is how many documents a store lets gather before it seals them: few,
// so that sealing never holds a writer up for long and the tail stays small.
const SealDocs = 1024

// Segments of fewer than small documents are joined, so many neighbours at a
// time. Of messages that are sealed as they come, a document is written twice in
// all, and a million lie in about ninety segments.
const (
	small   = 6 * SealDocs
	members = 12
)

// maxMerged and maxMergedBytes are the most that a joined segment may hold:
// building it takes several times its size in memory. A gigabyte of transcripts
// with large records took 800 MB when only documents were counted.
const (
	maxMerged      = members * SealDocs
	maxMergedBytes = 8 << 20
)

// bytes is the size of a segment.
func (i Info) bytes() int64 { return i.WordBytes + i.GramBytes + i.DocBytes }

// fewest is how many segments are worth joining where more would be too large.
// Joining costs as much as sealing did: with pairs, messages of five kilobytes
// were nearly all written twice, which was a third of an import.
const fewest = 4

// PlanMerge chooses segments to join into one, which is built of their documents:
// the first run of neighbours, in order of ids, with enough members, or with as
// many as fit. It returns the half-open range of their places, or false when none
// are due. Followed after each seal until it returns false, it keeps the number of
// segments small.
func PlanMerge(infos []Info) (from, to int, ok bool) {
	docs, bytes := 0, int64(0)
	for i, info := range infos {
		large := info.Docs >= small
		for from < i && (large || docs+info.Docs > maxMerged || bytes+info.bytes() > maxMergedBytes) {
			if i-from >= fewest {
				return from, i, true
			}
			docs, bytes, from = docs-infos[from].Docs, bytes-infos[from].bytes(), from+1
		}
		if large {
			from++
			continue
		}
		docs, bytes = docs+info.Docs, bytes+info.bytes()
		if i+1-from == members {
			return from, i + 1, true
		}
	}
	return 0, 0, false
}
