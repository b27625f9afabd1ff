package core_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/core"
)

func TestToolInfoIsReadFromProse(t *testing.T) {
	got, err := core.ParseToolInfo("x", "\n# Description\n\nOne line.\n\n# Advanced\nDetails: \n\n## A heading inside\n  * kept\n# Troubleshooting\n- try again\n")
	want := core.ToolInfo{Name: "x", Description: "One line.", Advanced: "Details: \n\n## A heading inside\n  * kept", Troubleshooting: "- try again"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestBadProseIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "nothing under",
		"stray\n# Description\nx": "before the first heading",
		"# Description\na\nb":     "one line",
		"# Advanced\nonly":        "nothing under",
		"# Description\na\n# Advanced\nb\n# Advanced\nc": "occurs twice",
	} {
		if _, err := core.ParseToolInfo("x", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not say %q", text, err, want)
		}
	}
}
