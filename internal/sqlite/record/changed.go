package record

import "github.com/lossless-context/lcm/internal/sqlite/dbfile"

// The lanes of the search index.
const (
	LaneMessages  = 1
	LaneSummaries = 2
)

// DropIndexFrom drops the segments of a lane from the one with a changed
// document on. They are built again later.
func DropIndexFrom(c *dbfile.Conn, lane int, id int64) error {
	err := c.Exec(`DELETE FROM sections WHERE segment IN (SELECT id FROM segments WHERE lane = ? AND last_id >= ?)`, lane, id)
	if err != nil {
		return err
	}
	if err := c.Exec(`DELETE FROM segments WHERE lane = ? AND last_id >= ?`, lane, id); err != nil {
		return err
	}
	return c.Exec(`UPDATE lanes SET epoch = epoch + 1 WHERE lane = ?`, lane)
}
