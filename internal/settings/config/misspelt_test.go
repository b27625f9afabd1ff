package config

import (
	"slices"
	"testing"
)

func TestMisspelt(t *testing.T) {
	environ := []string{"LCM_DATABSE_PATH=/x", "LCM_DATABASE=/x", "LCMTOKEN_BUDGET=1", "LCM_DATABASE_PATH=/x", "LCM_CHILD=1", "LCM_TEST_POSTGRES=x", "HOME=/", "LCM_REDACTS=all", "XLCM_REDACT=1", "LCM_REDCT1=x", "LCM_RADAKT1=x", "LCM_CONTEXT_TOKEN_BUDGET=1"}
	want := []Misspelt{{"LCM_DATABSE_PATH", "LCM_DATABASE_PATH"}, {"LCM_DATABASE", "LCM_DATABASE_PATH"}, {"LCMTOKEN_BUDGET", "LCM_TOKEN_BUDGET"}, {"LCM_REDACTS", "LCM_REDACT"}, {"LCM_REDCT1", "LCM_REDACT"}, {"LCM_CONTEXT_TOKEN_BUDGET", "LCM_TOKEN_BUDGET"}}
	if got := MisspeltIn(environ); !slices.Equal(got, want) {
		t.Errorf("misspelt are %v, want %v", got, want)
	}
}
