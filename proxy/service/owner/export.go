package owner

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/apbridge/apbridge/proxy/store"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// about is the text of the first file of an export.
const about = `This is what an apbridge keeps of %q%s, as of %s.

held.json            how much there is of each kind, and which agents have copies of it
threads/ID.json      a thread: its metadata and its newest state, with what was said on it
files/ID/PATH        the files of the thread ID; older versions stand beside them as PATH.VERSION
rows/TABLE-N.ndjson  everything: a row of the database on each line, as JSON. Times are microseconds since
                     1970; the columns are described by docs/operations.md of apbridge
`

// outline writes an export of an owner. Not safe for concurrent use.
type outline struct {
	*Owners
	ctx   context.Context
	owner string
	tar   *tar.Writer
	at    time.Time
	names map[string]bool // used file names
}

// ExportOwner writes all data of an owner as a tar archive. An error after the first byte leaves an incomplete archive.
func (s *Owners) ExportOwner(ctx context.Context, who adapter.OwnerRef, to io.Writer) error {
	ctx, tenant, err := reach(ctx, who)
	if err != nil {
		return err
	}
	mapping.AddAuditObject(ctx, "owner", who.ID)
	held, err := s.held(ctx, tenant, who.ID)
	if err != nil {
		return err
	}
	o := &outline{Owners: s, ctx: ctx, owner: who.ID, tar: tar.NewWriter(to), at: s.store.Now(), names: map[string]bool{}}
	if err := o.all(held); err != nil {
		return err
	}
	return o.tar.Close()
}

func (o *outline) all(held adapter.Held) error {
	of := ""
	if held.Tenant != "" {
		of = fmt.Sprintf(" of tenant %q", held.Tenant)
	}
	if err := o.file("README.txt", fmt.Appendf(nil, about, held.Owner, of, o.at.Format(time.RFC3339))); err != nil {
		return err
	}
	if err := o.json("held.json", held); err != nil {
		return err
	}
	if err := eachThread(o.ctx, o.store.Owners, o.owner, o.thread); err != nil {
		return err
	}
	if err := o.files(); err != nil {
		return err
	}
	return o.store.Owners.Rows(o.ctx, o.owner, func(table string, n int, lines []byte) error {
		return o.file(fmt.Sprintf("rows/%s-%03d.ndjson", table, n), lines)
	})
}

func (o *outline) file(name string, text []byte) error {
	if err := o.header(name, int64(len(text)), o.at); err != nil {
		return err
	}
	_, err := o.tar.Write(text)
	return err
}

// header begins a file of the given size, whose content follows.
func (o *outline) header(name string, size int64, at time.Time) error {
	return o.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: at, Format: tar.FormatPAX})
}

func (o *outline) json(name string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return o.file(name, b.Bytes())
}

// thread writes a thread in readable form. It skips a thread that was deleted.
func (o *outline) thread(id string) error {
	t, err := o.store.Threads.Get(o.ctx, id)
	if err == nil {
		t, err = o.threads.WithValues(o.ctx, t)
	}
	if err != nil {
		return unlessGone(err)
	}
	return o.json("threads/"+url.PathEscape(id)+".json", adapter.HeldThread{
		ID: t.ID, Status: t.Status, Created: t.CreatedAt, Updated: t.UpdatedAt, Metadata: rawjson.OrEmpty(t.Metadata), Values: rawjson.OrEmpty(t.Values),
	})
}

func (o *outline) files() error {
	for behind := (store.OwnedFile{}); ; {
		list, err := o.store.Owners.Files(o.ctx, o.owner, behind)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, f := range list {
			if err := o.header(o.place(f), f.Size, o.at); err != nil {
				return err
			}
			write := func(piece []byte) error { _, err := o.tar.Write(piece); return err }
			if err := o.store.Owners.FileBytes(o.ctx, f, write); err != nil {
				return err
			}
		}
		behind = list[len(list)-1]
	}
}

// place returns the name of a file in the archive. A path chosen by an agent cannot leave the folder of its thread.
func (o *outline) place(f store.OwnedFile) string {
	name := "files/" + url.PathEscape(f.ThreadID) + path.Clean("/"+strings.ReplaceAll(f.Path, `\`, "_"))
	for n := 1; o.names[name]; n++ {
		name = fmt.Sprintf("%s.%d", strings.TrimSuffix(name, fmt.Sprintf(".%d", n-1)), n)
	}
	o.names[name] = true
	return name
}
