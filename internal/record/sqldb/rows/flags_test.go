package rows_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// The conditions have the texts that the indexes of both backends are partial on.
func TestFlagConditions(t *testing.T) {
	for _, file := range []string{"../../sqlite/dbfile/schema.sql", "../../postgres/schema.sql"} {
		schema, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range []string{
			"ON messages (id) WHERE " + strings.Trim(rows.IsBookkeeping, "()"), "ON messages (conversation) WHERE " + rows.AnyFlag(store.FlagRedacted) + ";",
		} {
			if !strings.Contains(string(schema), index) {
				t.Errorf("%s has no index %s", file, index)
			}
		}
	}
	if rows.NotErased != "flags & 128 = 0" { // FlagErased is stored: it must not change
		t.Errorf("messages that are not erased: %s", rows.NotErased)
	}
}
