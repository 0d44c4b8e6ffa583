// Package owner reports, exports and removes the data of a principal. The service creates it, and administrators use it
// through the bridge's routes. It creates no data and knows nothing of dialects. Start reading at Owners.
//
// A removal lets agents delete their copies before it deletes the thread that records them, and deletes each object in
// its own transaction, so that it needs no record of its progress. It repeats its passes until it finds nothing more,
// instead of locking the owner in all bridges (removal).
package owner
