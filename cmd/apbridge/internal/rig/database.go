package rig

import "database/sql"

// SQLOn executes a statement on a SQLite file that no bridge has open.
func SQLOn(file, text string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(text)
	return err
}
