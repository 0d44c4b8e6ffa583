package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
)

// watchEvery is the interval at which the configuration files are read. Modification times are not sufficient, because
// the target of a link may be replaced (as in a ConfigMap) and files may be copied with their times.
const watchEvery = 2 * time.Second

// reloader reloads the configuration on a signal and when its files have changed.
type reloader struct {
	from     console.ConfigFlags
	logs     console.LogFlags
	environ  []string
	app      *bridge.App
	switched *console.Log
	systemd  supervisor
	hangups  <-chan os.Signal // nil if there is no such signal

	read contents // contents at the last reload
}

// contents maps file names to digests. An unreadable file has the digest of an empty one.
type contents map[string][sha256.Size]byte

func (c contents) note(file string, content []byte) { c[file] = sha256.Sum256(content) }

// now returns the current contents of the same files. Files that are not regular, such as pipes, cannot be read again.
func (c contents) now() contents {
	now := maps.Clone(c)
	for file := range c {
		if at, err := os.Stat(file); err == nil && !at.Mode().IsRegular() {
			continue
		}
		content, _ := config.ReadFile(file)
		now.note(file, content)
	}
	return now
}

// attend reloads the configuration and notifies the supervisor until stop is called. A shutdown ends reloads but not
// notifications.
func (r *reloader) attend(ctx context.Context) (stop func()) {
	serving, end := context.WithCancel(ctx)
	alive, die := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	r.app.OnServing(func() {
		r.systemd.ready()
		all.Go(func() { r.run(serving) })
	})
	all.Go(func() { r.systemd.live(alive) })
	told := make(chan struct{})
	forget := context.AfterFunc(ctx, func() { defer close(told); r.systemd.stopping() })
	return func() {
		if !forget() {
			<-told // a bridge without work may stop before this goroutine starts
		}
		end()
		die()
		all.Wait()
	}
}

// seen records newly read contents. A file that is too large was not read completely and must not cause endless
// reloads.
func (c contents) seen(looked contents) {
	for file := range c {
		if sum, ok := looked[file]; ok {
			c[file] = sum
		}
	}
}

// run reloads until ctx ends. It reloads on each signal, and when files have changed and then stayed the same for an
// interval, since they may be written in pieces.
func (r *reloader) run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last := r.read
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.hangups:
			r.reload()
		case <-tick.C:
			now := r.read.now()
			if settled := maps.Equal(now, last); settled && !maps.Equal(now, r.read) {
				r.reload()
				r.read.seen(now)
			}
			last = now
		}
	}
}

// reload changes the log's setting only if it has changed in the configuration, because it may have been set through
// the admin listener.
func (r *reloader) reload() {
	defer r.systemd.reloading()()
	change, err := r.app.Reload(r.load)
	for _, key := range change.Keys {
		if err == nil && (key == "log.level" || key == "log.format") {
			console.Must(r.switched.Set(r.logs.Over(change.Config.Log)))
		}
	}
}

func (r *reloader) load() (*config.Config, error) {
	if file := r.from.Path(r.environ); file != "" {
		if at, err := os.Stat(file); err == nil && !at.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file, so it cannot be reloaded", file)
		}
	}
	read := contents{}
	cfg, err := r.from.LoadFrom(r.environ, nil, read.note)
	r.read = read
	return cfg, err
}
