package main

// ignoredFailure says what to do about a session that the settings exclude.
func ignoredFailure(err error) error {
	return failed(exitConfig, "`lcm config` shows ingest.ignore_session_patterns and ingest.ignore_project_patterns, and where they are set", "%w", err)
}
