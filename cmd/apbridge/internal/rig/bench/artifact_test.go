package bench

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

const artifactSize = 100 << 20

// artifacts sends a large file to a task and reads it back.
func (b *bench) artifacts(t *testing.T) {
	client := benchClients(1)
	defer client.CloseIdleConnections()
	up, aside, down, peak := samples{}, samples{}, samples{}, samples{}
	speed := func(begin time.Time) float64 { return artifactSize / 1e6 / time.Since(begin).Seconds() }
	for _, v := range b.versions {
		bridge := b.fresh(t, v.binary)
		for range 3 {
			task, begin := rig.NewLargeTask(t, client, bridge.URL), time.Now()
			rig.UploadLarge(t, client, task, "path/first", artifactSize)
			up.add(v.name, speed(begin))
			begin = time.Now()
			id := rig.UploadLarge(t, client, task, "", artifactSize)
			aside.add(v.name, speed(begin))
			begin = time.Now()
			rig.DownloadLarge(t, client, task, id, artifactSize)
			down.add(v.name, speed(begin))
		}
		peak.add(v.name, bridge.Peak())
		bridge.Stop()
	}
	b.table.figure("100 MB artifact up", up.measured(), "MB/s")
	b.table.figure("100 MB artifact up, path not known before the file", aside.measured(), "MB/s")
	b.table.figure("100 MB artifact down", down.measured(), "MB/s")
	b.table.figure("100 MB artifacts up and down: peak RSS", peak.measured(), "MB")
}
