package rule

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping"
)

const maxPath = 1024

// CleanPath returns the canonical path of an artifact: no leading "/" or "./", "/" between parts. It removes one
// leading "/" and refuses "//x". It refuses, with an *Error of class Invalid, paths that could leave a folder or name a
// device. They contain "..", drives, backslashes, NUL and control characters, invalid UTF-8, empty names, names that
// end with a dot or a space, reserved device names, or more than 1024 bytes. Percent-encoding is not decoded.
func CleanPath(p string) (string, error) {
	if len(p) > maxPath {
		return "", badPath(p[:64]+"…", "it is longer than 1024 bytes")
	}
	if !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl) {
		return "", badPath(p, "it contains control characters or bytes that are not text")
	}
	if strings.Contains(p, `\`) {
		return "", badPath(p, "it contains a backslash; parts are separated by /")
	}
	var parts []string
	for part := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
		if part == "." {
			continue
		}
		if why := badPart(part); why != "" {
			return "", badPath(p, why)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "", badPath(p, "it names no file")
	}
	return strings.Join(parts, "/"), nil
}

// badPart returns the reason why a part of a path cannot be used, or "".
func badPart(part string) string {
	// Windows drops dots and spaces at the end of a name, which could then name another file.
	bare := strings.TrimRight(part, ". ")
	switch {
	case part == "":
		return "one of its parts is empty"
	case bare == "":
		return "one of its parts is made of dots or spaces"
	case bare != part:
		return "one of its parts ends with a dot or a space"
	case isDrive(part):
		return "one of its parts begins with a drive"
	case isDevice(bare):
		return "it names a device"
	default:
		return ""
	}
}

func isDrive(part string) bool {
	return len(part) >= 2 && part[1] == ':' && unicode.IsLetter(rune(part[0]))
}

// isDevice reports whether the name opens a device on Windows, regardless of the part after the first dot or colon.
func isDevice(part string) bool {
	if i := strings.IndexAny(part, ".:"); i >= 0 {
		part = part[:i]
	}
	switch name := strings.ToLower(strings.TrimRight(part, " ")); name {
	case "con", "prn", "aux", "nul", "conin$", "conout$", "clock$":
		return true
	default:
		port, ok := strings.CutPrefix(name, "com")
		if !ok {
			port, ok = strings.CutPrefix(name, "lpt")
		}
		return ok && utf8.RuneCountInString(port) == 1 && strings.Contains("0123456789¹²³", port)
	}
}

func badPath(p, why string) *mapping.Error {
	e := mapping.Invalidf("The file name %q cannot be used: %s.", p, why)
	e.Detail = map[string]any{"path": p}
	return e
}

// ArtifactPath returns the canonical path of an artifact with a file_name and relative_path: relative_path itself if
// its last part is file_name, otherwise folder and name. The v1 document does not define which of the two relative_path
// is, and agents differ. A trailing "/" makes it a folder; "" and "." are the root. The result, and the errors, are
// those of CleanPath.
func ArtifactPath(fileName, relativePath string) (string, error) {
	switch {
	case relativePath == "" || relativePath == "." || relativePath == "./" || relativePath == "/":
		return CleanPath(fileName)
	case fileName == "", relativePath == fileName, strings.HasSuffix(relativePath, "/"+fileName):
		return CleanPath(relativePath)
	default:
		return CleanPath(strings.TrimSuffix(relativePath, "/") + "/" + fileName)
	}
}

// statePath returns the key of a file in values.files: "/" and its path. An unclean path is returned unchanged.
func statePath(path string) string {
	clean, err := CleanPath(path)
	if err != nil {
		return path
	}
	return "/" + clean
}

// Excluded reports whether a canonical path, or a folder above it, matches a glob pattern (path.Match). A pattern may
// begin with a slash, and end with "/**".
func Excluded(name string, patterns []string) bool {
	for _, p := range patterns {
		p = strings.TrimSuffix(strings.TrimPrefix(p, "/"), "/**")
		for at := name; at != "." && at != "/"; at = path.Dir(at) {
			if ok, err := path.Match(p, at); ok && err == nil {
				return true
			}
		}
	}
	return false
}
