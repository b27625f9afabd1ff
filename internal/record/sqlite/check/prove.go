package check

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// Prove verifies every conversation of a file.
func Prove(ctx context.Context, f *dbfile.File) (verify.Proof, error) {
	return verify.Prove(ctx, f.DB())
}

// ProveFile verifies a database file that no other process has open, without
// writing to it.
func ProveFile(ctx context.Context, path string) (verify.Proof, error) {
	return dbfile.WithFile(ctx, path, dbfile.Options{ReadOnly: true}, func(f *dbfile.File) (verify.Proof, error) { return Prove(ctx, f) })
}
