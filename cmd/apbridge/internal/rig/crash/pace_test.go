package crash

import (
	"net/http"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// paced is the agent whose steps take the scene's time.
func (s scene) paced(agent http.Handler) http.Handler {
	if s.pace == 0 {
		return agent
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rig.StepPosts(r) {
			<-time.After(s.pace)
		}
		agent.ServeHTTP(w, r)
	})
}
