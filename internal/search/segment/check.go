package segment

import "context"

// Check reads every section of the segment and verifies its checksum, and that
// its documents are those that its header tells of.
func (s *Segment) Check(ctx context.Context) error {
	for stream := range s.streams {
		place := s.streams[stream]
		for n := int64(0); n*sectionBytes < place.size; n++ {
			b, err := fetchSection(ctx, s.blobs, s.id, place.section+n)
			if err != nil {
				return err
			}
			if want := min(sectionBytes, place.size-n*sectionBytes); int64(len(b)) < want {
				return corrupt("short section")
			}
		}
	}
	if s.info.Docs == 0 {
		return nil
	}
	r := s.Reader(ctx)
	last, err := r.uint32At(streamIDs, uint32(s.info.Docs-1))
	if err != nil {
		return err
	}
	if s.info.FirstID+int64(last) != s.info.LastID {
		return corrupt("the last document is not the one that the header names")
	}
	return nil
}
