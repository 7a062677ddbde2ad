// Package store opens the database an analyst works with. It is the only
// importer of the DuckDB driver.
//
// In: a path, or none for a database in memory, and schema.sql.
// Out: a handle whose connections are all set up the same way, transactions
// that roll back on any error, and errors that name a step and a class.
//
// The database is a cache: everything in it can be rebuilt from run
// directories or from a bundle. DuckDB locks the file of a writer against
// every other process, so a DB is opened late and closed early.
//
// It never passes on the text of a driver error: that text can quote the data
// a query was reading.
//
//	db, err := store.Open("assay.duckdb", store.Options{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	err = db.CreateTables(ctx)
package store
