package delegation

import "testing"

func TestProseLeads(t *testing.T) {
	for prompt, want := range map[string]bool{
		"Why did we drop gorm?":                    true,
		"what is the address of the printer":       true,
		"Is it applied?":                           true,
		"throttling":                               false, // no question
		"What is the exact command to deploy?":     false,
		"How did we start it with a limit?":        false,
		"Which error did the importer write last?": false,
	} {
		if got := proseLeads(prompt); got != want {
			t.Errorf("proseLeads(%q) = %v", prompt, got)
		}
	}
}
