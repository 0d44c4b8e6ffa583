package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/talk"
	"github.com/apbridge/apbridge/mapping/rule"
)

// saveFiles writes the files of a thread into a folder and overwrites existing ones. It never writes outside the
// folder, whatever the file names, even if the folder contains links. The error lists the files that could not be
// saved. The others are saved.
func (p *program) saveFiles(ctx context.Context, c *api.Client, thread, folder string) error {
	t, err := c.Thread(ctx, thread)
	if err != nil || len(t.Values.Files) == 0 {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	var unsaved []string
	for _, name := range talk.Paths(t.Values.Files) {
		if err := p.saveFile(ctx, c, root, name, t.Values.Files[name]); err != nil {
			unsaved = append(unsaved, fmt.Sprintf("\n  %s: %v", name, console.ReasonOf(err)))
		}
	}
	if len(unsaved) == 0 {
		return nil
	}
	return fmt.Errorf("%d of the agent's %d files could not be saved in %s:%s", len(unsaved), len(t.Values.Files), folder, strings.Join(unsaved, ""))
}

func (p *program) saveFile(ctx context.Context, c *api.Client, root *os.Root, name string, entry json.RawMessage) error {
	whole, err := json.Marshal(map[string]json.RawMessage{name: entry})
	if err != nil {
		return err
	}
	list, _ := rule.DecodeFiles(whole)
	if len(list) == 0 {
		return errors.New("its name or content cannot be read")
	}
	file := list[0]
	if err := root.MkdirAll(path.Dir(file.Path), 0o755); err != nil {
		return err
	}
	to, err := root.Create(file.Path)
	if err != nil {
		return err
	}
	if err := errors.Join(content(ctx, c, file, entry, to), to.Close()); err != nil {
		return errors.Join(err, root.Remove(file.Path)) // an incomplete file must not look complete
	}
	fmt.Fprintf(p.Out, "saved %s\n", path.Join(root.Name(), file.Path))
	return nil
}

// content writes the contents of a file, which are in its entry or at its link.
func content(ctx context.Context, c *api.Client, file rule.File, entry json.RawMessage, to io.Writer) error {
	if file.Reference == "" {
		_, err := to.Write(file.Content)
		return err
	}
	var at struct{ URL string }
	if err := json.Unmarshal(entry, &at); err != nil || at.URL == "" {
		return errors.New("its entry has neither contents nor a link")
	}
	return c.Download(ctx, at.URL, to)
}
