// Package ingesttest builds run directories for tests, with record's own
// writers, from short descriptions of what each request received.
//
// In: cells of a plan and, for each request, a list of chunks with their times
// after t0. Out: a run directory in a temporary folder.
//
// It never reads a clock: all times follow from the description, so that a
// test can compare whole numbers.
//
//	p := ingesttest.Plan(t, ingesttest.CellSpec{ID: "a-c1", Arm: "a", Requests: 1})
//	run := ingesttest.NewRun(t, p)
//	run.Cell("a-c1").Stream(0,
//		ingesttest.Role(5*time.Millisecond),
//		ingesttest.Content(214*time.Millisecond, "Hi"),
//		ingesttest.Usage(220*time.Millisecond, 10, 2),
//		ingesttest.Done(221*time.Millisecond))
//	dir := run.Write()
package ingesttest
