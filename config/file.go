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

// readBounded reads up to most bytes of a file of any kind, such as a pipe.
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

// readRegular reads a regular file, or the target of a link to one. Reading a device or a pipe may never end, or never
// begin.
func readRegular(path string, most int64) (raw []byte, mode fs.FileMode, err error) {
	if at, err := os.Stat(path); err != nil || !at.Mode().IsRegular() { // opening a pipe would block
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

// ReadFile reads a file named in a configuration, which must be a regular file or a link to one. If the file is larger
// than 4 MiB, it returns the beginning and an error.
func ReadFile(path string) ([]byte, error) {
	raw, _, err := readRegular(path, maxFile)
	return raw, err
}

// KeyPair reads a certificate and its key from PEM files, with ReadFile.
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
	return errors.New("it is not a regular file")
}

// laxity describes permissions for users other than the owner that a secret should not have, or returns "". On Windows,
// the mode does not contain them.
func laxity(mode fs.FileMode) string {
	switch {
	case runtime.GOOS == "windows":
		return ""
	case mode&0o022 != 0:
		return fmt.Sprintf("can be changed by users other than its owner (mode %04o)", mode.Perm())
	case mode&0o004 != 0:
		return fmt.Sprintf("can be read by every user of this machine (mode %04o)", mode.Perm())
	}
	return ""
}
