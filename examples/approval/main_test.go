package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestApprovalWaitsAcrossProcesses(t *testing.T) {
	for _, test := range []struct{ decision, want string }{
		{"approve", "refund waits for approval: {\"order\": \"4711\"}\nAnn decided on refund\n(refunding 4711)\nThe tool says: refunded\n"},
		{"deny", "refund waits for approval: {\"order\": \"4711\"}\nAnn decided on refund\nThe tool says: Error: Ann denied this call: it was delivered\n"},
	} {
		t.Setenv("ANTHROPIC_API_KEY", "")
		path := filepath.Join(t.TempDir(), "approval.db")
		var out strings.Builder
		for _, args := range [][]string{{"ask", "refund order 4711"}, {test.decision, "Ann", "it was delivered"}, {"continue"}} {
			if err := run(t.Context(), path, args, &out); err != nil {
				t.Fatalf("%v: %v", args, err)
			}
		}
		if out.String() != test.want {
			t.Errorf("%s prints:\n%s", test.decision, out.String())
		}
	}
}
