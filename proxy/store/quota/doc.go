// Package quota counts what keys and tenants keep in the database, and refuses what would be more
// than they may, in the transaction that adds it.
package quota
