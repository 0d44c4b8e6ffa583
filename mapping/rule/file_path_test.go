package rule

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

func TestCleanPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a.txt": "a.txt", "/a.txt": "a.txt", "./a.txt": "a.txt", "/./a": "a", "././a": "a", "src/a.py": "src/a.py", "/src/./a.py": "src/a.py",
		"hello wörld.txt": "hello wörld.txt", ".env": ".env", "a..b": "a..b", "..a": "..a", "a:b/c": "", "ab:c": "ab:c", "notes 10:30.md": "notes 10:30.md",
		"console.log": "console.log", "com10": "com10", "lpt": "lpt", "%2e%2e/x": "%2e%2e/x", "a.": "", "a ": "", "a./b": "", "a .": "", "x/y. ": "", "10:30.txt": "10:30.txt", "x/10:30": "x/10:30", "x/y:z": "", "x/C:": "", "/x/c:/y": "",
		strings.Repeat("a", 1024): strings.Repeat("a", 1024),

		"": "", "/": "", ".": "", "./": "", "..": "", "../x": "", "/../x": "", "a/../b": "", "a/..": "", "//x": "", "a//b": "", "a/": "",
		`..\x`: "", `a\b`: "", `C:\x`: "", "C:/x": "", "/c:x": "", `\\server\share`: "", "a\x00b": "", "a\nb": "", "a\x7fb": "", "a\u0085b": "", "a\xffb": "",
		"...": "", ".. ": "", ". .": "", " ": "", "a/ /b": "", "con": "", "CON.txt": "", "x/nul": "", "aux.tar.gz": "", "COM1": "", "lpt9.x": "", "com¹": "", "con ": "", "con .txt": "", "nul:": "", "CONIN$": "",
		strings.Repeat("a", 1025): "",
	} {
		got, err := CleanPath(in)
		if got != want || (want == "") != (mapping.Classify(err).Class == mapping.Invalid && err != nil) {
			t.Errorf("CleanPath(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestArtifactPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, rel, want string }{
		{"a.py", "", "a.py"}, {"a.py", ".", "a.py"}, {"a.py", "./", "a.py"}, {"a.py", "/", "a.py"},
		{"a.py", "a.py", "a.py"}, {"a.py", "src/a.py", "src/a.py"}, {"a.py", "/src/a.py", "src/a.py"}, {"a.py", "./src/a.py", "src/a.py"},
		{"a.py", "src", "src/a.py"}, {"a.py", "python/code/", "python/code/a.py"}, {"code", "python/code/", "python/code/code"},
		{"a.py", "src/ba.py", "src/ba.py/a.py"}, {"", "src/a.py", "src/a.py"}, {"src/a.py", "", "src/a.py"}, {"src/a.py", "src/a.py", "src/a.py"},
		{"", "", ""}, {"../x", "", ""}, {"x", "../..", ""}, {"/etc/passwd", "", "etc/passwd"}, {"x", "//etc", ""}, {"x", "a\\b", ""},
	} {
		got, err := ArtifactPath(c.name, c.rel)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("ArtifactPath(%q, %q) = %q, %v, want %q", c.name, c.rel, got, err, c.want)
		}
	}
}

func FuzzCleanPath(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "/./a", "C:/x", "con .txt", "a\\b", " . /x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		clean, err := CleanPath(p)
		if err != nil {
			return
		}
		if again, err := CleanPath(clean); err != nil || again != clean {
			t.Errorf("CleanPath(%q) = %q, but of that %q, %v", p, clean, again, err)
		}
		if strings.HasPrefix(clean, "/") || strings.ContainsAny(clean, "\\\x00") || len(clean) > 1024 {
			t.Errorf("CleanPath(%q) = %q", p, clean)
		}
		for part := range strings.SplitSeq(clean, "/") {
			if part == "" || strings.Trim(part, ". ") == "" {
				t.Errorf("CleanPath(%q) = %q has the part %q", p, clean, part)
			}
		}
	})
}

func TestExcluded(t *testing.T) {
	t.Parallel()
	patterns := []string{"*.log", "build", "/tmp/**", "a/*/c"}
	for name, want := range map[string]bool{
		"x.log": true, "sub/x.log": false, "build": true, "build/x/y": true, "builds": false, "tmp/x": true, "a/b/c": true, "a/b/c/d": true, "a/b": false,
	} {
		if got := Excluded(name, patterns); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
