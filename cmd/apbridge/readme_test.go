package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// TestReadmeCommands checks that a newcomer, or a script, can copy each single command.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)^.*?\n```sh\n(.*?)\n```\n")
	for heading, want := range map[string]string{
		"Run it":  "go run ./cmd/apbridge demo",
		"Test it": "go test ./...",
	} {
		_, section, _ := strings.Cut(string(raw), "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if diff := cmp.Diff(want, block.FindStringSubmatch("\n" + section)[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", heading, diff)
		}
		if n := strings.Count(section, "\n```sh\n"); n != 1 {
			t.Errorf("%s: %d sh blocks", heading, n)
		}
	}
	if !strings.Contains(string(raw), "http://127.0.0.1:8080") {
		t.Error("the README does not name the URL")
	}
}

// TestDocumentLinks checks that the targets of links exist, and that the README leads to every document.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	const root = "../.."
	links, reached := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]+))?\)`), map[string]bool{}
	documents, err := filepath.Glob(root + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(documents) == 0 || len(more) == 0 {
		t.Fatalf("%d and %d documents, %v", len(documents), len(more), err)
	}
	documents = append(documents, more...)
	for _, doc := range documents {
		raw, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links.FindAllStringSubmatch(string(raw), -1) {
			target := filepath.Join(filepath.Dir(doc), link[1])
			if link[1] == "" {
				target = doc
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s leads nowhere: %s", doc, link[1])
			}
			if link[2] != "" && !headings(t, target)[link[2]] {
				t.Errorf("%s leads to a heading that is not there: %s#%s", doc, link[1], link[2])
			}
			if filepath.Base(doc) == "README.md" {
				reached[target] = true
			}
		}
	}
	for _, doc := range documents {
		if filepath.Base(doc) != "README.md" && !reached[filepath.Clean(doc)] {
			t.Errorf("the README does not lead to %s", doc)
		}
	}
}

// headings returns the anchors of a document, as GitHub creates them.
func headings(t *testing.T, file string) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(raw), -1) {
		text := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors[strings.ReplaceAll(text, " ", "-")] = true
	}
	return anchors
}

// TestFilesInDocuments checks that the Go files named in documents, by the end of their paths, exist.
func TestFilesInDocuments(t *testing.T) {
	t.Parallel()
	const root = "../.."
	files := goFiles(t, root)
	documents, err := filepath.Glob(root + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named, found := regexp.MustCompile("`([a-z0-9_/]+\\.go)`"), 0
	for _, doc := range documents {
		raw, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllStringSubmatch(string(raw), -1) {
			found++
			if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+name[1]) }) {
				t.Errorf("%s names a file that is not there: %s", doc, name[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d files are named", found)
	}
}

// goFiles returns the paths of the program's files.
func goFiles(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case filepath.Ext(path) == ".go":
			files = append(files, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestReadmeConfiguration checks that the README's configuration is valid.
func TestReadmeConfiguration(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(string(raw))[1]
	file := t.TempDir() + "/apbridge.yaml"
	rig.WriteFile(t, file, text)
	from := console.ConfigFlags{File: file}
	if _, err := from.Load([]string{"LEGACY_TOKEN=secret"}, nil); err != nil {
		t.Error(err)
	}
}

// TestConfigurationsInDocuments checks that a bridge accepts each configuration in documents, with an agent added if it
// has none. The files that it names do not exist here.
func TestConfigurationsInDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	folder, seen := t.TempDir(), 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
			text := block[1]
			if strings.HasPrefix(text, "receivers:") { // of a collector
				continue
			}
			seen++
			if !strings.Contains("\n"+text, "\nagents:") {
				text += "agents: {a: {url: 'http://127.0.0.1:8000'}}\n"
			}
			shown := filepath.Join(folder, filepath.Base(file)+"."+strconv.Itoa(i)+".yaml")
			rig.WriteFile(t, shown, text)
			from := console.ConfigFlags{File: shown}
			_, err := from.Load([]string{"OPENAI_API_KEY=secret"}, nil)
			var wrong config.Problems
			if err != nil && !errors.As(err, &wrong) {
				t.Errorf("%s: %v", filepath.Base(shown), err)
			}
			for _, problem := range wrong {
				if !strings.Contains(problem.Text, "no such file") && !strings.Contains(problem.Text, "does not exist") {
					t.Errorf("%s: %s: %s", filepath.Base(shown), problem.Where, problem.Text)
				}
			}
		}
	}
	if seen < 12 {
		t.Errorf("%d configurations", seen)
	}
}
