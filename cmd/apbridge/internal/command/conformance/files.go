package conformance

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
	"golang.org/x/net/http/httpguts"
)

// conformanceFiles are the output files, which are opened in advance.
type conformanceFiles []*outfile.Report[conformance.Report]

// open opens all output files. If one fails, it leaves nothing behind.
func (f *conformanceFlags) open() (list conformanceFiles, err error) {
	picture := conformance.Report.Badge
	if strings.HasSuffix(f.badge, ".json") {
		picture = conformance.Report.Endpoint
	}
	for _, x := range []struct {
		flag, name string
		write      func(conformance.Report, io.Writer) error
	}{{"--junit", f.junit, conformance.Report.JUnit}, {"--badge", f.badge, picture}} {
		if x.name == "" {
			continue
		}
		file, err := outfile.OpenReport(x.flag, x.name, x.write)
		if err != nil {
			return nil, errors.Join(err, list.drop())
		}
		list = append(list, file)
	}
	if err := outfile.Distinct(list); err != nil {
		return nil, errors.Join(err, list.drop())
	}
	return list, nil
}

// finish writes the reports.
func (l conformanceFiles) finish(r conformance.Report) error {
	var errs []error
	for _, f := range l {
		errs = append(errs, f.Finish(r))
	}
	if err := errors.Join(errs...); err != nil {
		return console.Misuse(fmt.Sprintf("a report could not be written: %v", err))
	}
	return nil
}

// drop leaves every file unchanged.
func (l conformanceFiles) drop() (err error) {
	for _, f := range l {
		err = errors.Join(err, f.Drop())
	}
	return err
}

// header returns the header of every request. It contains keys, so it is never printed.
func (f *conformanceFlags) header(environ []string) (http.Header, error) {
	header := http.Header{}
	for _, line := range f.headers {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || !httpguts.ValidHeaderFieldName(name) {
			return nil, fmt.Errorf("flag --header: the part before the first colon is to be a name, as in 'X-Tenant: a'")
		}
		value, err := fromEnviron(environ, strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("flag --header: %w", err)
		}
		header.Add(name, value)
	}
	key, err := fromEnviron(environ, f.key)
	if err != nil {
		return nil, fmt.Errorf("flag --key: %w", err)
	}
	if key == "" {
		key = console.Variable(environ, "BENCHMARK_KEY")
	}
	if key != "" {
		header.Set("X-Api-Key", key)
	}
	return header, valid(header)
}

// fromEnviron returns a value, or that of the variable in env:NAME.
func fromEnviron(environ []string, value string) (string, error) {
	name, ok := strings.CutPrefix(value, "env:")
	if !ok {
		return value, nil
	}
	if held := console.Variable(environ, name); held != "" {
		return held, nil
	}
	return "", fmt.Errorf("the environment has no variable %s", name)
}

// valid refuses values that no request can contain, without printing them.
func valid(header http.Header) error {
	for name, values := range header {
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("the header %s has characters that no header can have, such as a line break", name)
			}
		}
	}
	return nil
}
