package protocol

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// A heartbeat repeats until its function returns false or it is stopped.
func TestAHeartbeatRepeatsUntilStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		struck := 0
		b := newHeartbeat(time.Second, func() bool { struck++; return true })
		time.Sleep(3*time.Second + 1)
		b.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if struck != 3 {
			t.Errorf("struck %d times", struck)
		}
		struck = 0
		newHeartbeat(time.Second, func() bool { struck++; return false })
		time.Sleep(time.Minute)
		synctest.Wait()
		if struck != 1 {
			t.Errorf("struck %d times after the function had returned false", struck)
		}
	})
}

// A stopping bridge informs its clients that they may reconnect. Several rounds detect races between the ways to end a
// connection.
func TestASocketIsClosedWhenTheBridgeStops(t *testing.T) {
	t.Parallel()
	for range 20 {
		bridge, stop := context.WithCancel(t.Context())
		c := subscribed(t, newWorld(), bridge)
		stop()
		c.isToldThatTheBridgeStops()
	}
}

// unnoticed is a context whose end only Err reports.
type unnoticed struct {
	context.Context
	ended chan struct{}
}

func (c unnoticed) Done() <-chan struct{} { return c.ended }

func (c unnoticed) Err() error {
	select {
	case <-c.ended:
		return context.Canceled
	default:
		return nil
	}
}

func (unnoticed) AfterFunc(func()) func() bool { return func() bool { return true } }

// Reading the log also ends when the bridge stops. A socket that notices that first reports the same.
func TestASocketIsClosedAsTheLogEndsWithTheBridge(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.make("")
	bridge := unnoticed{t.Context(), make(chan struct{})}
	c := subscribed(t, w, bridge)
	close(bridge.ended)
	w.mu.Lock()
	w.broken = errors.New("the database is closed")
	w.ring()
	w.mu.Unlock()
	c.isToldThatTheBridgeStops()
}

// subscribed returns a socket with a subscription, whose requests have the bridge's context.
func subscribed(t *testing.T, w *world, bridge context.Context) *wire {
	t.Helper()
	s := w.server()
	ended := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = s.ServeSocket(w, r.WithContext(bridge), uuid(1), Snake)
		close(ended)
	}))
	t.Cleanup(func() {
		<-ended
		srv.Close()
	})
	c := dial(t, srv.URL)
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"]}}`)
	c.wants(`"subscription_id"`)
	return c
}

func (w *wire) isToldThatTheBridgeStops() {
	w.t.Helper()
	if _, _, err := w.conn.Read(patiently(w.t)); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		w.t.Error(err)
	}
}
