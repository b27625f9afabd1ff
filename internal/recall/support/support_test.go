package support_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/recall/support"
)

// read is what a sub-agent has read in these tests.
var read = []string{
	"The ferry Nordlys leaves Tromsø at 06:45; Ingrid booked cabin 214 for us.",
	"We raised ledger_batch_size to 1,400 because the import took 90 seconds with smaller batches.",
	"Set MaxRetries to 8 in internal/queue/retry.go, and call NewBackoff() with a cap of 2 percent jitter.",
	"go 1.26.5 and PostgreSQL 17.2 are pinned. The dump has 1.5 GB, 12 tables, and goes to backup-host-2.",
	"The cut-over is on 3 May 2026. A snapshot is kept for half an hour, the archive for one week.",
	"Die Pumpe der Firma Grundfos läuft mit achtundvierzig Volt und 1.250 Umdrehungen; der Fühler hängt am I2C-Bus.",
	"Die Wartung ist alle sechs Monate. Werte kommen als JSON über MQTT.",
	"重试次数改为八次,队列换成 Pulsar。",
	"curl -sS https://status.example.org/healthz --max-time 5 answered HTTP 503 from 10.0.4.17:9090",
}

func check(answer, question string) ([]string, int) {
	var t support.Text
	for i, text := range read {
		t.Add(fmt.Sprintf("2026-04-%d 14:05 %s", 20+i, text))
	}
	return t.Check(answer, question)
}

// What an answer says in other words is supported.
func TestOtherFormsAreSupported(t *testing.T) {
	for _, answer := range []string{
		"The Nordlys sails from Tromsø at 6:45, and Ingrid's cabin is number 214.",
		"Nordlys departs at 6:45 am.",
		"The batch size of the ledger is 1400 (1.4k), since an import took a minute and a half, or 1.5 minutes.",
		"LedgerBatchSize is 1400.", "`ledger_batch_size` = 1'400",
		"Eight retries at most: the setting maxRetries in retry.go. NewBackoff caps its jitter at 2%, which is 0.02.",
		"There are eight-fold retries in internal/queue.",
		"Go 1.26 with Postgres 17; PostgreSQL's dump takes 1536 MB in twelve tables.",
		"backup-host-2 holds the dump of 1.5GB.",
		"On 2026-05-03, that is on May 3rd; the snapshot lives 30 minutes and the archive seven days.",
		"Decided on 20 April 2026, at 14:05. It was a Monday.",
		"1. The pump is made by Grundfos.\n2. It takes 48 V at 1,250 rpm.\n3. The sensor is on the I2C bus.",
		"Die Grundfos-Pumpe braucht 48 Volt und dreht mit 1250 Umdrehungen. Angeschlossen ist der Sensor über I2C.",
		"Alle 6 Monate steht eine Inspektion an, und die Messdaten laufen als JSON über den MQTT-Broker.",
		"重试 8 次,使用 Pulsar。",
		"It answers with a 503 on port 9090 of 10.0.4.17; see status.example.org.",
		"Everything was pinned. Nothing else changed, e.g. no flags; I would NOT touch it.",
		"A dozen tables... no: the record does not say.",
		"The `--max-time` was 5 seconds.",
		"At 14:05 on 3 May the UI and the DB were fine, on Mondays too.",
		"Version 17.2 (v17) of PostgreSQL, and Go v1.26.5; the I2C bus is the one of Grundfos' pump.",
		"As it says: \"Backups go to backup-host-2\".",
	} {
		if missing, _ := check(answer, "What is known about the ferry?"); missing != nil {
			t.Errorf("%q: not supported: %q", answer, missing)
		}
	}
}

// What was never read is named, as the answer has it.
func TestWhatWasNotReadIsNamed(t *testing.T) {
	for answer, want := range map[string]string{
		"It was DNS all along.":                                      "DNS",
		"Ingrid booked cabin 215.":                                   "215",
		"The ferry leaves at 07:15 from Bodø.":                       "07:15|Bodø",
		"The ferry leaves with Ingrid and Sigurd Moen aboard.":       "Sigurd|Moen",
		"The import took 95 seconds.":                                "95 seconds",
		"The ledger is imported by thirty-one workers.":              "thirty-one",
		"MaxRetries is 8 and MinRetries is set by retry_floor.":      "MinRetries|retry_floor",
		"It is in internal/queue/backoff.go.":                        "internal/queue/backoff.go",
		"PostgreSQL 17.4 is pinned, go 1.26.5 too.":                  "17.4",
		"The dump has 2.5 GB and goes to backup-host-3.":             "2.5 GB|backup-host-3",
		"The cut-over is on 4 June 2026 (2026-06-04).":               "4|June|2026-06-04",
		"The archive is kept for nine days, snapshots 30 minutes.":   "nine days",
		"Die Pumpe der Firma Wilo läuft mit 48 Volt.":                "Wilo",
		"Die Werte kommen als CBOR über MQTT, alle 45 Sekunden.":     "CBOR|45 Sekunden",
		"Alerts go to #night-watch and @sigurd.":                     "night-watch|sigurd",
		"队列换成 RocketMQ,重试 9 次。":                                      "RocketMQ|9",
		"HTTP comes from 10.0.4.18:9090 with a 503; run `kubectl`.":  "10.0.4.18|kubectl",
		"HTTP 503 is answered within 5 percent of 40,000 requests.":  "40,000",
		"Nordlys sails at 6:45; the crossing costs 310 kr and 20 %.": "310|20 %",
	} {
		missing, _ := check(answer, "What is known?")
		if diff := cmp.Diff(strings.Split(want, "|"), missing); diff != "" {
			t.Errorf("%q (-want +got):\n%s", answer, diff)
		}
	}
}

// A small number supports nothing in a passage about something else, and what the
// question says is neither supported nor missing.
func TestSubjectsAndQuestions(t *testing.T) {
	if missing, held := check("The pump weighs 12 kg.", "How heavy is the pump?"); len(missing) != 1 || held != 0 {
		t.Errorf("missing %q, %d held", missing, held)
	}
	if missing, held := check("Kafka 4.1 is not mentioned.", "Do we use Kafka 4.1?"); len(missing) != 0 || held != 0 {
		t.Errorf("missing %q, %d held", missing, held)
	}
	if missing, held := check("Ingrid booked cabin 214, deck 7.", "Which cabin?"); len(missing) != 1 || held != 1 {
		t.Errorf("missing %q, %d held", missing, held)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("12.345,67 km on 3.4.2026 at 3.30 Uhr: fünfundzwanzig 5M 1.4k --x `y`", "2026-01-02T03:04:05Z")
	f.Add("Herr", "")
	f.Fuzz(func(t *testing.T, answer, text string) {
		var known support.Text
		known.Add(text)
		missing, _ := known.Check(answer, "")
		for _, m := range missing {
			if !strings.Contains(answer, m) {
				t.Errorf("%q is no part of %q", m, answer)
			}
		}
	})
}
