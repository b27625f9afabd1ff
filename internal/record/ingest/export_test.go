package ingest

// SecondID is the id that an edited message is stored under.
var SecondID = secondID

// RecordSum hashes the record of a message.
var RecordSum = recordSum
