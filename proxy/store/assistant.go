package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Assistants holds the assistants created by clients, with their versions.
type Assistants struct{ base *base }

// All versions of an assistant are stored in full. The assistant's row repeats the current version, so that creating a
// run needs only one read.
const assistantColumns = `a.id, a.tenant, a.assistant_id, a.owner, a.version, a.last, a.body, a.created_us, a.updated_us FROM assistants a`

type assistantRow struct {
	key  int64
	last int // the highest existing version
	mapping.Assistant
}

// assistantBody is the content of a version.
type assistantBody struct {
	Graph       string          `json:"graph"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Config      json.RawMessage `json:"config,omitempty"`
	Context     json.RawMessage `json:"context,omitempty"`
}

func bodyOf(a mapping.Assistant) ([]byte, error) {
	return json.Marshal(assistantBody{a.Graph, a.Name, a.Description, objectOrEmpty(a.Metadata), objectOrEmpty(a.Config), objectOrEmpty(a.Context)})
}

// set copies a version's content into an assistant.
func (b assistantBody) set(a *mapping.Assistant) {
	a.Graph, a.Name, a.Description = b.Graph, b.Name, b.Description
	a.Metadata, a.Config, a.Context = objectOrEmpty(b.Metadata), objectOrEmpty(b.Config), objectOrEmpty(b.Context)
}

func (r *assistantRow) scan(scan func(...any) error) error {
	var body []byte
	var created, updated int64
	if err := scan(&r.key, &r.Tenant, &r.ID, &r.Owner, &r.Version, &r.last, sqldb.Unsealed(&body, colAssistantBodies, &r.Tenant, &r.ID), &created, &updated); err != nil {
		return err
	}
	r.CreatedAt, r.UpdatedAt = sqldb.TimeOf(created), sqldb.TimeOf(updated)
	return r.read(body)
}

func (r *assistantRow) read(body []byte) error {
	var b assistantBody
	err := decode(body, &b)
	b.set(&r.Assistant)
	return err
}

// Create stores an assistant as version 1. If there is one with the same id, it returns Conflict assistant_exists or,
// with orGet, the existing one with made false. If an earlier request with the same key created an assistant, it
// returns that.
func (s *Assistants) Create(ctx context.Context, a mapping.Assistant, orGet bool, k IdempotencyKey) (kept mapping.Assistant, made bool, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		if earlier, err := claimKey(t, p, k, a.ID); err != nil || earlier != "" {
			if err == nil {
				var row assistantRow
				row, err = readAssistant(t, tables.ScopeFor(p), earlier)
				kept, made = row.Assistant, false
			}
			return err
		}
		kept, made = a, true
		kept.Tenant, kept.Owner, kept.Version = p.Tenant, p.ID, 1
		kept.CreatedAt = sqldb.TimeOf(t.Now)
		kept.UpdatedAt = kept.CreatedAt
		body, err := bodyOf(a)
		if err != nil {
			return err
		}
		var key int64
		err = t.Get(`INSERT INTO assistants (tenant, assistant_id, owner, graph, version, last, body, created_us, updated_us)
 VALUES ($1, $2, $3, $4, 1, 1, $5, $6, $6) ON CONFLICT (tenant, assistant_id) DO NOTHING RETURNING id`,
			sqldb.In{kept.Tenant, kept.ID, kept.Owner, kept.Graph, t.Sealed(body, colAssistantBodies, kept.Tenant, kept.ID), t.Now}, sqldb.Out{&key})
		if errors.Is(err, sql.ErrNoRows) {
			row, err := readAssistant(t, tables.ScopeFor(p), a.ID)
			kept, made = row.Assistant, false
			foreign := err != nil && mapping.Classify(err).Class == mapping.NotFound
			if !foreign && (err != nil || orGet) {
				return err
			}
			e := mapping.Errorf(mapping.Conflict, mapping.CodeAssistantThere, "Assistant %q already exists. Use another id.", a.ID)
			if !foreign {
				e.Detail = mapping.Existing{ID: a.ID}
			}
			return e
		}
		if err != nil {
			return err
		}
		return putAssistantVersion(t, key, 1, body)
	})
	return kept, made, err
}

func putAssistantVersion(t *sqldb.Tx, key int64, version int, body []byte) error {
	return t.Put(`INSERT INTO assistant_versions (assistant, version, body, created_us) VALUES ($1, $2, $3, $4)`, key, version, t.Sealed(body, colVersionBody, key, version), t.Now)
}

// Get returns an assistant created by a client. Configured ones are not stored here.
func (s *Assistants) Get(ctx context.Context, id string) (a mapping.Assistant, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		row, err := readAssistant(t, tables.ScopeOf(ctx), id)
		a = row.Assistant
		return err
	})
	return a, err
}

func readAssistant(t *sqldb.Tx, sc tables.Scope, id string) (row assistantRow, err error) {
	where, args := sc.Assistants(`a.tenant = $1 AND a.assistant_id = $2`, sc.Tenant, id)
	err = t.Each(`SELECT `+assistantColumns+` WHERE `+where, args, row.scan)
	return row, noAssistant(row, err, id)
}

func noAssistant(row assistantRow, err error, id string) error {
	if err == nil && row.key == 0 {
		err = sql.ErrNoRows
	}
	return tables.NotFound(err, mapping.CodeAgentNotFound, "assistant", id)
}

// holdAssistant is like readAssistant, but locks the row.
func holdAssistant(t *sqldb.Tx, sc tables.Scope, id string) (row assistantRow, err error) {
	if t.Shared() {
		if err = t.Put(`SELECT 1 FROM assistants WHERE tenant = $1 AND assistant_id = $2 FOR UPDATE`, sc.Tenant, id); err != nil {
			return row, err
		}
	}
	return readAssistant(t, sc, id)
}

// Update applies change to the current version, stores the result as a new version and makes that current. change may
// be called more than once.
func (s *Assistants) Update(ctx context.Context, id string, change func(*mapping.Assistant) error) (changed mapping.Assistant, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := holdAssistant(t, tables.ScopeOf(ctx), id)
		if err != nil {
			return err
		}
		if err := change(&row.Assistant); err != nil {
			return err
		}
		changed = row.Assistant
		changed.Version, changed.UpdatedAt = row.last+1, sqldb.TimeOf(t.Now)
		body, err := bodyOf(changed)
		if err != nil {
			return err
		}
		if err := putAssistantVersion(t, row.key, changed.Version, body); err != nil {
			return err
		}
		return setAssistantVersion(t, row.key, changed, changed.Version, body)
	})
	return changed, err
}

func setAssistantVersion(t *sqldb.Tx, key int64, a mapping.Assistant, last int, body []byte) error {
	_, err := t.Exec(`UPDATE assistants SET graph = $2, version = $3, last = $4, body = $5, updated_us = $6 WHERE id = $1`,
		key, a.Graph, a.Version, last, t.Sealed(body, colAssistantBodies, a.Tenant, a.ID), t.Now)
	return err
}

// SetVersion makes an existing version the current one.
func (s *Assistants) SetVersion(ctx context.Context, id string, version int) (changed mapping.Assistant, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := holdAssistant(t, tables.ScopeOf(ctx), id)
		if err != nil {
			return err
		}
		var body []byte
		err = t.Get(`SELECT body FROM assistant_versions WHERE assistant = $1 AND version = $2`, sqldb.In{row.key, version}, sqldb.Out{sqldb.Unsealed(&body, colVersionBody, row.key, version)})
		if err == nil {
			err = row.read(body)
		}
		if errors.Is(err, sql.ErrNoRows) || err == nil && !mapping.PrincipalOf(ctx).May(row.Graph) {
			return mapping.Errorf(mapping.NotFound, mapping.CodeVersionNotFound, "Assistant %q has no version %d.", id, version)
		}
		if err != nil {
			return err
		}
		changed = row.Assistant
		changed.Version, changed.UpdatedAt = version, sqldb.TimeOf(t.Now)
		return setAssistantVersion(t, row.key, changed, row.last, body)
	})
	return changed, err
}

// Versions lists the versions of an assistant whose agents the principal may use, newest first. The times of each are
// its creation time.
func (s *Assistants) Versions(ctx context.Context, id string, metadata json.RawMessage, limit, offset int) (list []mapping.Assistant, err error) {
	keep, pick := containing(metadata), picker{Limit: limit, Offset: offset}
	may := mapping.PrincipalOf(ctx).May
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		row, err := readAssistant(t, tables.ScopeOf(ctx), id)
		if err != nil {
			return err
		}
		return t.Until(`SELECT version, body, created_us FROM assistant_versions WHERE assistant = $1 ORDER BY version DESC`, sqldb.In{row.key}, func(scan func(...any) error) (bool, error) {
			one := assistantRow{Assistant: row.Assistant}
			var body []byte
			var created int64
			if err := scan(&one.Version, sqldb.Unsealed(&body, colVersionBody, row.key, &one.Version), &created); err != nil {
				return false, err
			}
			one.CreatedAt = sqldb.TimeOf(created)
			one.UpdatedAt = one.CreatedAt
			err := one.read(body)
			if err == nil && may(one.Graph) && (keep == nil || keep(one.Metadata)) && pick.Take() {
				list = append(list, one.Assistant)
			}
			return !pick.Full(), err
		})
	})
	return list, err
}

// List returns all assistants that the principal can see, oldest first.
func (s *Assistants) List(ctx context.Context) (list []mapping.Assistant, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		sc := tables.ScopeOf(ctx)
		where, args := sc.Assistants(`a.tenant = $1`, sc.Tenant)
		return t.Each(`SELECT `+assistantColumns+` WHERE `+where+` ORDER BY a.id`, args, func(scan func(...any) error) error {
			var row assistantRow
			err := row.scan(scan)
			list = append(list, row.Assistant)
			return err
		})
	})
	return list, err
}

// Delete removes an assistant with its versions and crons. Its runs remain.
func (s *Assistants) Delete(ctx context.Context, id string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := holdAssistant(t, tables.ScopeOf(ctx), id)
		if err != nil {
			return err
		}
		if err := t.Put(`DELETE FROM assistant_versions WHERE assistant = $1`, row.key); err != nil {
			return err
		}
		if err := t.Put(`DELETE FROM crons WHERE tenant = $1 AND assistant_id = $2`, row.Tenant, id); err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM assistants WHERE id = $1`, row.key)
		return err
	})
}
