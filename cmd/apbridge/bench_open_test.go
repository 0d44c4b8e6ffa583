package main_test

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
)

const (
	openStreams = 2000
	openDirect  = 100
	openRamp    = 2 * time.Second // in which they are opened, evenly
	openSettle  = 1500 * time.Millisecond
	openWindow  = 8 * time.Second // while all of them are open; then the first may end
)

// openStreams holds many streams open, each of a run of its own whose agent
// writes an event a second. An event is late by the time between the agent's
// writing it and the client's reading it, by one clock. A few clients read the
// agent itself meanwhile: what they find late is the machine's doing. The floor is
// for the time in which all are open; while they are opened and end, a thousand runs
// a second are begun and ended beside.
func (b *bench) openStreams(t *testing.T) {
	for _, k := range []struct{ before, agent, mode string }{
		{"a step agent", "ticks", "updates"},
		{"a thread/run agent", "tickthreads", "custom"},
	} {
		o := b.holdOpen(t, k.agent, k.mode)
		what := fmt.Sprintf("%d streams before %s, 1 event/s: ", openStreams, k.before)
		b.table.atLeast(what+"events that came", 100*float64(len(o.late))/(openStreams*tickEvents), "%", 100, 100)
		b.table.atMost(what+"gap p99, agent to client", ms(percentile(o.steady, 0.99)), "ms", 50, 15)
		b.table.figure(what+"gap p99, opening and ending included", ms(percentile(o.late, 0.99)), "ms")
		b.table.figure(what+"gap p99 without the bridge, meanwhile", ms(percentile(o.direct, 0.99)), "ms")
		b.table.atMost(what+"memory a stream", o.memory/openStreams, "kB", 140, 72)
		b.table.atMost(what+"cores per 1,000", o.cores*1000/openStreams, "cores", 0.5, 0.3)
	}
}

// opened is what was seen of the open streams.
type opened struct {
	late   []time.Duration // of each event, sorted
	steady []time.Duration // of those written while all were open
	direct []time.Duration // of the agent's own streams'
	memory float64         // kB more than before
	cores  float64         // the bridge's
}

func (b *bench) holdOpen(t *testing.T, agent, mode string) (o opened) {
	bridge := b.fresh(t)
	defer bridge.stop()
	benchLoad(t.Context(), 16, benchRound/2, benchWait(bridge.url))
	idle := bridge.rss()
	var seen, direct ticks
	var wg sync.WaitGroup
	client := benchClients(openStreams)
	defer client.CloseIdleConnections()
	body := fmt.Sprintf(`{"agent_id":%q,"input":"hi","stream_mode":[%q]}`, agent, mode)
	every := time.NewTicker(openRamp / openStreams)
	defer every.Stop()
	for range openStreams {
		<-every.C
		wg.Go(func() { seen.add(readTicks(t.Context(), client, bridge.url+"/runs/stream", body)) })
	}
	for range openDirect {
		wg.Go(func() { direct.add(readTicks(t.Context(), client, b.peers.tickThreads+"/threads/t/runs/stream", "{}")) })
		<-every.C
	}
	<-time.After(openSettle)
	before, begin := bridge.cpu(), time.Now()
	<-time.After(openWindow)
	o.cores = float64(bridge.cpu()-before) / float64(time.Since(begin))
	o.memory = (bridge.rss() - idle) * 1024
	wg.Wait()
	if seen.err != nil {
		t.Errorf("%d streams of %s: %v", openStreams, agent, seen.err)
	}
	always := func(time.Time) bool { return true }
	o.late, o.direct = seen.late(always), direct.late(always)
	o.steady = seen.late(func(at time.Time) bool { return at.After(begin) && at.Before(begin.Add(openWindow)) })
	return o
}

// ticks gathers what the streams saw.
type ticks struct {
	mu   sync.Mutex
	seen []seenTick
	err  error
}

// seenTick is an event: when it was written, and how much later it was read.
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

// late is by how much those were late that were written at such times, sorted.
func (s *ticks) late(when func(time.Time) bool) (list []time.Duration) {
	for _, t := range s.seen {
		if when(t.at) {
			list = append(list, t.late)
		}
	}
	slices.Sort(list)
	return list
}

// readTicks streams a run and tells how late each of its events came.
func readTicks(ctx context.Context, c *http.Client, url, body string) (seen []seenTick, err error) {
	res, err := benchOpen(ctx, c, url, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		at, err := between(lines.Bytes(), "at=", ";")
		if err != nil {
			continue
		}
		written, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return seen, err
		}
		made := time.Unix(0, written)
		seen = append(seen, seenTick{made, time.Since(made)})
	}
	return seen, lines.Err()
}
