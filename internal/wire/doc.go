// Package wire reads and writes messages in the JSON of providers and hosts.
//
// A message that was read from JSON keeps its record, byte for byte, in
// llms.Message.Raw. [Decode] reads a record of one of the shapes that llms.Format
// names, [Encode] and [EncodeAll] write one. Writing a message in the shape in
// which it arrived returns the original bytes. Writing it in another shape keeps
// all that the other shape can express. llms.FormatLCM can express everything.
// [Detect] finds out the shape of a record.
//
// [Carve] takes long strings out of a record and [Join] puts them back, byte for
// byte. A store keeps a large tool output or image once this way. It stores the
// plain content, which can be searched, although the record has it with escapes
// or in base64.
//
// Records are untrusted. Reading one returns a message or an error for any bytes,
// in time linear in their length. The package has a JSON reader of its own
// because encoding/json replaces bytes that are not UTF-8, and because a record
// is read for every message of every search.
package wire
