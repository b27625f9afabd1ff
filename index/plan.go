package index

// Sizes of segments, in documents, chosen by measuring: a sealed segment of
// SealDocs costs a writer some tens of milliseconds, and merging stops at
// MaxDocs so that no single merge takes long.
const (
	SealDocs = 2048
	MaxDocs  = 1 << 17
	fanIn    = 8
)

// PlanMerge chooses segments to merge: the first run of fanIn neighbours, in
// order of ids, whose sizes are of one class. It returns the half-open range of
// their places, or false when none are due. Applied until it returns false after
// each seal, it writes every document a few times and keeps the number of
// segments logarithmic.
func PlanMerge(infos []Info) (from, to int, ok bool) {
	for class := SealDocs * fanIn / 2; class <= MaxDocs; class *= fanIn {
		run := 0
		for i, info := range infos {
			if info.Docs >= class {
				run = 0
				continue
			}
			if run++; run == fanIn {
				return i + 1 - fanIn, i + 1, true
			}
		}
	}
	return 0, 0, false
}
