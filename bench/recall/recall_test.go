package recall

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/search"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s changed (run with -update to accept): %s", path, diff)
	}
}

// The embedded dataset is the files of evidence/.
func TestBundledArchive(t *testing.T) {
	files, err := filepath.Glob("evidence/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, b...)
	}
	if *update {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(want); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("evidence.jsonl.gz", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		bundled = b.Bytes()
	}
	z, err := gzip.NewReader(bytes.NewReader(bundled))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Error("evidence.jsonl.gz differs from the files of evidence/: run with -update")
	}
}

// The figures of the bundled dataset change only when the ranking does.
func TestBundledFigures(t *testing.T) {
	d, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	rep, err := Run(t.Context(), d, Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "bundled.golden", rep.Text())
	if rep.LeftOut > 0 {
		t.Errorf("%d bundled questions name no message of their conversation", rep.LeftOut)
	}
	lcm, and, or := rep.Systems[0].All, rep.Systems[1].All, rep.Systems[2].All
	if lcm.R10.Mean <= or.R10.Mean || or.R10.Mean <= and.R10.Mean {
		t.Errorf("r@10: lcm %.3f, OR %.3f, AND %.3f; want them in this order", lcm.R10.Mean, or.R10.Mean, and.R10.Mean)
	}
	if strings.Contains(strings.ToLower(rep.Text()), "accuracy") {
		t.Error("the report speaks of accuracy, which it does not measure")
	}
}

// The rank of each evidence message is a line of its own. A small change of a
// weight that moves no mean by a thousandth still moves some of them.
func TestBundledRanks(t *testing.T) {
	d, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	c := newCorpus(d)
	weights := search.DefaultWeights()
	e, err := newEngine(t.Context(), c, weights)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, q := range d.Questions {
		n := c.conversations[q.Conversation]
		hits, err := e.search(t.Context(), q, n)
		if err != nil {
			t.Fatal(err)
		}
		var ranks []string
		for _, id := range q.Evidence {
			rank := "-"
			if i := slices.Index(hits, c.ids[n-1][id]); i >= 0 {
				rank = strconv.Itoa(i + 1)
			}
			ranks = append(ranks, rank)
		}
		fmt.Fprintf(&got, "%-12s %-10s %-8s %s\n", q.Conversation, q.Category, strings.Join(ranks, " "), q.Text)
	}
	golden(t, "ranks.golden", got.String())
}

// small is two short conversations of the bundled dataset.
func small(t *testing.T) Dataset {
	t.Helper()
	var d Dataset
	for _, name := range []string{"garden", "harbor"} {
		one, err := Load("evidence/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		d.Conversations = append(d.Conversations, one.Conversations...)
		d.Questions = append(d.Questions, one.Questions...)
	}
	return d
}

func TestReportJSON(t *testing.T) {
	d := small(t)
	rep, err := Run(t.Context(), d, Options{Resamples: 50, Keep: func(c string) bool { return c == "garden" }})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rep, back); diff != "" {
		t.Error(diff)
	}
	if rep.Questions == 0 || rep.Questions == len(d.Questions) {
		t.Errorf("%d of %d questions were asked, want those of one conversation", rep.Questions, len(d.Questions))
	}
}

// Every part of the ranking that a measurement leaves out changes an answer of
// the bundled questions, with or without a typing mistake.
func TestAblate(t *testing.T) {
	d, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	a, err := Ablate(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Without) != len(parts) || a.All.Questions != len(d.Questions) {
		t.Fatalf("%d parts, %d questions", len(a.Without), a.All.Questions)
	}
	for _, w := range a.Without {
		if w.Figures == a.All && w.Part != "neighbours" { // which only talk between people feels
			t.Errorf("the ranking is the same without %s", w.Part)
		}
	}
	if text := a.Text(); strings.Count(text, "\n") != len(parts)+4 {
		t.Errorf("the table has other lines:\n%s", text)
	}
}

// A typing mistake changes one word, the same one in every run.
func TestWithTypos(t *testing.T) {
	d, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	typos, again := d.WithTypos(), d.WithTypos()
	changed := 0
	for i, q := range typos.Questions {
		if q.Text != again.Questions[i].Text {
			t.Errorf("%q is also %q", q.Text, again.Questions[i].Text)
		}
		a, b := strings.Fields(d.Questions[i].Text), strings.Fields(q.Text)
		n := 0
		for j := range a {
			if j < len(b) && a[j] != b[j] {
				n++
			}
		}
		if len(a) != len(b) || n > 1 {
			t.Errorf("%q became %q", d.Questions[i].Text, q.Text)
		}
		changed += n
	}
	if changed < len(d.Questions)*3/4 {
		t.Errorf("%d of %d questions have a mistake", changed, len(d.Questions))
	}
}

