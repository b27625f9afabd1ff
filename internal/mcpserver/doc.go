// Package mcpserver serves lcm's record over the Model Context Protocol: the
// tools lcm_grep, lcm_describe, lcm_expand_query and expand.
//
// [New] makes a [Server] from an engine and a [Feed]. [Server.ServeStdio] serves
// one client over a pair of pipes, [Server.ServeHTTP] serves many over HTTP.
// With [Config.Stateless], [Server.Endpoint] keeps no sessions, and several processes can
// serve one address.
//
// # Guarantees
//
// The tools have the names, parameters, texts and errors of the root package's
// tools. Two defaults differ: the scope is the project, and a page has ten
// results. The text and the structured content of an answer each stay within
// [Config.MaxTokens]; a cursor leads to the rest, and a note names everything
// that was left out. The tools are always listed in the same order, with one
// line each; expand explains the rest.
//
// The server needs no hooks. After the handshake it reads all transcripts in
// the background, under a lease in the store, so that several servers do not
// repeat the work. Before each answer it reads the caller's transcript, for a
// bounded time, so that messages of the current turn are found.
//
// # The current conversation
//
// The tools search the whole project by default. The current conversation ranks
// first among equals, and its newest prompt is left out. The host names it:
// Codex sends the session with each call; Claude Code sends the id of the tool
// call, which the server finds in the newest messages, and puts the session
// into the environment. Otherwise it is the newest conversation of the project
// that the server was started in, or that the client's roots name. If two were
// written to in the last minutes, both count as current.
//
// # Other packages
//
// Package recall searches and package delegation answers. The Feed reads the
// transcripts. Package scope restricts the store itself to projects.
package mcpserver
