package rig

import "database/sql"

func SQLOn(file, text string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(text)
	return err
}
