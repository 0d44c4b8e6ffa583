package archive_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/proxy/store/archive"
	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

// An export does not depend on the keys of its database, and an import seals with those of its target. Without the keys
// nothing is exported.
func TestAnExportIsPlainAndAnImportIsSealed(t *testing.T) {
	t.Parallel()
	key := append(bytes.Repeat([]byte{1}, seal.KeyBytes-1), 0)
	ring, err := seal.New([][]byte{key}, false)
	ok(t, err)
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		path, dsn := filled(t, newest), fresh(t)
		odd(t, path)
		plain := exported(t, path)
		_, err := archive.Import(t.Context(), dsn, archive.Options{Keys: ring}, strings.NewReader(plain), zap.NewNop(), silent)
		ok(t, err)
		if !strings.Contains(dsn, "://") {
			data, err := os.ReadFile(dsn)
			ok(t, err)
			if !strings.Contains(plain, "go on") || bytes.Contains(data, []byte("go on")) {
				t.Error("the imported bodies are not sealed")
			}
		}
		var again bytes.Buffer
		_, err = archive.Export(t.Context(), dsn, ring, &again, silent)
		ok(t, err)
		if diff := cmp.Diff(strings.Split(plain, "\n"), strings.Split(again.String(), "\n")); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
		again.Reset()
		if _, err = archive.Export(t.Context(), dsn, nil, &again, silent); err == nil || !strings.Contains(err.Error(), seal.IDOf(key).String()) || again.Len() > 0 {
			t.Errorf("without the key: %v, %d bytes", err, again.Len())
		}
	})
}
