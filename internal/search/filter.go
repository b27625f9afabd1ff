package search

import (
	"slices"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// Filter says which documents a search looks at. The zero value is all of them.
type Filter struct {
	Conversations []int64 // none: every conversation
	Since, Before int64   // milliseconds, [Since, Before); zero: unbounded
	Roles         []uint8 // none: every role
	Without       uint8   // skip documents with any of these flags
	Through       int64   // the highest id, so that later documents change nothing; zero: unbounded
	// Hidden, if set, reports documents that the search does not see. Those and the
	// ones with flags of Without do not separate the messages around them.
	Hidden func(id int64) bool
	Accept func(id int64) bool // a last word on each document, may be nil
}

// outside reports that no document of the segment can pass.
func (f *Filter) outside(s *segment.Segment) bool {
	oldest, newest := s.Times()
	return f.Through != 0 && s.Info().FirstID > f.Through || f.Since != 0 && newest < f.Since || f.Before != 0 && oldest >= f.Before
}

// covers reports that every document of the segment is within the times.
func (f *Filter) covers(s *segment.Segment) bool {
	oldest, newest := s.Times()
	return (f.Since == 0 || oldest >= f.Since) && (f.Before == 0 || newest < f.Before)
}

// splits reports that the segment goes on past the highest id.
func (f *Filter) splits(s *segment.Segment) bool {
	return f.Through != 0 && s.Info().LastID > f.Through
}

// plain reports that every document of the segment in scope passes.
func (f *Filter) plain(s *segment.Segment) bool {
	return f.covers(s) && !f.splits(s) && len(f.Roles) == 0 && f.Without&s.Flags() == 0 && f.Hidden == nil && f.Accept == nil
}

// passes asks for no more of a document than the filter needs: a column of
// marks is a tenth of the rows.
func (f *Filter) passes(r *segment.Reader, doc uint32) (bool, error) {
	if len(f.Roles) > 0 || f.Without&r.Segment.Flags() != 0 {
		role, flags, err := r.RoleAndFlags(doc)
		if err != nil || flags&f.Without != 0 || len(f.Roles) > 0 && !slices.Contains(f.Roles, role) {
			return false, err
		}
	}
	if f.splits(r.Segment) {
		if id, err := r.DocID(doc); err != nil || id > f.Through {
			return false, err
		}
	}
	if !f.covers(r.Segment) {
		row, err := r.Doc(doc)
		if err != nil || f.Since != 0 && row.Time < f.Since || f.Before != 0 && row.Time >= f.Before {
			return false, err
		}
	}
	if f.Accept == nil && f.Hidden == nil {
		return true, nil
	}
	id, err := r.DocID(doc)
	return err == nil && (f.Hidden == nil || !f.Hidden(id)) && (f.Accept == nil || f.Accept(id)), err
}

// hides reports that the search does not see a document.
func (f *Filter) hides(r *segment.Reader, doc uint32) (bool, error) {
	if f.Without&r.Segment.Flags() != 0 {
		if _, flags, err := r.RoleAndFlags(doc); err != nil || flags&f.Without != 0 {
			return err == nil, err
		}
	}
	if f.Hidden == nil {
		return false, nil
	}
	id, err := r.DocID(doc)
	return err == nil && f.Hidden(id), err
}
