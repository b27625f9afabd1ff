// Package ui shows the record in a browser: sessions with their messages and
// summaries, search, the context that a model would be sent, and the
// requests of agents behind lcm.
//
// # Pages and API
//
// Pages are HTML, rendered on the server from embedded templates. They work
// without JavaScript; the script adds scrolling through long sessions, search
// while the user types and keyboard keys. Each page is also JSON under /api:
//
//	GET /                       sessions, projects, hosts                (/api/sessions)
//	GET /session/{n}            messages around ?at=SEQ; beside them ?summary=sum_… (/api/session/{n})
//	GET /session/{n}/map        the summaries as an icicle               (/api/session/{n}/map)
//	GET /session/{n}/stored     the context of the stored view           (/api/session/{n}/stored)
//	GET /session/{n}/context    the context at ?at=SEQ with ?budget=N    (/api/session/{n}/context)
//	GET /session/{n}/sent       its requests that came through lcm       (/api/session/{n}/sent)
//	GET /message/msg_…          one message and its summaries            (/api/message/msg_…)
//	GET /summary/sum_…          a summary and its sources                (/api/summary/sum_…)
//	GET /file/file_…            a payload and its messages               (/api/file/file_…)
//	GET /search                 ?q=, mode, role, tool, host, project, session, since, before (/api/search)
//	GET /why                    the prompts that changed ?file=, which a call of ?session= names (/api/why)
//	GET /session/{n}/export     its messages as a page that needs no server, or a zip of pages
//	GET /file/file_…/content    the bytes of a payload
//	GET /session/{n}/events     server-sent events: "messages" when the session grew
//
// [Server.WriteTree] writes a page into one file that needs no server, and
// [Server.WriteSession] writes as many as the messages need.
//
// A search for three words or more is answered above its matches as a question, with the passages of
// `lcm ask --evidence`; no model is called.
//
// The page of a session has the command that opens it in its host, or `lcm undelete` if the host has
// deleted it. Package hosts makes the command, of an id in a fixed form.
//
// Times and days on pages are in the zone of the browser, which the script keeps in a cookie, else
// in that of the server. Every page names it. Times of the API are in UTC.
//
// A page with ?fragment=1 is its main part alone. The pages of a search and a
// context come without their answer, which takes longer: the script
// loads it as such a fragment. With ?now=1 the answer is in the page.
//
// # Guarantees
//
// The server reads the record, never writes and calls no model. It answers only GET
// requests that name a loopback host, come from its own pages and carry its cookie. A browser
// gets the cookie in exchange for a token that works once. Stored text is
// untrusted: templates escape it, Markdown becomes a fixed set of elements without
// raw HTML or images, and the Content-Security-Policy allows the server's own
// scripts, styles and images only. No page makes a request to another host.
//
// A session is read in windows, never as a whole, so a page costs the same for a
// hundred messages and for a million.
//
// # Other packages
//
// Package recall searches and describes, the root package assembles contexts. Package cli opens the database and the
// browser.
package ui
