package segment

import "context"

// streamBlobs serves streams from memory, by the section they begin at.
type streamBlobs map[int64][]byte

func (m streamBlobs) Get(_ context.Context, _, section int64) ([]byte, error) {
	for first, b := range m {
		n := section - first
		if n >= 0 && n*sectionBytes < int64(len(b)) {
			return sealSection(append([]byte(nil), b[n*sectionBytes:min((n+1)*sectionBytes, int64(len(b)))]...)), nil
		}
	}
	return nil, corrupt("no such section")
}

// unsealed returns what was written to a stream.
func unsealed(s *sectionWriter) []byte {
	var all []byte
	for _, b := range s.seal() {
		all = append(all, b[:len(b)-checksumBytes]...)
	}
	return all
}
