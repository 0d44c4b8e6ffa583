// Package quota counts what keys and tenants keep in the database, and refuses what would be more than they may, in the
// transaction that adds it. Package store and those below it ask Keeper; package limit says how much is allowed. It
// refuses additions only, never deletions.
//
// A quota has a row whose number is never below what is there. Additions raise it; deletions, which have many ways,
// leave it. Only when the number would pass the quota are the rows counted, under the lock of that row. So most
// additions cost one statement, and none passes the quota. The rows are emptied when a bridge starts and when its
// configuration is reloaded, since nothing was counted while there was no quota.
package quota
