package protocol

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// A beat comes again and again until it reports that there is no use in it, or is ended.
func TestABeatGoesOnUntilItIsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		struck := 0
		b := newBeat(time.Second, func() bool { struck++; return true })
		time.Sleep(3*time.Second + 1)
		b.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if struck != 3 {
			t.Errorf("struck %d times", struck)
		}
		struck = 0
		newBeat(time.Second, func() bool { struck++; return false })
		time.Sleep(time.Minute)
		synctest.Wait()
		if struck != 1 {
			t.Errorf("struck %d times though it was of no use", struck)
		}
	})
}

// A bridge that stops says so to a client, which then knows that it may come back. Its ways to end the connection must
// not race, so there are some rounds.
func TestASocketIsClosedWhenTheBridgeStops(t *testing.T) {
	t.Parallel()
	for range 20 {
		closedByTheBridge(t)
	}
}

func closedByTheBridge(t *testing.T) {
	t.Helper()
	s := newWorld().server()
	bridge, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = s.ServeSocket(w, r.WithContext(bridge), uuid(1), Snake)
		close(ended)
	}))
	t.Cleanup(srv.Close)
	c := dial(t, srv.URL)
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"]}}`)
	c.wants(`"subscription_id"`)
	stop()
	if _, _, err := c.conn.Read(patiently(t)); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("%v", err)
	}
	<-ended
}
