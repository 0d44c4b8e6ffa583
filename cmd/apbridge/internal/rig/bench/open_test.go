package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/coder/websocket"
	"github.com/google/uuid"
)

const (
	openStreams = 2000
	openDirect  = 100
	openRamp    = 2 * time.Second // in which they are opened, evenly
	openSettle  = 1500 * time.Millisecond
	openWindow  = 8 * time.Second // while all of them are open; then the first may end
)

// openStreams keeps many streams open. Each belongs to a separate run whose agent writes one event per second. The
// delay of an event is the time between the agent's write and the client's read, measured with one clock. A few clients
// read from the agent directly to measure delays caused by the machine. The floor applies while all streams are open.
// While streams are opened and closed, a thousand other runs begin and end per second.
func (b *bench) openStreams(t *testing.T) {
	for _, k := range []struct {
		what string
		read listener
	}{
		{"streams before a step agent", streamOf("ticks", "updates")},
		{"streams before a thread/run agent", streamOf("tickthreads", "custom")},
		{"WebSockets before a thread/run agent", socketOf("tickthreads")},
	} {
		seen := map[string]opened{}
		for _, v := range b.versions {
			seen[v.name] = b.holdOpen(t, v.binary, k.read)
		}
		each := func(value func(opened) float64) measured {
			return b.each(func(name string) float64 { return value(seen[name]) })
		}
		what := fmt.Sprintf("%d %s, 1 event/s: ", openStreams, k.what)
		b.table.atLeast(what+"events that came", each(func(o opened) float64 { return 100 * float64(len(o.late)) / (openStreams * tickEvents) }), "%", 100, 100)
		b.table.atMost(what+"gap p99, agent to client", each(func(o opened) float64 { return ms(percentile(o.steady, 0.99)) }), "ms", 50, 15)
		b.table.figure(what+"gap p99, opening and ending included", each(func(o opened) float64 { return ms(percentile(o.late, 0.99)) }), "ms")
		b.table.figure(what+"gap p99 without the bridge, meanwhile", each(func(o opened) float64 { return ms(percentile(o.direct, 0.99)) }), "ms")
		b.table.atMost(what+"memory a stream", each(func(o opened) float64 { return o.memory / openStreams }), "kB", 140, 72)
		b.table.atMost(what+"cores per 1,000", each(func(o opened) float64 { return o.cores * 1000 / openStreams }), "cores", 0.5, 0.3)
	}
}

// opened holds the measurements of the open streams.
type opened struct {
	late   []time.Duration // of each event, sorted
	steady []time.Duration // of those written while all were open
	direct []time.Duration // of the agent's own streams'
	memory float64         // kB more than before
	cores  float64         // the bridge's
}

// listener starts a run through the bridge at base and returns the delay of each event.
type listener func(ctx context.Context, c *http.Client, base string) ([]seenTick, error)

// streamOf streams a run of an agent in one mode.
func streamOf(agent, mode string) listener {
	body := fmt.Sprintf(`{"agent_id":%q,"input":"hi","stream_mode":[%q]}`, agent, mode)
	return func(ctx context.Context, c *http.Client, base string) ([]seenTick, error) {
		return readTicks(ctx, c, base+"/runs/stream", body)
	}
}

// socketOf starts a run of an agent over a WebSocket and follows it there.
func socketOf(agent string) listener {
	subscribe := `{"id":1,"method":"subscription.subscribe","params":{"channels":["custom"]}}`
	start := fmt.Sprintf(`{"id":2,"method":"run.start","params":{"assistant_id":%q,"input":{}}}`, agent)
	return func(ctx context.Context, c *http.Client, base string) (seen []seenTick, err error) {
		conn, _, err := websocket.Dial(ctx, base+"/threads/"+uuid.NewString()+"/stream/events", &websocket.DialOptions{HTTPClient: c})
		if err != nil {
			return nil, err
		}
		defer conn.CloseNow()
		for _, command := range []string{subscribe, start} {
			if err := conn.Write(ctx, websocket.MessageText, []byte(command)); err != nil {
				return nil, err
			}
		}
		for len(seen) < tickEvents {
			_, message, err := conn.Read(ctx)
			if err != nil {
				return seen, err
			}
			seen = appendTick(seen, message)
		}
		return seen, nil
	}
}

func (b *bench) holdOpen(t *testing.T, binary string, read listener) (o opened) {
	bridge := b.fresh(t, binary)
	defer bridge.Stop()
	benchLoad(t.Context(), 16, benchRound/2, benchWait(bridge.URL))
	idle := bridge.RSS()
	var seen, direct ticks
	var wg sync.WaitGroup
	client := benchClients(openStreams)
	defer client.CloseIdleConnections()
	every := time.NewTicker(openRamp / openStreams)
	defer every.Stop()
	for range openStreams {
		<-every.C
		wg.Go(func() { seen.add(read(t.Context(), client, bridge.URL)) })
	}
	for range openDirect {
		wg.Go(func() { direct.add(readTicks(t.Context(), client, b.peers.tickThreads+"/threads/t/runs/stream", "{}")) })
		<-every.C
	}
	<-time.After(openSettle)
	before, begin := bridge.CPU(), time.Now()
	<-time.After(openWindow)
	o.cores = float64(bridge.CPU()-before) / float64(time.Since(begin))
	o.memory = (bridge.RSS() - idle) * 1024
	wg.Wait()
	if seen.err != nil {
		t.Errorf("%d streams: %v", openStreams, seen.err)
	}
	always := func(time.Time) bool { return true }
	o.late, o.direct = seen.late(always), direct.late(always)
	o.steady = seen.late(func(at time.Time) bool { return at.After(begin) && at.Before(begin.Add(openWindow)) })
	return o
}

// ticks collects the events that the streams received.
type ticks struct {
	mu   sync.Mutex
	seen []seenTick
	err  error
}

// seenTick is an event with the time of its write and the delay until it was read.
type seenTick struct {
	at   time.Time
	late time.Duration
}

func (s *ticks) add(seen []seenTick, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen...)
	if err != nil {
		s.err = err
	}
}

// late returns the sorted delays of events that were written in the given period.
func (s *ticks) late(when func(time.Time) bool) (list []time.Duration) {
	for _, t := range s.seen {
		if when(t.at) {
			list = append(list, t.late)
		}
	}
	slices.Sort(list)
	return list
}

// readTicks streams a run and returns the delay of each event.
func readTicks(ctx context.Context, c *http.Client, url, body string) (seen []seenTick, err error) {
	res, err := benchOpen(ctx, c, url, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		seen = appendTick(seen, lines.Bytes())
	}
	return seen, lines.Err()
}

// appendTick adds the event in a text, if there is one.
func appendTick(seen []seenTick, text []byte) []seenTick {
	at, err := rig.Between(text, "at=", ";")
	if err != nil {
		return seen
	}
	written, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return seen
	}
	made := time.Unix(0, written)
	return append(seen, seenTick{made, time.Since(made)})
}
