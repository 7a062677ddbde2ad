package artifact

import "fmt"

// Code says what is wrong with a file, a closed list. Its words are those of
// the table problems.
type Code string

// What can be wrong with an artifact.
const (
	CodeUnreadable     Code = "unreadable_file"     // the file or folder cannot be read
	CodeLink           Code = "link_not_followed"   // a symbolic link
	CodeNotRegular     Code = "not_a_file"          // a socket, a device or a pipe
	CodeTooLarge       Code = "too_large"           // beyond MaxBytes; not read
	CodeRunInside      Code = "run_directory"       // a run directory below the source; it is loaded only when named
	CodeEmpty          Code = "empty_file"          // nothing in it
	CodeEncoding       Code = "wrong_encoding"      // neither UTF-8 nor ASCII
	CodeByteOrderMark  Code = "byte_order_mark"     // UTF-8 with a mark in front; the rest loads
	CodeNotJSON        Code = "not_json"            // named or begun like JSON, and is none
	CodeTruncated      Code = "truncated"           // ends in the middle of a value
	CodeTooDeep        Code = "too_deep"            // nested beyond maxDepth
	CodeDuplicateKey   Code = "duplicate_key"       // an object names one key twice; nothing of it is used
	CodeNotFinite      Code = "not_finite"          // NaN or Infinity where a number belongs; it is null
	CodeWrongType      Code = "wrong_type"          // a known field of another type or out of range; it is null
	CodeUnknownSchema  Code = "unknown_schema"      // JSON that no importer knows; kept by name only
	CodeOtherVersion   Code = "unsupported_version" // a known format of a version that is not read
	CodeLengths        Code = "unequal_lengths"     // arrays that belong together differ in length
	CodeCounts         Code = "counts_disagree"     // counts a file states contradict its rows
	CodeProtocolLabel  Code = "protocol_label"      // the file's label is not the protocol its streams show
	CodeStatDiffers    Code = "statistic_differs"   // a stated statistic does not follow from the rows
	CodeFieldDiffers   Code = "field_differs"       // a derived field of a row does not follow from the others
	CodeLeftOut        Code = "problems_left_out"   // more problems than are kept
	CodeFormatMismatch Code = "mixed_lines"         // a line of another format than the first line's
)

// Problem is one thing found wrong with a file. It becomes a row of problems
// with stage ingest and no campaign.
type Problem struct {
	Code     Code
	Source   string // path below the source, with slashes
	Position string // where in the file: a JSON pointer, or a line; may be empty
	Detail   string // one sentence without private data
}

// maxProblems bounds the problems of one file.
const maxProblems = 50

// notes collects the problems of one file, so that a file of nothing but
// faults costs bounded memory.
type notes struct {
	source string
	list   []Problem
	beyond int
}

func (n *notes) add(code Code, position, format string, args ...any) {
	if len(n.list) >= maxProblems {
		n.beyond++
		return
	}
	n.list = append(n.list, Problem{Code: code, Source: n.source, Position: cut(position, 200), Detail: fmt.Sprintf(format, args...)})
}

// all is the list, with a last row that counts what it leaves out.
func (n *notes) all() []Problem {
	if n.beyond == 0 {
		return n.list
	}
	return append(n.list[:len(n.list):len(n.list)], Problem{Code: CodeLeftOut, Source: n.source,
		Detail: fmt.Sprintf("%d more problems of this file are not listed", n.beyond)})
}
