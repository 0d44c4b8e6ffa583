package fault

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

// TestSecondProcess checks that a second process on the same file is refused and does not harm the first.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	at := b.Thread()
	second, err := bridge.New(t.Context(), b.Cfg, bridge.Dialects(), zap.NewNop())
	if err == nil {
		_ = second.Close()
		t.Fatal("a second process was started")
	}
	if !rig.Says(err.Error(), b.Cfg.Database, "another process", "Stop that one first") {
		t.Errorf("refused with %v", err)
	}
	if waited := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK(); waited.At("__error__") != nil {
		t.Errorf("the first process afterwards: %s", waited.Body)
	}
}

// TestDamagedDatabase checks that the program does not start, names the file and the remedy, and leaves the file
// unchanged.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	for _, tt := range []struct {
		name   string
		damage func(file string) error
	}{
		{"deleted", os.Remove},
		{"emptied", func(file string) error { return os.Truncate(file, 0) }},
		{"cut short", func(file string) error { return os.Truncate(file, 5000) }},
		{"another kind of file", func(file string) error { return os.WriteFile(file, []byte(strings.Repeat("a text\n", 2000)), 0o600) }},
		{"a folder", func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
			b.Post(b.Thread()+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
			b.End()
			file := b.Cfg.Database
			for _, rest := range []string{file + "-wal", file + "-shm"} {
				_ = os.Remove(rest)
			}
			if err := tt.damage(file); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(file)
			app, err := bridge.New(t.Context(), b.Cfg, bridge.Dialects(), zap.NewNop())
			if err == nil {
				_ = app.Close()
				t.Fatal("the program starts with an empty database")
			}
			if !rig.Says(err.Error(), filepath.Base(file)) || len(err.Error()) < 40 {
				t.Errorf("refused with %v", err)
			}
			if after, _ := os.ReadFile(file); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}
