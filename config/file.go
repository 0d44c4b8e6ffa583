package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// Limits of files, in bytes.
const (
	maxSecret = 64 << 10
	maxFile   = 4 << 20
)

var errTooLarge = errors.New("is too large")

// readBounded reads a file that may be of any kind (a pipe, too), up to so many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readMost(f, most)
}

func readMost(f *os.File, most int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = errTooLarge
	}
	return raw, err
}

// readRegular reads a regular file, or what a link to one leads to. Devices and pipes may have no end, or no beginning.
func readRegular(path string, most int64) (raw []byte, mode fs.FileMode, err error) {
	if at, err := os.Stat(path); err != nil || !at.Mode().IsRegular() { // to open a pipe would wait
		return nil, 0, irregular(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	at, err := f.Stat()
	if err != nil || !at.Mode().IsRegular() {
		return nil, 0, irregular(err)
	}
	raw, err = readMost(f, most)
	return raw, at.Mode(), err
}

// ReadFile reads a file that a configuration names: a regular one, or what a link to one leads to. Of one that is
// larger than 4 MiB it returns the beginning, with an error.
func ReadFile(path string) ([]byte, error) {
	raw, _, err := readRegular(path, maxFile)
	return raw, err
}

// KeyPair reads a certificate and its key, files in PEM as ReadFile takes them.
func KeyPair(cert, key string) (tls.Certificate, error) {
	chain, err := ReadFile(cert)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: %s", cert, reason(err))
	}
	secret, err := ReadFile(key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: %s", key, reason(err))
	}
	return tls.X509KeyPair(chain, secret)
}

func irregular(err error) error {
	if err != nil {
		return err
	}
	return errors.New("it is no regular file")
}

// laxity returns in words what others than its owner may do with a file, or "": permissions that a secret should not
// have. Windows keeps them elsewhere.
func laxity(mode fs.FileMode) string {
	switch {
	case runtime.GOOS == "windows":
		return ""
	case mode&0o022 != 0:
		return fmt.Sprintf("may be changed by others than its owner (mode %04o)", mode.Perm())
	case mode&0o004 != 0:
		return fmt.Sprintf("may be read by every user of this machine (mode %04o)", mode.Perm())
	}
	return ""
}
