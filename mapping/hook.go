package mapping

import "time"

// Hook is a URL that is notified of changes in a task's status.
type Hook struct {
	ID      string  // unique in its task; "" for the webhook of a run, which is notified of the run's end
	Flavour Flavour // determines the format of the notifications
	URL     string
	// Token and Credentials are secrets by which the receiver recognizes the bridge. Token is an arbitrary word.
	// Credentials follow Scheme in the Authorization header. Neither is ever returned to clients.
	Token, Scheme, Credentials string
	Fires                      []TaskStatus // the statuses to notify of
	CreatedAt                  time.Time
}