// A caller's own search is measured like the others.
func TestContender(t *testing.T) {
	d := small(t)
	oracle := Contender{"oracle", func(_ context.Context, _, question string) ([]string, error) {
		for _, q := range d.Questions {
			if q.Text == question {
				return q.Evidence, nil
			}
		}
		return nil, nil
	}}
	rep, err := Run(t.Context(), d, Options{Resamples: 10, Also: []Contender{oracle}})
	if err != nil {
		t.Fatal(err)
	}
	last := rep.Systems[len(rep.Systems)-1]
	if last.Name != "oracle" || last.All.R5.Mean != 1 || last.All.MRR.Mean != 1 {
		t.Errorf("the oracle reached %+v", last)
	}
	oracle.Search = func(context.Context, string, string) ([]string, error) { return []string{"nobody"}, nil }
	if _, err := Run(t.Context(), d, Options{Resamples: 10, Also: []Contender{oracle}}); err == nil {
		t.Error("an unknown message was accepted")
	}
}

// Compaction adds summaries to the record and takes no place from its messages.
func TestCompactionKeepsRecall(t *testing.T) {
	d, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	rep, err := Measure(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	n := len(rep.Systems)
	before, after := rep.Systems[n-2].All, rep.Systems[n-1].All
	if after.R10.Mean < before.R10.Mean-0.005 || after.R20.Mean < before.R20.Mean-0.005 {
		t.Errorf("r@10 %.3f, r@20 %.3f; after compaction %.3f, %.3f", before.R10.Mean, before.R20.Mean, after.R10.Mean, after.R20.Mean)
	}
}

func TestJudge(t *testing.T) {
	c := &corpus{session: []int{0, 0, 1, 1, 2}}
	for name, tc := range map[string]struct {
		hits []int64
		gold []int64
		want [6]float64
	}{
		"first":         {[]int64{1, 5}, []int64{1}, [6]float64{1, 1, 1, 1, 1, 1}},
		"half":          {[]int64{1, 5}, []int64{1, 4}, [6]float64{.5, .5, .5, 1, 1, 1}},
		"right session": {[]int64{2, 5}, []int64{1}, [6]float64{0, 0, 0, 1, 1, 1}},
		"third session": {[]int64{5, 4, 3, 2, 1}, []int64{1}, [6]float64{1, 1, 1, 0, 1, 1. / 3}},
		"sixth place":   {[]int64{5, 5, 5, 5, 5, 1}, []int64{1}, [6]float64{0, 1, 1, 0, 1, .5}},
		"nothing":       {nil, []int64{1}, [6]float64{}},
	} {
		gold := make(map[int64]bool)
		for _, g := range tc.gold {
			gold[g] = true
		}
		if diff := cmp.Diff(tc.want, c.judge("", tc.hits, gold).values); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

const locomo = `[{"sample_id":"s","conversation":{"speaker_a":"Ann","speaker_b":"Bo",
 "session_2":[{"speaker":"Bo","dia_id":"D2:1","text":"late"}],"session_2_date_time":"1:05 pm on 9 May, 2023",
 "session_1":[{"speaker":"Ann","dia_id":"D1:1","text":"hi","blip_caption":"a cat"}],"session_1_date_time":"1:56 pm on 8 May, 2023"},
 "qa":[{"question":"who?","answer":7,"evidence":["D1:1; D2:1","D:9"],"category":4}]}]`

func TestParseLoCoMo(t *testing.T) {
	d, err := Parse([]byte(locomo))
	if err != nil {
		t.Fatal(err)
	}
	first := d.Conversations[0].Sessions[0].Messages[0]
	if first.Text != "Ann: hi [shared image: a cat]" || first.Role != "user" || first.Time.Format("2006-01-02 15:04") != "2023-05-08 13:56" {
		t.Errorf("first message %+v", first)
	}
	want := []Question{{"s", "who?", "single-hop", []string{"D1:1", "D2:1"}}}
	if diff := cmp.Diff(want, d.Questions); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ data, hint string }{
		"empty":      {"", "empty"},
		"not json":   {"hello", "value 1"},
		"strange":    {`{"x":1}`, "neither"},
		"no talk":    {`{"conversation":"c","question":"q?","evidence":["m"]}`, `"c"`},
		"no message": {`{"id":"c","sessions":[{"id":"s","messages":[{"id":"m"},{"id":"m"}]}]}`, "twice"},
		"no time":    {`[{"sample_id":"s","conversation":{"speaker_a":"A","session_1":[]}}]`, "date_time"},
	} {
		if _, err := Parse([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: error %v, want one that mentions %q", name, err, c.hint)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(locomo))
	f.Add([]byte(`{"name":"x"}` + "\n" + `{"id":"c","sessions":[{"id":"s","messages":[{"id":"m","text":"t"}]}]}` + "\n" + `{"conversation":"c","question":"q","evidence":["m"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, err := Parse(data); err == nil && len(d.Questions) == 0 {
			t.Error("accepted a dataset without questions")
		}
	})
}
