package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	for _, test := range []struct {
		args string
		want string // in the output, or of the error
		err  error
	}{
		{args: "scale --sizes 100 --spread 1 --samples 2 --expressions -1", want: "durable append p50, ms"},
		{args: "soak --duration 1s --rate 100", want: "RSS slope"},
		{args: "recall --data nowhere.json", want: "describes the formats"},
		{args: "compare --base nowhere", want: "nowhere"},
		{args: "scale --sizes 0", err: errUsage},
		{args: "scale more", err: errUsage},
		{args: "soak --help", err: errUsage},
		{args: "nonsense", err: errUsage},
		{args: "", err: errUsage},
	} {
		var out strings.Builder
		err := run(t.Context(), &out, strings.Fields(test.args))
		if err != nil && !errors.Is(err, errMissed) {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), test.want) || test.err != nil && !errors.Is(err, test.err) {
			t.Errorf("bench %s: %v, %s", test.args, err, out.String())
		}
	}
}

// The names of the JSON are in camel case, as those of the command.
func TestJSON(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, []string{"scale", "--json", "--sizes", "100", "--spread", "1", "--samples", "2", "--expressions", "-1"}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Report struct{ Runs []map[string]any }
		Checks []struct{ What string }
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got.Checks) == 0 || len(got.Report.Runs) != 1 || strings.Contains(out.String(), "_") {
		t.Fatalf("%v in %s", err, out.String())
	}
}
