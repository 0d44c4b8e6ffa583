package seal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// The test vectors are those of c2sp.org/XAES-256-GCM.
func TestXAESMatchesItsSpecification(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		key         byte
		bound, want string
	}{
		{1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
		{3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
	} {
		x, err := newXAES(bytes.Repeat([]byte{v.key}, KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		got := x.seal(nil, []byte("ABCDEFGHIJKLMNOPQRSTUVWX"), []byte("XAES-256-GCM"), []byte(v.bound))
		if hex.EncodeToString(got) != v.want {
			t.Errorf("key %d: %x, want %s", v.key, got, v.want)
		}
	}
}

func keys(n int) (list [][]byte) {
	for i := range n {
		key := bytes.Repeat([]byte{byte(i + 1)}, KeyBytes)
		key[0] = 0
		list = append(list, key)
	}
	return list
}

func ring(t *testing.T, plain bool, keys ...[]byte) *Ring {
	t.Helper()
	r, err := New(keys, plain)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBodiesOpenOnlyAtTheirPlaceUnderTheirKey(t *testing.T) {
	t.Parallel()
	k := keys(2)
	body, place := []byte(`{"a":"secret"}`), []byte("events.data 1")
	first, both, second := ring(t, false, k[0]), ring(t, false, k[1], k[0]), ring(t, false, k[1])
	sealed := func() []byte { return first.Seal(body, place) }
	if s := sealed(); bytes.Contains(s, []byte("secret")) || len(s) != len(body)+Overhead || bytes.Equal(s, sealed()) {
		t.Fatalf("sealed as %q", s)
	}
	for name, r := range map[string]*Ring{"its own": first, "an older one": both, "to read alone": ring(t, true, k[0])} {
		if got, err := r.Open(sealed(), place); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, r := range map[string]*Ring{"another key": second, "no ring": nil} {
		if _, err := r.Open(sealed(), place); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), IDOf(k[0]).String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := first.Open(sealed(), []byte("events.data 2")); !errors.Is(err, ErrBroken) {
		t.Errorf("at another place: %v", err)
	}
	for at := headSize; at < len(sealed()); at++ {
		s := sealed()
		s[at] ^= 1
		if _, err := first.Open(s, place); !errors.Is(err, ErrBroken) {
			t.Fatalf("changed at %d: %v", at, err)
		}
		if _, err := first.Open(sealed()[:at], place); !errors.Is(err, ErrBroken) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
}

func TestWithoutAKeyBodiesAreUnchanged(t *testing.T) {
	t.Parallel()
	k := keys(1)
	for _, r := range []*Ring{nil, ring(t, false), ring(t, true, k...)} {
		for _, body := range []string{"", "{}", "\xa9", "\x00\xff", "\xa9a", "\xa9ab\x02long enough to be sealed"} {
			if got := r.Seal([]byte(body), nil); string(got) != body {
				t.Errorf("%q became %q", body, got)
			}
		}
		lookalike := ring(t, false, k...).Seal([]byte("x"), nil) // such as a file that is part of a sealed database
		if got, err := r.Open(r.Seal(lookalike, nil), nil); err != nil || !bytes.Equal(got, lookalike) {
			t.Errorf("a body that looks sealed became %q, %v", got, err)
		}
	}
}

func TestARingHasEachKeyOnce(t *testing.T) {
	t.Parallel()
	k := keys(1)[0]
	for _, list := range [][][]byte{{k, k}, {k[1:]}} {
		if _, err := New(list, false); err == nil {
			t.Errorf("%x was accepted", list)
		}
	}
}

func FuzzOpen(f *testing.F) {
	k := keys(1)
	r, err := New(k, false)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("{}"))
	f.Add(r.Seal([]byte("{}"), nil))
	f.Add(append(headOf(KeyID{}), "{}"...))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := r.Open(bytes.Clone(body), []byte("elsewhere"))
		if _, sealed := Sealed(body); sealed && err == nil {
			t.Fatalf("%x opened as %x", body, got)
		}
	})
}
