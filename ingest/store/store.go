package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// DefaultWait is how long Open waits for a database that another process holds.
const DefaultWait = 10 * time.Second

// DefaultMemoryLimit bounds DuckDB's memory; beyond it queries spill to the
// temporary folder. Go's own memory and a row group being read come on top.
const DefaultMemoryLimit = "2GB"

// retryEvery is the pause between two tries at a locked database.
const retryEvery = 100 * time.Millisecond

// Options say how to open a database. The zero value opens it for writing.
type Options struct {
	ReadOnly    bool          // the file must exist; nothing is written
	Wait        time.Duration // patience with a locked file; 0 is DefaultWait, below 0 none
	Threads     int           // DuckDB threads; 0 leaves the choice to DuckDB
	MemoryLimit string        // such as "512MB"; "" is DefaultMemoryLimit
	TempDir     string        // for spilling; "" is a folder beside the file, or the system's for others
}

// DB is an open database. It may be used by several goroutines.
type DB struct {
	pool    *sql.DB
	ownTemp string // removed at Close; "" when the folder is not ours
}

// Open opens or creates a database; path "" is one in memory. A file held by
// another process gives ErrLocked once opt.Wait is over, a file of another
// DuckDB version ErrNewer, any other file ErrForeign.
func Open(path string, opt Options) (*DB, error) {
	dsn, err := dataSource(path, opt)
	if err != nil {
		return nil, err
	}
	db := &DB{}
	temp, err := db.tempDir(path, opt)
	if err != nil {
		return nil, err
	}
	settings := dsn + "&temp_directory=" + url.QueryEscape(temp)
	connector, err := connect(settings, filepath.Base(path), opt.Wait)
	if err != nil {
		return nil, errors.Join(err, db.removeTemp())
	}
	db.pool = sql.OpenDB(connector)
	return db, nil
}

// dataSource builds the driver's data source name. The driver cuts it at the
// first "?" and parses it as a URL, which such a path would break.
func dataSource(path string, opt Options) (string, error) {
	values := url.Values{}
	if path != "" {
		if strings.ContainsAny(path, "?%#") {
			return "", fmt.Errorf("open database: the path must not contain ?, %% or #\nchoose another path")
		}
		whole, err := filepath.Abs(path) // a leading slash keeps a colon from reading as a URL scheme
		if err != nil {
			return "", fmt.Errorf("open database: %w", err)
		}
		path = whole
	}
	if opt.ReadOnly && path != "" {
		values.Set("access_mode", "READ_ONLY")
	}
	if opt.Threads > 0 {
		values.Set("threads", strconv.Itoa(opt.Threads))
	}
	limit := opt.MemoryLimit
	if limit == "" {
		limit = DefaultMemoryLimit
	}
	values.Set("memory_limit", limit)
	values.Set("autoinstall_known_extensions", "false") // a typing error must not reach for the network
	values.Set("autoload_known_extensions", "false")
	return path + "?" + values.Encode(), nil
}

// tempDir is where queries spill. A database that is not written gets a folder
// of its own, because the one beside it may be read-only.
func (db *DB) tempDir(path string, opt Options) (string, error) {
	if opt.TempDir != "" {
		return opt.TempDir, nil
	}
	if path != "" && !opt.ReadOnly {
		return path + ".tmp", nil
	}
	dir, err := os.MkdirTemp("", "assay-duckdb-")
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	db.ownTemp = dir
	return dir, nil
}

func connect(dsn, name string, wait time.Duration) (driver.Connector, error) {
	if wait == 0 {
		wait = DefaultWait
	}
	until := time.Now().Add(wait)
	for {
		connector, err := duckdb.NewConnector(dsn, initConnection)
		if err == nil {
			return connector, nil
		}
		opened := openError(name, err)
		if !errors.Is(opened, ErrLocked) || time.Now().After(until) {
			return nil, opened
		}
		time.Sleep(retryEvery)
	}
}

// initConnection runs on every new connection: the time zone is a setting of
// the connection, and would else be the machine's.
func initConnection(conn driver.ExecerContext) error {
	_, err := conn.ExecContext(context.Background(), "SET TimeZone = 'UTC'", nil)
	return Error("set up connection", err)
}

// Close closes all connections, writes the log into the file and gives up the
// lock.
func (db *DB) Close() error {
	return errors.Join(Error("close database", db.pool.Close()), db.removeTemp())
}

func (db *DB) removeTemp() error {
	if db.ownTemp == "" {
		return nil
	}
	return os.RemoveAll(db.ownTemp)
}

// SQL is the pool itself, for callers that scan rows. Errors of the driver can
// quote data: give them to Error before they go anywhere.
func (db *DB) SQL() *sql.DB { return db.pool }

// Exec runs statements outside a transaction; step names them in an error.
func (db *DB) Exec(ctx context.Context, step, query string, args ...any) error {
	_, err := db.pool.ExecContext(ctx, query, args...)
	return Error(step, err)
}

// Query runs one query; step names it in an error. Pass rows.Err() through
// Error as well.
func (db *DB) Query(ctx context.Context, step, query string, args ...any) (*sql.Rows, error) {
	rows, err := db.pool.QueryContext(ctx, query, args...)
	return rows, Error(step, err)
}
