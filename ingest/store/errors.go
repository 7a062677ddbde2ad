package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// Errors of Open that a caller branches on.
var (
	ErrLocked  = errors.New("database is held by another process")
	ErrNewer   = errors.New("database was written by another version of DuckDB")
	ErrForeign = errors.New("file is not a whole DuckDB database")
)

// Class is the kind of a failed statement, a closed list.
type Class string

// The classes of failed statements.
const (
	ClassConversion  Class = "conversion"    // a value does not fit its type
	ClassConstraint  Class = "constraint"    // a key or a NOT NULL is violated
	ClassIO          Class = "io"            // a file cannot be read or written, a full disk included
	ClassInput       Class = "invalid_input" // a file or a value is damaged or out of range
	ClassMemory      Class = "out_of_memory" // the memory limit was met and spilling did not help
	ClassInterrupted Class = "interrupted"   // the context ended
	ClassTransaction Class = "transaction"   // the transaction cannot go on
	ClassStatement   Class = "statement"     // the SQL does not fit this database
	ClassOther       Class = "other"
)

// Failure is a failed statement: which step and what kind. It keeps nothing of
// the driver's text, which can quote payloads.
type Failure struct {
	Step  string
	Class Class
}

func (f *Failure) Error() string { return f.Step + ": database error: " + string(f.Class) }

// Is makes a cancelled statement match the context's error.
func (f *Failure) Is(target error) bool {
	return target == context.Canceled && f.Class == ClassInterrupted
}

// Error turns an error of the driver into a Failure of the named step. nil
// stays nil, and an error that is already safe stays what it is.
func Error(step string, err error) error {
	var failure *Failure
	switch {
	case err == nil, errors.As(err, &failure):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: %w", step, sql.ErrNoRows)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Failure{Step: step, Class: ClassInterrupted}
	}
	return &Failure{Step: step, Class: classOf(err)}
}

func classOf(err error) Class {
	var duck *duckdb.Error
	if !errors.As(err, &duck) {
		return ClassOther
	}
	switch duck.Type {
	case duckdb.ErrorTypeConversion, duckdb.ErrorTypeOutOfRange, duckdb.ErrorTypeMismatchType, duckdb.ErrorTypeInvalidType:
		return ClassConversion
	case duckdb.ErrorTypeConstraint:
		return ClassConstraint
	case duckdb.ErrorTypeIO:
		return ClassIO
	case duckdb.ErrorTypeInvalidInput, duckdb.ErrorTypeInvalid, duckdb.ErrorTypeSerialization:
		return ClassInput
	case duckdb.ErrorTypeOutOfMemory:
		return ClassMemory
	case duckdb.ErrorTypeInterrupt:
		return ClassInterrupted
	case duckdb.ErrorTypeTransaction:
		return ClassTransaction
	case duckdb.ErrorTypeBinder, duckdb.ErrorTypeCatalog, duckdb.ErrorTypeParser, duckdb.ErrorTypeSyntax:
		return ClassStatement
	}
	return ClassOther
}

var holder = regexp.MustCompile(`PID ([1-9][0-9]*)`)

// openError maps what DuckDB says when it cannot open a file. Its text holds
// the full path, so only the name of the file is kept.
func openError(name string, err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "different configuration"):
		return fmt.Errorf("open %s: %w: this program has it open with other options", name, ErrLocked)
	case strings.Contains(text, "Could not set lock"):
		by := "another process"
		if m := holder.FindStringSubmatch(text); m != nil {
			by += " (pid " + m[1] + ")"
		}
		return fmt.Errorf("open %s: %w: %s has it open\nend that program, or wait longer with --wait", name, ErrLocked, by)
	case strings.Contains(text, "version number"):
		return fmt.Errorf("open %s: %w\ndelete it and rebuild it from the run directories", name, ErrNewer)
	case strings.Contains(text, "not a valid DuckDB database"), strings.Contains(text, "Corrupt"), strings.Contains(text, "Could not read enough bytes"):
		return fmt.Errorf("open %s: %w\nchoose another path, or delete it and rebuild it from the run directories", name, ErrForeign)
	}
	return fmt.Errorf("open %s: %w", name, &Failure{Step: "open database", Class: classOf(err)})
}
