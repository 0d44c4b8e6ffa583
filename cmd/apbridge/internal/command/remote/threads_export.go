package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/spf13/cobra"
)

func (r *remote) threadsExport() *cobra.Command {
	file := ""
	cmd := r.ofOne(aThread, &cobra.Command{
		Use:   "export THREAD",
		Short: "Export a thread as JSON",
		Long: `export writes a thread as one JSON object: the thread with its state, its runs, and its
history of states, newest first. Files above artifacts.max_inline are only listed. The
export is for reading only; a bridge cannot import it.`,
		Example: `  apbridge threads export THREAD > thread.json
  apbridge threads export THREAD --out thread.json`,
	}, func(ctx context.Context, c *api.Client, id string) error {
		all, err := exported(ctx, c, id)
		if err != nil {
			return err
		}
		if file == "" {
			return r.printJSON(all)
		}
		return writeExport(file, all)
	})
	cmd.Flags().StringVar(&file, "out", "", "new `FILE` to write (default: standard output)")
	return cmd
}

// export is the format of an exported thread.
type export struct {
	Thread  json.RawMessage   `json:"thread"`
	Runs    []json.RawMessage `json:"runs"`
	History []json.RawMessage `json:"history"`
}

func exported(ctx context.Context, c *api.Client, id string) (*export, error) {
	t, err := c.Thread(ctx, id)
	if err != nil {
		return nil, err
	}
	all := &export{Thread: t.Whole, Runs: []json.RawMessage{}}
	for more := true; more; {
		list, err := c.Runs(ctx, api.RunFilter{Thread: id, Limit: pageOfRuns, Offset: len(all.Runs)})
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			all.Runs = append(all.Runs, r.Whole)
		}
		more = len(list) == pageOfRuns
	}
	all.History, err = c.History(ctx, id)
	return all, err
}

// writeExport writes an exported thread. It leaves no incomplete file behind.
func writeExport(file string, all *export) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // conversations are private
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s already exists; choose another file with --out", file)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(indented(f, all), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("%s could not be written: %w", file, err), os.Remove(file))
	}
	return nil
}

func indented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
