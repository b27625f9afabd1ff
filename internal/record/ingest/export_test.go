package ingest

// SetCompareAll sets the length up to which histories are compared message by
// message, and returns how to set it back.
func SetCompareAll(n int) (restore func()) {
	was := compareAll
	compareAll = n
	return func() { compareAll = was }
}

// SecondID is the id that an edited message is stored under.
var SecondID = secondID

// RecordSum hashes the record of a message.
var RecordSum = recordSum
