// Package engine knows what serving engines say about themselves: their metrics
// pages, their answers to identity questions, and their refusals.
//
// In: bytes as received (a page, an answer, an error body). Out: series, facts
// and outcomes. Everything but Client is pure, so that ingest and analyze read
// pages and names with the same code; Client is the one part that opens sockets
// and returns rows of collect/record.
//
//	page, problems := engine.ParsePage(body)
//	running, source, ok := engine.Resolve(page, "requests_running")
//
// What an engine calls a metric is data, in canonical.csv; how it words a
// refusal is data too, in patterns.go.
//
// It never takes differences between pages (analyze does), never guesses a value
// that is not on the page, and never repeats a request.
package engine
