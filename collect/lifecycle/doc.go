// Package lifecycle loads the engines of a campaign's arms and restores the
// service that ran before.
//
// In: a lifecycle file that names commands as lists of arguments, each with a
// bound, and the endpoints of the arms. Out: journal entries, one for each
// command and each check.
//
// It never starts a shell, never keeps an argument list or an unredacted output,
// and runs nothing that the file does not name.
package lifecycle
