package conformance

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/report"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
	"golang.org/x/net/http/httpguts"
)

// conformanceFiles are the files that a run of checks writes, opened before it.
type conformanceFiles []conformanceFile

type conformanceFile struct {
	*outfile.File
	write func(report.Report, io.Writer) error
}

// open opens all that is to be written, and leaves nothing behind where one cannot be.
func (f *conformanceFlags) open() (list conformanceFiles, err error) {
	picture := report.Report.Badge
	if strings.HasSuffix(f.badge, ".json") {
		picture = report.Report.Endpoint
	}
	for _, x := range []struct {
		name  string
		write func(report.Report, io.Writer) error
	}{{f.junit, report.Report.JUnit}, {f.badge, picture}} {
		if x.name == "" {
			continue
		}
		file, err := outfile.Open(x.name)
		if err != nil {
			return nil, errors.Join(err, list.drop())
		}
		list = append(list, conformanceFile{file, x.write})
	}
	return list, list.distinct()
}

// distinct refuses two flags with one file.
func (l conformanceFiles) distinct() error {
	if len(l) < 2 {
		return nil
	}
	one, errOne := l[0].Stat()
	other, errOther := l[1].Stat()
	if errOne == nil && errOther == nil && one.Mode().IsRegular() && os.SameFile(one, other) {
		return errors.Join(errors.New("flags --junit and --badge name the same file"), l.drop())
	}
	return errors.Join(errOne, errOther)
}

// finish writes the reports.
func (l conformanceFiles) finish(r report.Report) error {
	var errs []error
	for _, f := range l {
		err := f.Begin()
		if err == nil {
			err = f.write(r, f.File)
		}
		errs = append(errs, err, f.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return console.Misuse(fmt.Sprintf("a report could not be written: %v", err))
	}
	return nil
}

// drop leaves every file as it was.
func (l conformanceFiles) drop() (err error) {
	for _, f := range l {
		err = errors.Join(err, f.Drop())
	}
	return err
}

// header is what is sent with every request. Keys are in it, so it is printed nowhere.
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

// fromEnviron is a value, or what the variable holds that it names by env:NAME.
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

// valid refuses values that no request can carry, without telling them.
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
