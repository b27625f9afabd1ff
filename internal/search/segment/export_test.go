package segment

// SealSection appends the checksum of a section.
var SealSection = sealSection

// Blocks is how many blocks of trigrams a segment claims to have.
func Blocks(s *Segment) uint32 { return s.blocks }
