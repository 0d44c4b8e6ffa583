package main_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestProf(t *testing.T) {
	if os.Getenv("PROF") == "" {
		t.Skip()
	}
	b := &bench{binary: os.Getenv("PROF_BINARY"), peers: startPeers(t), table: &benchTable{}}
	if b.binary == "" {
		b.binary = benchBuild(t)
	}
	admin := freeAddress(t)
	sync := os.Getenv("PROF_SYNC")
	if sync == "" {
		sync = "full"
	}
	folder := t.TempDir()
	text := "admin: " + admin + benchConfigText(filepath.Join(folder, "b.db"), sync, b.peers)
	br := startBridge(t, b.binary, folder, text)
	n, _ := strconv.Atoi(os.Getenv("PROF_CLIENTS"))
	secs, _ := strconv.Atoi(os.Getenv("PROF_SECS"))
	work := benchWait(br.url)
	switch os.Getenv("PROF_WAY") {
	case "stream":
		work = benchStream(br.url)
	}
	benchLoad(t.Context(), n, time.Second, work)
	done := make(chan struct{})
	if out := os.Getenv("PROF_OUT"); out != "" {
		go func() {
			defer close(done)
			res, err := http.Get("http://" + admin + "/debug/pprof/profile?seconds=" + strconv.Itoa(secs))
			if err != nil {
				t.Error(err)
				return
			}
			f, _ := os.Create(out)
			io.Copy(f, res.Body)
			f.Close()
		}()
	} else {
		close(done)
	}
	before := br.cpu()
	s := benchLoad(t.Context(), n, time.Duration(secs)*time.Second, work)
	c := (br.cpu() - before) / time.Duration(s.runs)
	<-done
	d := benchLoad(t.Context(), n, time.Second*3, benchTask(b.peers.agent))
	t.Logf("%s %d clients: %.0f/s p50 %v cpu/run %v failed %d; direct %.0f/s p50 %v; rate ratio %.3f p50 ratio %.2f", sync, n, s.rate(), percentile(s.took, .5), c, s.failed, d.rate(), percentile(d.took, .5), s.rate()/d.rate(), float64(percentile(s.took, .5))/float64(percentile(d.took, .5)))
}

func benchConfigText(db, sync string, p benchPeers) string {
	return "\ndatabase: " + db + "\nsynchronous: " + sync + "\ndefault_agent: instant\nagents:\n  instant: {url: \"" + p.agent + "\", dialect: taskstep, concurrency: 4096}\n"
}
