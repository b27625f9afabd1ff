package archive

import "testing"

// A table that has lost a column is damaged, and its rows are still written.
func TestRowWithoutAColumn(t *testing.T) {
	fault, err := checkRow(nil, "messages", []string{"id"}, []any{int64(7)})
	if err != nil || fault.Code != "record" || fault.Node != "msg_7" {
		t.Errorf("%+v, %v", fault, err)
	}
}
