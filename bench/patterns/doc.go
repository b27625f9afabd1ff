// Package patterns measures searches by regular expression beside ripgrep over
// the same bytes.
//
// The corpus is real text: sources and documents of the Go distribution and of
// the module cache as tool outputs, the bundled session as talk. It is written
// twice, into a database and into a file with a NUL byte after each message, so
// that `rg --null-data --count` counts messages. Of each pattern the benchmark
// takes the processor time of a page of matches as `lcm grep` asks for it (20
// matches, counted up to 1,000), of a complete count, and of rg. The complete
// count must equal rg's or, where the two read a pattern differently, that of a
// loop over all texts.
//
// [MeasureWords] does the same for ranked searches beside a table of SQLite's
// FTS5 with the same texts.
package patterns
