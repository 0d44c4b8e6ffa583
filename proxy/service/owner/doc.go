// Package owner reports, exports and removes the data of a principal. The service creates it, and administrators use it
// through the bridge's routes. It creates no data and does not depend on dialects. Start reading at Owners.
//
// Before a removal deletes a thread, it makes agents delete their copies, because only the thread records them. Each
// object is deleted in its own transaction, so no progress needs to be recorded. Instead of locking the owner in all
// bridges, it repeats its passes until nothing is left (removal).
package owner
