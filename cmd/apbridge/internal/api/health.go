package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
)

// healthPatience bounds one readiness request; healthEvery is the pause between two.
const (
	healthPatience = 5 * time.Second
	healthEvery    = 200 * time.Millisecond
)

// Ready returns nil if the bridge accepts requests, or an error with the reason. It retries for up to wait; if wait is
// 0, it tries once.
func (c *Client) Ready(ctx context.Context, wait time.Duration) error {
	over := time.Now().Add(wait)
	for {
		err := c.readyNow(ctx)
		if err == nil || ctx.Err() != nil || time.Now().After(over) {
			return err
		}
		if pause.For(ctx, healthEvery) != nil {
			return context.Cause(ctx)
		}
	}
}

func (c *Client) readyNow(ctx context.Context) error {
	short, stop := context.WithTimeoutCause(ctx, healthPatience, fmt.Errorf("%s did not answer within %s", c.base, healthPatience))
	defer stop()
	req, err := c.request(short, http.MethodGet, "/readyz", nil)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.unreached(short, err)
	}
	defer res.Body.Close()
	var health struct{ Status, Reason string }
	raw, _ := io.ReadAll(io.LimitReader(res.Body, mostWords))
	switch err := json.Unmarshal(raw, &health); {
	case err != nil || health.Status == "":
		return errors.New(c.strange(res, raw) + ": apbridge health URL")
	case res.StatusCode != http.StatusOK:
		return errors.New("the bridge is " + health.Status + ": " + health.Reason)
	}
	return nil
}
