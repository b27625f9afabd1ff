package sqlite

// The lanes of the index.
const (
	laneMessages  = 1
	laneSummaries = 2
)

// DropIndexFrom drops the part of a lane's index that holds a document which has
// changed, and everything after it, to be built anew.
func DropIndexFrom(c *conn, lane int, id int64) error {
	err := c.exec(`DELETE FROM sections WHERE segment IN (SELECT id FROM segments WHERE lane = ? AND last_id >= ?)`, lane, id)
	if err != nil {
		return err
	}
	if err := c.exec(`DELETE FROM segments WHERE lane = ? AND last_id >= ?`, lane, id); err != nil {
		return err
	}
	return c.exec(`UPDATE lanes SET epoch = epoch + 1 WHERE lane = ?`, lane)
}
