// Package recall measures how well a search finds the messages that hold the
// answer to a question, without any model.
//
// A dataset has conversations and questions; each question names its evidence,
// the messages that hold its answer. All conversations are put into one index,
// each question is asked verbatim in the scope of its conversation, and the
// ranking is compared with the evidence:
//
//   - r@k: the share of a question's evidence among the first k messages,
//     averaged over questions;
//   - session hit@k: the share of questions for which a session that holds
//     evidence is among the first k sessions of the ranking;
//   - MRR: the mean reciprocal rank of the first such session.
//
// Intervals are 95 % percentile bootstraps over questions with a fixed seed.
// Nothing here judges answers, so nothing here is called accuracy.
//
// Two baselines run beside the engine over the same texts: FTS5 with the words
// of the question as an implicit AND, as agents' memories usually do it, and
// FTS5 with Porter stemming, function words dropped and the rest joined by OR.
//
// # Formats
//
// [Load] reads LoCoMo's JSON (a list of samples) as published. Other data can be
// written in the evidence format: one JSON object
//
//	{"name": "…", "conversations": […], "questions": […]}
//
// or one value a line, each a conversation or a question:
//
//	{"id": "c1", "sessions": [{"id": "s1", "messages": [
//	    {"id": "m1", "role": "user", "time": "2026-01-05T09:00:00Z", "text": "…"}]}]}
//	{"conversation": "c1", "question": "…", "category": "…", "evidence": ["m1"]}
//
// Questions without evidence that exists in their conversation are counted and
// left out.
package recall
