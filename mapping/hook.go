package mapping

import "time"

// Hook is a URL that is told about changes of a task's status.
type Hook struct {
	ID      string  // unique in its task; "": the webhook of a run, which is told its end
	Flavour Flavour // of the dialect that writes what the URL is told
	URL     string
	// Token and Credentials are secrets of the receiver, by which it knows the caller: a word of its own, and what follows
	// Scheme in the header Authorization. They are never read back.
	Token, Scheme, Credentials string
	Fires                      []TaskStatus // the statuses that it is told
	CreatedAt                  time.Time
}
