//go:build unix

package crash

import (
	"context"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// replay waits for the end of a run and reads all of it, from the beginning.
func (c *soakClient) replay(ctx context.Context, r *soakRun) {
	for pause(ctx, 50*time.Millisecond) {
		run, status := c.ask(ctx, "GET", "/threads/"+r.thread+"/runs/"+r.id, "", "")
		if status == http.StatusNotFound {
			r.status = ""
			return
		}
		if status != http.StatusOK {
			continue
		}
		r.status, _ = run["status"].(string)
		r.code, _ = run["error_code"].(string)
		if !final(r.status) {
			continue
		}
		if frames, closed := c.stream(ctx, r, "-1"); closed {
			r.replayed = frames
			return
		}
	}
}

// list ends a task that its client has abandoned, and reads its steps.
func (c *soakClient) list(ctx context.Context, k *soakTask) {
	if !k.over {
		_, _ = c.insist(ctx, "POST", "/ap/v1/agent/tasks/"+k.id+"/cancel", "")
	}
	for ctx.Err() == nil {
		list, status := c.ask(ctx, "GET", "/ap/v1/agent/tasks/"+k.id+"/steps?page_size=1000", "", "")
		if status == http.StatusNotFound {
			return
		}
		if status == http.StatusOK {
			k.there = true
			steps, _ := list["steps"].([]any)
			for _, s := range steps {
				id, _ := rig.Dig(s, "step_id").(string)
				k.listed = append(k.listed, id)
			}
			return
		}
		pause(ctx, 50*time.Millisecond)
	}
}
