package dbfile

import (
	"context"
	"errors"
)

// backupPages is how many pages are copied between two looks at the context.
const backupPages = 1024

// CopyTo copies the database page by page.
func CopyTo(ctx context.Context, c *Conn, path string, progress func(done, total int)) (err error) {
	name, err := DSN(path, Options{})
	if err != nil {
		return err
	}
	b, err := c.raw.BackupInit("main", name)
	if err != nil {
		return driverError(err, "")
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done, err = b.Step(backupPages); err != nil {
			return driverError(err, "")
		}
		if progress != nil {
			progress(b.PageCount()-b.Remaining(), b.PageCount())
		}
	}
	return nil
}
