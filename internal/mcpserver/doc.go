// Package mcpserver gives an agent in any host that speaks the Model Context
// Protocol the way back into its record: the tools lcm_grep, lcm_describe,
// lcm_expand_query and expand, and everything stored as resources
// (lcm://summary/…, lcm://message/…, lcm://file/…).
//
// A [Server] is made of an engine and a [Feed]; it is served over a pair of
// pipes ([Server.ServeStdio]) or over HTTP ([Server.ServeHTTP]).
//
// # What it promises
//
// The names, parameters, texts and errors of the tools are those of the root
// package's tools: an agent that has learnt one has learnt the other. Two
// defaults differ, the scope (the project) and the number of results (ten). A call
// never returns more than a host takes: text and structured content each stay
// within [Config.MaxTokens], the rest follows by cursor, and whatever is left
// out is said in the notes with the way to it. Tools are listed in one order,
// with one line each; expand tells the rest.
//
// It works alone, without hooks. After the handshake it catches up on all
// transcripts in the background, under a lease in the store so that several
// servers do not repeat the work; before each answer it catches up on the
// transcript that the call comes from, for a bounded time, so that what was
// said in this very turn is found.
//
// # The current conversation
//
// The tools look in the whole project by default; the current conversation is
// ranked first where it is as good, and its newest prompt is not found. It is
// the session that the host names: Codex sends it with each call, Claude Code sends the id of the tool
// call, which is looked up in the newest messages, and gives the session in
// the environment. Else it is the newest conversation of the project that the
// server was started in, or that the client's roots name. Where two are being
// written at the same time, both are taken for it.
//
// # What is left to others
//
// Package recall searches and package delegation answers; hosts' transcripts
// are read by whatever implements Feed. [ProjectOnly] narrows the store itself,
// so that nothing above it can leave a project.
package mcpserver
